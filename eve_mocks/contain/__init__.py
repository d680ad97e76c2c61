"""Containment on Linux, without root: nothing that a command starts reaches the network but through the proxy.

:func:`probe` tells whether and how; :func:`start` starts the command. The only importer of ctypes.
Its values are named tuples and not dataclasses, which take several times as long to define: the command waits for that.
"""

from eve_mocks.contain.filter import Mode
from eve_mocks.contain.launch import Contained, start
from eve_mocks.contain.policy import Policy
from eve_mocks.contain.probe import Reason, probe
from eve_mocks.records import Process, Redirect, Refused, decode, encode

__all__ = [
    "Contained",
    "Mode",
    "Policy",
    "Process",
    "Reason",
    "Redirect",
    "Refused",
    "decode",
    "encode",
    "probe",
    "start",
]
