"""Why a client did not go through with TLS, and what makes its runtime trust the certificates of a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

# Alerts of a client that does not accept the certificate (RFC 8446, section 6.2), as OpenSSL names them.
_DISTRUST = re.compile(r"UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|UNSUPPORTED_CERTIFICATE|CERTIFICATE_EXPIRED")

# By program: the settings through which a run tells it of its CA, and what overrides them.
_FIXES = (
    (r"node|bun|electron|npm|npx", "NODE_EXTRA_CA_CERTS names the CA; an explicit `ca` option replaces it"),
    (
        r"python[\d.]*|pytest|uv|poetry",
        "SSL_CERT_FILE and REQUESTS_CA_BUNDLE name the CA; an explicit `verify` or SSL context replaces them",
    ),
    (r"pip[\d.]*", "PIP_CERT names the CA"),
    (r"deno", "DENO_CERT names the CA"),
    (r"curl", "CURL_CA_BUNDLE names the CA; --cacert replaces it"),
    (r"git.*", "GIT_SSL_CAINFO names the CA; http.sslCAInfo in a repository's config replaces it"),
    (r"aws.*", "AWS_CA_BUNDLE names the CA"),
    (r"cargo|rustup", "CARGO_HTTP_CAINFO names the CA"),
    (r"java", "JAVA_TOOL_OPTIONS names the trust store; an explicit javax.net.ssl.trustStore replaces it"),
    (r"nix.*", "NIX_SSL_CERT_FILE names the CA"),
    (r"ruby.*|php.*|perl.*|wget|go", "SSL_CERT_FILE names the CA"),
)
_ANY = "SSL_CERT_FILE and SSL_CERT_DIR name the CA; gRPC reads GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"


def explain(error: ssl.SSLError | None, program: str | None) -> str:
    """What happened, and the fix for the program's runtime. ``error`` is None where it hung up without a word."""
    who = program or "The client"
    if error is not None and not _DISTRUST.search(error.reason or ""):
        return f"{who} and the proxy could not agree on TLS: {error.reason or error}."
    what = "hung up on" if error is None else "does not trust"
    return f"{who} {what} the certificate. In this run {_fix(program or '')}; it must not be removed or overridden."


def _fix(program: str) -> str:
    return next((fix for pattern, fix in _FIXES if re.fullmatch(pattern, program)), _ANY)
