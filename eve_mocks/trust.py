"""What a command needs to trust the authority beside everything it trusted before: one bundle, and Java's form of it.

A client that reads a damaged certificate reads none, so only sound ones are copied. Finding that out, and writing for
Java, takes long: both are kept, under a name that is made of what went in.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import time
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eve_mocks import files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cryptography.x509 import Certificate

    from eve_mocks.ca import CA

_BEGIN = b"-----BEGIN CERTIFICATE-----"
# No dash inside: a block that lacks its end does not take the next one with it.
_CERTIFICATE = re.compile(_BEGIN + rb"[^-]+-----END CERTIFICATE-----")
_HEADING = re.compile(rb"# eve-mocks (\{.*\})\n")
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
_KEPT = 4
_DAY = 24 * 60 * 60


@dataclasses.dataclass(frozen=True, slots=True)
class Trust:
    """The same certificates for OpenSSL and its like, and for Java; ``passed_over`` tells what could not be used."""

    bundle: Path
    java_store: Path
    passed_over: tuple[str, ...] = ()


def ensure_trust(folder: Path, ca: CA, given: Iterable[Path]) -> Trust:
    """One bundle of the system's roots, the files the caller trusts, and the authority. Raises ``OSError``.

    A file that is not there is passed over in silence: programs are told of it by themselves, or do not mind.
    """
    blocks: dict[bytes, Path] = {}
    passed_over: list[str] = []
    for path in (_system_roots(), *given):
        try:
            text = files.read_regular(path)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
        except OSError as error:
            passed_over.append(f"{path}: {error.strerror}")
            continue
        found = _CERTIFICATE.findall(text)
        if text.count(_BEGIN) > len(found):
            passed_over.append(f"{path}: a certificate in it has no end")
        for block in found:
            blocks.setdefault(block, path)
    blocks[ca.certificate_pem.strip()] = ca.path
    content = b"\n".join(blocks)
    bundle = folder / f"trust-{zlib.crc32(content):08x}.pem"
    store = bundle.with_suffix(".p12")
    damaged = _kept(bundle, store, len(content))
    if damaged is None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with files.locked(folder):
            damaged = _kept(bundle, store, len(content))  # by another run, meanwhile
            if damaged is None:
                damaged = _make(bundle, store, list(blocks))
                _prune(folder)
    with contextlib.suppress(OSError):
        os.utime(bundle)
    places = list(blocks.values())
    passed_over += dict.fromkeys(f"{places[index]}: a certificate in it is damaged" for index in damaged)
    return Trust(bundle, store, tuple(passed_over))


def _kept(bundle: Path, store: Path, size: int) -> list[int] | None:
    """Which of the certificates were damaged when the two files were made; None where they cannot be used."""
    try:
        text = files.read_regular(bundle)
        heading = _HEADING.match(text)
        if heading is None:
            return None
        made: dict[str, Any] = json.loads(heading[1])
        if made["of"] != size or made["bundle"] != zlib.crc32(text[heading.end() :]):
            return None
        if made["store"] != zlib.crc32(files.read_regular(store)):
            return None
        damaged: list[int] = made["damaged"]
    except (OSError, ValueError, KeyError):
        return None
    return damaged


def _make(bundle: Path, store: Path, blocks: list[bytes]) -> list[int]:
    """Write the two files, and return which of the certificates were left out."""
    damaged = [index for index, block in enumerate(blocks) if not _is_sound(block)]
    sound = [block for index, block in enumerate(blocks) if index not in damaged]
    java, content = _java_store(sound), b"\n".join(sound) + b"\n"
    made = {
        "of": len(b"\n".join(blocks)),
        "bundle": zlib.crc32(content),
        "store": zlib.crc32(java),
        "damaged": damaged,
    }
    for path, data in ((store, java), (bundle, b"# eve-mocks %s\n%s" % (json.dumps(made).encode(), content))):
        if path.is_dir():
            path.rename(path.with_name(f"{path.name}.old"))
        files.write_whole(path, data, mode=0o644)
    return damaged


def _is_sound(block: bytes) -> bool:
    """Whether OpenSSL, which most clients use, takes a certificate."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=block.decode("ascii"))
    except (ssl.SSLError, ValueError):
        return False
    return True


def _prune(folder: Path) -> None:
    """Remove what no run has used for a day, but for the last few bundles; and what a killed run has left half made."""
    long_ago = time.time() - _DAY
    with contextlib.suppress(OSError):
        bundles = sorted(folder.glob("trust-*.pem"), key=lambda path: path.stat().st_mtime)
        unused = [path for path in bundles[:-_KEPT] if path.stat().st_mtime < long_ago]
        halves = [path for path in folder.glob(".*.*") if path.stat().st_mtime < long_ago]
        for path in (*unused, *(path.with_suffix(".p12") for path in unused), *halves):
            path.unlink(missing_ok=True)


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
