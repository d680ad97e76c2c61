"""A real upstream for tests: HTTPS under a name and a CA of its own. Prints a line once it listens.

``GET /`` answers what was asked. ``GET /events`` sends three server-sent events, each only when the one before it has
been asked about with ``GET /seen``: whoever buffers them never gets the second.
"""

from __future__ import annotations

import datetime
import http.server
import json
import ssl
import sys
import threading
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

if TYPE_CHECKING:
    from pathlib import Path

NAME = "upstream.example.com"
EVENTS = 3


def certify(folder: Path) -> Path:
    """Make a CA, and a certificate for ``NAME`` as ``server.pem``; the CA's own is returned."""
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("Test CA", NAME)}
    now = datetime.datetime.now(datetime.UTC)

    def certificate(subject: str, extension: x509.ExtensionType) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
            .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test CA")]))
            .public_key(keys[subject].public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(keys[subject].public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(keys["Test CA"].public_key()), critical=False
            )
            .sign(keys["Test CA"], hashes.SHA256())
        )

    authority = certificate("Test CA", x509.BasicConstraints(ca=True, path_length=None))
    server = certificate(NAME, x509.SubjectAlternativeName([x509.DNSName(NAME)]))
    pem = serialization.Encoding.PEM
    key = keys[NAME].private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(key + server.public_bytes(pem))
    (folder / "ca.pem").write_bytes(authority.public_bytes(pem))
    return folder / "ca.pem"


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = threading.Semaphore(0)

    def do_GET(self) -> None:
        if self.path == "/events":
            self._events()
            return
        if self.path == "/seen":
            self.seen.release()
        body = json.dumps({"path": self.path, "headers": dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number in range(EVENTS):
            self.wfile.write(f"data: {number}\n\n".encode())
            self.wfile.flush()
            if not self.seen.acquire(timeout=20):
                return
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def main(address: str, port: str, certificate: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with http.server.ThreadingHTTPServer((address, int(port)), Upstream) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        print("listening", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
