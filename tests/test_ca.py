"""The user's CA, and what trusts it."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, pkcs12

from eve_mocks import ca

if TYPE_CHECKING:
    from collections.abc import Callable


def blocks(path: Path) -> list[bytes]:
    return re.findall(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", path.read_bytes(), re.DOTALL)


def test_it_is_made_once_and_kept(tmp_path: Path) -> None:
    first = ca.ensure_ca(tmp_path / "new" / "folder")
    assert ca.ensure_ca(tmp_path / "new" / "folder") == first
    assert first.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in first.path.parent.iterdir()] == ["ca.pem"]
    certificate = x509.load_pem_x509_certificate(first.certificate_pem)
    key = load_pem_private_key(first.path.read_bytes(), None)
    assert certificate.public_key() == key.public_key()
    assert b"PRIVATE" not in first.certificate_pem
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_openssl_accepts_it_strictly(tmp_path: Path, needs: Callable[..., str]) -> None:
    made = ca.ensure_ca(tmp_path)
    subprocess.run([needs("openssl"), "verify", "-x509_strict", "-CAfile", made.path, made.path], check=True)


def test_many_at_once_agree(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from eve_mocks import ca; print(ca.ensure_ca(pathlib.Path(sys.argv[1])).certificate_pem)"
    )

    def make(_: int) -> str:
        return subprocess.check_output([sys.executable, "-c", code, tmp_path], text=True)

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(make, range(6)))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ca.pem"]


def soon_over(text: str) -> str:
    in_a_week = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=7)
    return re.sub(r"valid until \S+", f"valid until {in_a_week:%Y-%m-%d}", text)


@pytest.mark.parametrize(
    "spoil",
    [lambda _: "", lambda text: text[:300], lambda text: text.replace("PRIVATE", "LOST"), soon_over],
    ids=["empty", "half", "no key", "soon over"],
)
def test_one_that_cannot_be_used_is_made_anew(tmp_path: Path, spoil: Callable[[str], str]) -> None:
    first = ca.ensure_ca(tmp_path)
    first.path.write_text(spoil(first.path.read_text()))
    second = ca.ensure_ca(tmp_path)
    assert second.certificate_pem != first.certificate_pem
    assert ca.ensure_ca(tmp_path) == second


def test_a_key_that_others_can_read_is_closed(tmp_path: Path) -> None:
    made = ca.ensure_ca(tmp_path)
    made.path.chmod(0o644)
    ca.ensure_ca(tmp_path)
    assert made.path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="Not a directory"):
        ca.ensure_ca(tmp_path / "file" / "folder")


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/eve-mocks"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/home/me/.local/share/eve-mocks"),
        ("linux", {}, "/home/me/.local/share/eve-mocks"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/home/me/Library/Application Support/eve-mocks"),
    ],
)
def test_where_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for name, value in (environment | {"HOME": "/home/me"}).items():
        monkeypatch.setenv(name, value)
    assert ca.data_folder() == Path(expected)


def test_the_bundle_has_everything_once(tmp_path: Path) -> None:
    made = ca.ensure_ca(tmp_path / "mine")
    other = ca.ensure_ca(tmp_path / "other")
    roots = ca.ensure_trust(tmp_path, made, [])
    trust = ca.ensure_trust(tmp_path, made, [other.path, tmp_path / "missing.pem", other.path, tmp_path])
    assert roots.bundle != trust.bundle
    found = blocks(trust.bundle)
    assert len(found) == len(set(found)) == len(blocks(roots.bundle)) + 1
    assert {made.certificate_pem.strip(), other.certificate_pem.strip()} < set(found)
    assert b"PRIVATE" not in trust.bundle.read_bytes()
    # What an outer run hands to an inner one adds nothing.
    assert ca.ensure_trust(tmp_path, made, [trust.bundle]) == trust


def test_a_bundle_that_was_spoilt_is_written_again(tmp_path: Path) -> None:
    made = ca.ensure_ca(tmp_path)
    trust = ca.ensure_trust(tmp_path, made, [])
    whole = trust.bundle.read_bytes()
    trust.bundle.write_bytes(b"")
    trust.java_store.unlink()
    assert ca.ensure_trust(tmp_path, made, []) == trust
    assert trust.bundle.read_bytes() == whole
    assert trust.java_store.exists()


@pytest.mark.filterwarnings("ignore:Parsed a serial number")  # of a root that is older than the rule
def test_javas_store_has_the_same(tmp_path: Path) -> None:
    made = ca.ensure_ca(tmp_path)
    trust = ca.ensure_trust(tmp_path, made, [])
    store = pkcs12.load_pkcs12(trust.java_store.read_bytes(), ca.TRUST_STORE_PASSWORD.encode())
    assert len(store.additional_certs) == len(blocks(trust.bundle))
    last = store.additional_certs[-1].certificate
    assert last == x509.load_pem_x509_certificate(made.certificate_pem)
