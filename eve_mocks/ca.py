"""The certificate authority of this user: made once, kept, and made anew where it is damaged or nearly out of date.

``cryptography`` is imported for making it alone, not when a run starts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import re
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks import files

if TYPE_CHECKING:
    from cryptography.x509 import KeyUsage

_LIFETIME = datetime.timedelta(days=3650)
_RENEW_BEFORE = datetime.timedelta(days=90)
# PEM allows text before the first block (RFC 7468, section 2): it saves parsing key and certificate at every start.
_HEADING = re.compile(rb"eve-mocks CA, valid until (\d{4}-\d{2}-\d{2}), checksum ([0-9a-f]{8})\n")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


@dataclasses.dataclass(frozen=True, slots=True)
class CA:
    """Where the key and certificate are, and the certificate alone."""

    path: Path
    certificate_pem: bytes


def data_folder() -> Path:
    """Where this user's programs keep their data: by XDG's rule, or macOS's. Raises ``OSError``."""
    given = os.environ.get("XDG_DATA_HOME", "")
    if sys.platform != "darwin" and given.startswith("/"):
        return Path(given) / "eve-mocks"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise OSError(0, "this user has no home folder") from error
    if not home.is_absolute():
        raise OSError(0, "HOME is not an absolute path", str(home))
    return home / ("Library/Application Support" if sys.platform == "darwin" else ".local/share") / "eve-mocks"


def ensure_ca(folder: Path) -> CA:
    """The authority in a folder, made where there is none that can be used. Raises ``OSError``.

    One that was there is kept beside it, as ``ca.pem.old``: somebody may have told other programs to trust it.
    """
    path = folder / "ca.pem"
    found = _read(path)
    if found is None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with files.locked(folder):
            found = _read(path)  # by another run, meanwhile
            if found is None:
                with contextlib.suppress(FileNotFoundError):
                    path.rename(path.with_name("ca.pem.old"))
                files.write_whole(path, _make(), mode=0o600)
                found = _read(path)
        if found is None:
            raise OSError(0, "what was written there reads differently", str(path))
    return found


def _read(path: Path) -> CA | None:
    try:
        text = files.read_regular(path)
    except (FileNotFoundError, IsADirectoryError):
        return None
    heading, certificate = _HEADING.match(text), _CERTIFICATE.search(text)
    if heading is None or certificate is None or _checksum(heading[1], text[heading.end() :]) != heading[2]:
        return None
    until = datetime.date.fromisoformat(heading[1].decode())
    if until - _RENEW_BEFORE < datetime.datetime.now(datetime.UTC).date():
        return None
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return CA(path, certificate[0] + b"\n")


def _checksum(until: bytes, blocks: bytes) -> bytes:
    return b"%08x" % zlib.crc32(until + blocks)


def _make() -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name(
        [
            x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "eve-mocks"),
            x509.NameAttribute(x509.NameOID.COMMON_NAME, f"eve-mocks CA {now:%Y-%m-%d}"),
        ]
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_signs_certificates(), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    until = f"{now + _LIFETIME:%Y-%m-%d}".encode()
    blocks = private + certificate.public_bytes(serialization.Encoding.PEM)
    return b"eve-mocks CA, valid until %s, checksum %s\n%s" % (until, _checksum(until, blocks), blocks)


def _signs_certificates() -> KeyUsage:
    from cryptography.x509 import KeyUsage

    uses = dict.fromkeys(
        (
            "digital_signature",
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return KeyUsage(**uses, key_cert_sign=True, crl_sign=True)
