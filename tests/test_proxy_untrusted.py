"""What is said where a client does not trust a run: who it was, and what makes its runtime trust it."""

from __future__ import annotations

import ssl

import pytest

from eve_mocks.proxy.untrusted import explain

ANY = "Have it trust the file that the run names in SSL_CERT_FILE, or NODE_EXTRA_CA_CERTS for Node"


def alert(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("program", "fix"),
    [
        ("node", "Have it trust the file that the run names in NODE_EXTRA_CA_CERTS, not a `ca` option."),
        ("wget", "Have it trust the file that the run names in WGETRC, not --ca-certificate or --config."),
        ("git-remote-http", "Have it trust the file that the run names in GIT_SSL_CAINFO."),
        ("pip3.13", "Have it trust the file that the run names in PIP_CERT, not --cert."),
        (
            "chromium",
            "Start it with --ignore-certificate-errors: it reads no variable that could name the file to trust.",
        ),
        ("agent", f"{ANY}, not a list of its own."),
    ],
)
def test_the_fix_is_the_programs(program: str, fix: str) -> None:
    said = (f"{program} does not trust the certificate of the run.", fix)
    assert explain(alert("TLSV1_ALERT_UNKNOWN_CA"), program) == said


def test_who_is_gone_is_not_named() -> None:
    why, fix = explain(None, None)
    assert why == "A client, of which no more can be seen now, hung up when it saw the certificate of the run."
    assert fix.startswith(ANY)


def test_another_failure_is_told_as_it_is() -> None:
    why, fix = explain(alert("UNSUPPORTED_PROTOCOL"), "curl")
    assert why == "curl and the proxy could not agree on TLS: UNSUPPORTED_PROTOCOL."
    assert fix == "Have it speak TLS 1.2 or 1.3."
