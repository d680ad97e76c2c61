"""Why a client did not go through with TLS, and what makes its runtime trust the certificates of a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

# Alerts of a client that does not accept the certificate (RFC 8446, section 6.2), as OpenSSL names them.
_DISTRUST = re.compile(r"UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|UNSUPPORTED_CERTIFICATE|CERTIFICATE_EXPIRED")

# By program: the variables through which a run tells it of its CA, and what counts in their place.
_TOLD = (
    (r"node|bun|electron", "NODE_EXTRA_CA_CERTS", "a `ca` option"),
    (
        r"python[\d.]*|pytest|uv|poetry",
        "SSL_CERT_FILE and REQUESTS_CA_BUNDLE",
        "an explicit `verify` or SSL context",
    ),
    (r"pip[\d.]*", "PIP_CERT", "--cert"),
    (r"deno", "DENO_CERT", "--cert"),
    (r"curl", "CURL_CA_BUNDLE", "--cacert"),
    (r"wget", "WGETRC", "--ca-certificate or --config"),
    (r"git.*", "GIT_SSL_CAINFO", ""),
    (r"aws.*", "AWS_CA_BUNDLE", "--ca-bundle"),
    (r"cargo|rustup", "CARGO_HTTP_CAINFO", ""),
    (r"java", "JAVA_TOOL_OPTIONS", "a trust store of its own"),
    (r"perl[\d.]*", "PERL_LWP_SSL_CA_FILE", "an explicit `ssl_opts`"),
    (r"php[\d.]*", "curl.cainfo and openssl.cafile", "an explicit option"),
    (r"nix.*", "NIX_SSL_CERT_FILE", ""),
)
# They ask nobody but a store of the user's, which a run leaves alone.
_BROWSER = re.compile(r"chrom(e|ium).*|google-chrome.*|headless_shell|msedge.*")
_ANY = ("SSL_CERT_FILE, or NODE_EXTRA_CA_CERTS for Node", "a list of its own")


def is_distrust(error: ssl.SSLError) -> bool:
    return _DISTRUST.search(error.reason or "") is not None


def checks_itself(program: str | None) -> bool:
    """Whether a program's runtime checks a certificate itself instead of OpenSSL, and hangs up without an alert."""
    return re.fullmatch(r"node(js)?|bun|electron", program or "") is not None


def explain(error: ssl.SSLError | None, program: str | None) -> tuple[str, str]:
    """What happened, and the fix for the program's runtime. ``error`` is None where it hung up without a word.

    ``program`` is None where it cannot be seen, which is so where its connection is gone by now.
    """
    who = program or "A client, of which no more can be seen now,"
    if error is not None and not is_distrust(error):
        return f"{who} and the proxy could not agree on TLS: {error.reason or error}.", "Have it speak TLS 1.2 or 1.3."
    said = "hung up when it saw" if error is None else "does not trust"
    return f"{who} {said} the certificate of the run.", _fix(program or "")


def _fix(program: str) -> str:
    if _BROWSER.fullmatch(program):
        return "Start it with --ignore-certificate-errors: it reads no variable that could name the file to trust."
    variables, instead = next((found for pattern, *found in _TOLD if re.fullmatch(pattern, program)), _ANY)
    return f"Have it trust the file that the run names in {variables}{f', not {instead}' if instead else ''}."
