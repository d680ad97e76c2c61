"""TLS toward allowed upstreams: their certificates are checked against public roots, the system's and the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mitmproxy.addons.tlsconfig import TlsConfig
from OpenSSL import SSL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mitmproxy.tls import TlsData


class UpstreamTls(TlsConfig):
    """mitmproxy's, without the certificates for clients that it would write to disk: those are ours."""

    def __init__(self, bundles: Iterable[str]) -> None:
        self._bundles = list(bundles)
        self._trusting: SSL.Context | None = None

    def configure(self, updated: Collection[str]) -> None:
        pass

    def tls_start_server(self, tls_start: TlsData) -> None:
        super().tls_start_server(tls_start)
        assert tls_start.ssl_conn is not None  # noqa: S101 - mitmproxy's promise
        context = tls_start.ssl_conn.get_context()
        if context is not self._trusting:  # mitmproxy keeps one context for all upstreams
            context.set_default_verify_paths()
            for bundle in self._bundles:
                try:
                    context.load_verify_locations(bundle)
                except SSL.Error:  # not a bundle, or gone: what it would have vouched for is not trusted
                    continue
            self._trusting = context
