"""The user's certificate authority."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from eve_mocks import ca

if TYPE_CHECKING:
    from collections.abc import Callable


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


def with_the_certificate_of_another(text: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        other = ca.ensure_ca(Path(folder)).certificate_pem.decode()
    return text[: text.index("-----BEGIN CERTIFICATE")] + other


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: "",
        lambda text: text[:300],
        lambda text: text.replace("PRIVATE", "LOST"),
        lambda text: re.sub("valid until ....-..-..", "valid until 2030-13-45", text),
        lambda text: text.replace("A", "B"),
        lambda text: text.replace("\n-----END CERTIFICATE", "!!!!\n-----END CERTIFICATE"),
        with_the_certificate_of_another,
    ],
    ids=["empty", "half", "no key", "no date", "other letters", "no base64", "key and certificate of two"],
)
def test_one_that_cannot_be_used_is_made_anew(tmp_path: Path, spoil: Callable[[str], str]) -> None:
    first = ca.ensure_ca(tmp_path)
    spoilt = spoil(first.path.read_text())
    first.path.write_text(spoilt)
    second = ca.ensure_ca(tmp_path)
    assert second.certificate_pem != first.certificate_pem
    assert ca.ensure_ca(tmp_path) == second
    assert (tmp_path / "ca.pem.old").read_text() == spoilt
    assert (tmp_path / "ca.pem.old").stat().st_mode & 0o777 == 0o600


def test_one_that_is_soon_over_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ca, "_LIFETIME", datetime.timedelta(days=7))
        with pytest.raises(OSError, match="reads differently"):
            ca.ensure_ca(tmp_path)
    assert x509.load_pem_x509_certificate(ca.ensure_ca(tmp_path).certificate_pem).not_valid_after_utc.year > 2030
    assert (tmp_path / "ca.pem.old").exists()


@pytest.mark.parametrize("other", ["folder", "dangling"])
def test_what_is_no_file_gives_way(tmp_path: Path, other: str) -> None:
    path = tmp_path / "ca.pem"
    path.mkdir() if other == "folder" else path.symlink_to("nowhere")
    assert ca.ensure_ca(tmp_path) == ca.ensure_ca(tmp_path)
    assert path.is_file()


def test_a_pipe_in_its_place_is_no_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ca.pem")
    with pytest.raises(OSError, match=r"not a regular file: .*ca\.pem"):
        ca.ensure_ca(tmp_path)


@pytest.mark.parametrize("home", [None, "relative"])
def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("HOME")
    if home is not None:
        monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(OSError, match=r"HOME is not|no home folder"):
        ca.data_folder()


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
