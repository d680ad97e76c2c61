"""The certificate authority of this user, and what a command needs to trust it beside everything it trusted before.

The authority is made once and kept; ``cryptography`` is imported for that alone, not when a run starts. All of it lies
in one folder of the user, where a file is either whole or not there: runs start side by side.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import re
import sys
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cryptography.x509 import Certificate, KeyUsage

_LIFETIME = datetime.timedelta(days=3650)
_RENEW_BEFORE = datetime.timedelta(days=90)
# PEM allows text before the first block (RFC 7468, section 2): it saves parsing a certificate at every start.
_HEADING = re.compile(rb"eve-mocks CA, valid until (\d{4}-\d{2}-\d{2})\n")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_KEY = re.compile(rb"-----BEGIN PRIVATE KEY-----.+?-----END PRIVATE KEY-----", re.DOTALL)
# Debian, Fedora, openSUSE, Alpine and macOS, CentOS, Homebrew.
_SYSTEM_ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
)
SYSTEM_FOLDERS = frozenset(os.path.dirname(path) for path in _SYSTEM_ROOTS)  # noqa: PTH120
# Java wants a password for a file without a secret in it.
TRUST_STORE_PASSWORD = "eve-mocks"  # noqa: S105


@dataclasses.dataclass(frozen=True, slots=True)
class CA:
    """Where the key and certificate are, and the certificate alone."""

    path: Path
    certificate_pem: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Trust:
    """The same certificates for OpenSSL and its like, and for Java."""

    bundle: Path
    java_store: Path


def data_folder() -> Path:
    """Where this user's programs keep their data: by XDG's rule, or macOS's."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "eve-mocks"
    given = os.environ.get("XDG_DATA_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".local" / "share") / "eve-mocks"


def ensure_ca(folder: Path) -> CA:
    """The authority in a folder, made where there is none or its time is nearly up. Raises ``OSError``."""
    path = folder / "ca.pem"
    found = _read(path)
    if found is None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stale = path.exists()
        _write(path, _make(), mode=0o600, replace=stale)
        found = _read(path)
        if found is None:
            raise OSError(0, "what was written there reads differently", str(path))
    return found


def _read(path: Path) -> CA | None:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    heading, certificate = _HEADING.match(text), _CERTIFICATE.search(text)
    if heading is None or certificate is None or not _KEY.search(text):
        return None
    until = datetime.date.fromisoformat(heading[1].decode())
    if until - _RENEW_BEFORE < datetime.datetime.now(datetime.UTC).date():
        return None
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return CA(path, certificate[0] + b"\n")


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
    heading = f"eve-mocks CA, valid until {now + _LIFETIME:%Y-%m-%d}\n".encode()
    return heading + private + certificate.public_bytes(serialization.Encoding.PEM)


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


def ensure_trust(folder: Path, ca: CA, given: Iterable[Path]) -> Trust:
    """One bundle of the system's roots, the files the caller trusts, and the authority. Raises ``OSError``.

    A file that cannot be read is passed over: the caller's programs would have failed on it by themselves.
    """
    blocks: dict[bytes, None] = {}
    for path in (_system_roots(), *given):
        with contextlib.suppress(OSError):
            blocks.update(dict.fromkeys(_CERTIFICATE.findall(path.read_bytes())))
    blocks[ca.certificate_pem.strip()] = None
    content = b"\n".join(blocks) + b"\n"
    bundle = folder / f"trust-{zlib.crc32(content):08x}.pem"
    store = bundle.with_suffix(".p12")
    if not bundle.exists() or bundle.read_bytes() != content or not store.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(store, _java_store(blocks), mode=0o644, replace=True)
        _write(bundle, content, mode=0o644, replace=True)
    return Trust(bundle, store)


def _system_roots() -> Path:
    for text in _SYSTEM_ROOTS:
        if os.path.exists(text):  # noqa: PTH110 - Path costs more than the look-up
            return Path(text)
    import ssl

    found: str | None = ssl.get_default_verify_paths().cafile
    if found is None:
        import certifi

        found = certifi.where()
    return Path(found)


def _java_store(blocks: Iterable[bytes]) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

    certificates: list[Certificate] = []
    for block in blocks:
        # Some old roots break RFC 5280: cryptography warns of them now, and will refuse them.
        with contextlib.suppress(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            certificates.append(x509.load_pem_x509_certificate(block))
    named = [PKCS12Certificate(one, f"root-{index}".encode()) for index, one in enumerate(certificates)]
    return serialize_java_truststore(named, BestAvailableEncryption(TRUST_STORE_PASSWORD.encode()))


def _write(path: Path, content: bytes, *, mode: int, replace: bool) -> None:
    """Write a file that nobody sees in part. Without ``replace``, the first of several writers wins."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        with open(file, "wb") as stream:  # noqa: PTH123 - the descriptor carries the mode
            stream.write(content)
        if replace:
            beside.replace(path)
        else:
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(beside)
    finally:
        beside.unlink(missing_ok=True)
