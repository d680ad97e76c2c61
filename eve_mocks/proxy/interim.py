"""Answers before the final one (RFC 9110, section 15.2): a proxy hands them on, which mitmproxy does not."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mitmproxy.proxy.layers.http._base import HttpEvent

if TYPE_CHECKING:
    from mitmproxy import http


@dataclasses.dataclass
class Interim(HttpEvent):
    """One of the upstream's, on its way to the client; not 101, after which nothing of HTTP follows."""

    response: http.Response
