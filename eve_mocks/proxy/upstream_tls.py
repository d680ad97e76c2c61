"""TLS toward allowed upstreams: their certificates are checked against the system's roots and the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mitmproxy.addons.tlsconfig import TlsConfig

if TYPE_CHECKING:
    from collections.abc import Collection

    from mitmproxy.http import HTTPFlow


class UpstreamTls(TlsConfig):
    """mitmproxy's, without the certificates for clients that it would write to disk: those are ours."""

    def configure(self, updated: Collection[str]) -> None:
        pass

    def request(self, flow: HTTPFlow) -> None:
        """Hand out no list of revoked certificates."""
