"""The proxy process: takes every connection of the command, answers what is mocked or blocked, passes what is allowed.

A connection goes through layers, each an ``asyncio.Protocol`` that may put the next one in its place: ``speech``
(what is spoken), ``tls`` (decryption), ``http1`` (requests and answers), ``passing`` (mitmproxy, for what is allowed).
"""
