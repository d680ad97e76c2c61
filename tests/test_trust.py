"""What a command trusts: the bundle, and Java's form of it."""

from __future__ import annotations

import os
import re
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12

from eve_mocks.ca import CA, ensure_ca
from eve_mocks.trust import TRUST_STORE_PASSWORD, ensure_trust

if TYPE_CHECKING:
    from collections.abc import Callable

NO_CERTIFICATE = b"-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n"


def blocks(path: Path) -> list[bytes]:
    return re.findall(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", path.read_bytes(), re.DOTALL)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CA:
    return ensure_ca(tmp_path_factory.mktemp("mine"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> CA:
    return ensure_ca(tmp_path_factory.mktemp("other"))


def test_the_bundle_has_everything_once(tmp_path: Path, authority: CA, other: CA) -> None:
    roots = ensure_trust(tmp_path, authority, [])
    made = ensure_trust(tmp_path, authority, [other.path, tmp_path / "missing.pem", other.path, tmp_path])
    assert roots.bundle != made.bundle
    assert made.passed_over == ()
    found = blocks(made.bundle)
    assert len(found) == len(set(found)) == len(blocks(roots.bundle)) + 1
    assert {authority.certificate_pem.strip(), other.certificate_pem.strip()} < set(found)
    assert b"PRIVATE" not in made.bundle.read_bytes()
    # What an outer run hands to an inner one adds nothing.
    assert ensure_trust(tmp_path, authority, [made.bundle]) == made


def damaged(text: bytes) -> bytes:
    """The certificate with some of its middle changed."""
    return text[:200] + b"AAAAAAAAAAAA" + text[212:]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (lambda _: NO_CERTIFICATE, "is damaged"),
        (damaged, "is damaged"),
        (lambda text: text.replace(b"\n-----END", b"!!!!\n-----END"), "is damaged"),
        (lambda text: text[:300] + b"\n", "has no end"),
    ],
    ids=["garbage", "other letters", "no base64", "without an end"],
)
def test_a_damaged_certificate_is_left_out_and_told(
    tmp_path: Path, authority: CA, other: CA, content: Callable[[bytes], bytes], told: str
) -> None:
    file = tmp_path / "own.pem"
    spoilt = content(other.certificate_pem)
    file.write_bytes(spoilt + ensure_ca(tmp_path / "third").certificate_pem)
    made = ensure_trust(tmp_path, authority, [file])
    assert made.passed_over == (f"{file}: a certificate in it {told}",)
    third = ensure_ca(tmp_path / "third").certificate_pem.strip()
    assert blocks(made.bundle)[-2:] == [third, authority.certificate_pem.strip()]
    assert ensure_trust(tmp_path, authority, [file]) == made  # from what was kept
    ssl.create_default_context(cafile=str(made.bundle))


def test_what_cannot_be_read_at_once_is_told(tmp_path: Path, authority: CA) -> None:
    os.mkfifo(tmp_path / "pipe")
    made = ensure_trust(tmp_path, authority, [tmp_path / "pipe", Path("/dev/zero")])
    assert made.passed_over == (
        f"{tmp_path}/pipe: It is not a regular file",
        "/dev/zero: It is not a regular file",
    )


def garbled(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


@pytest.mark.filterwarnings("ignore:Parsed a serial number")  # of a root that is older than the rule
@pytest.mark.parametrize(
    "spoil", [lambda path: path.write_bytes(b""), Path.unlink, garbled], ids=["empty", "gone", "more"]
)
@pytest.mark.parametrize("which", ["bundle", "java_store"])
def test_what_was_spoilt_is_written_again(
    tmp_path: Path, authority: CA, spoil: Callable[[Path], object], which: str
) -> None:
    made = ensure_trust(tmp_path, authority, [])
    found = blocks(made.bundle)
    spoil(getattr(made, which))
    assert ensure_trust(tmp_path, authority, []) == made
    assert blocks(made.bundle) == found
    assert pkcs12.load_pkcs12(made.java_store.read_bytes(), TRUST_STORE_PASSWORD.encode())


def test_old_bundles_are_removed_but_for_those_in_use(tmp_path: Path, authority: CA) -> None:
    week = 7 * 24 * 60 * 60
    for number in range(8):
        for path in (tmp_path / f"trust-{number}.pem", tmp_path / f"trust-{number}.p12"):
            path.touch()
            os.utime(path, (time.time() - week * (number < 6),) * 2)
    (tmp_path / ".trust-x.pem.77").touch()
    os.utime(tmp_path / ".trust-x.pem.77", (0, 0))
    made = ensure_trust(tmp_path, authority, [])
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        made.bundle.name, made.java_store.name,
        *(f"trust-{number}.{end}" for number in (5, 6, 7) for end in ("pem", "p12")),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_javas_store_has_the_same(tmp_path: Path, authority: CA) -> None:
    made = ensure_trust(tmp_path, authority, [])
    store = pkcs12.load_pkcs12(made.java_store.read_bytes(), TRUST_STORE_PASSWORD.encode())
    assert len(store.additional_certs) == len(blocks(made.bundle))
    last = store.additional_certs[-1].certificate
    assert last == x509.load_pem_x509_certificate(authority.certificate_pem)
