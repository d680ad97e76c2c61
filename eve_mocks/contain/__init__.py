"""Containment on Linux, without root: nothing that a command starts reaches the network but through the proxy.

:func:`probe` tells whether and how; :func:`start` starts the command. The only importer of ctypes.
"""

from eve_mocks.contain.address import server_speaks_first
from eve_mocks.contain.filter import Mode
from eve_mocks.contain.launch import Contained, start
from eve_mocks.contain.probe import OUTER_RUN, Reason, probe
from eve_mocks.contain.records import Process, Redirect, Refused, decode, encode
from eve_mocks.contain.supervisor import Policy

__all__ = [
    "OUTER_RUN",
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
    "server_speaks_first",
    "start",
]
