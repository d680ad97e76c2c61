"""Settings for Wget: the caller's own, but for what would lead past the proxy, and the certificates of the run."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from eve_mocks.wgetrc import ensure_wgetrc

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "trust-1.pem"


def test_without_settings_of_the_caller(bundle: Path) -> None:
    path = ensure_wgetrc(bundle, {b"HOME": b"/no/such/home"})
    assert path.read_text() == f"ca_certificate = {bundle}\n"
    assert path.parent == bundle.parent


@pytest.mark.parametrize("named", [True, False], ids=["WGETRC", "home"])
def test_the_callers_own(bundle: Path, tmp_path: Path, named: bool) -> None:
    own = tmp_path / ("settings" if named else ".wgetrc")
    own.write_bytes(
        b"# caf\xe9\ntries = 3\nCA-Certificate=/corp.pem\n https_proxy = http://corp:1\nuse_proxy=off\npassword = p"
    )
    given = {b"WGETRC": bytes(own)} if named else {b"HOME": bytes(tmp_path)}
    path = ensure_wgetrc(bundle, given)
    assert path.read_bytes() == b"# caf\xe9\ntries = 3\npassword = p\nca_certificate = %s\n" % bytes(bundle)
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_is_written_once_and_not_kept_for_ever(bundle: Path, tmp_path: Path) -> None:
    first = ensure_wgetrc(bundle, {})
    inode = first.stat().st_ino
    assert ensure_wgetrc(bundle, {}) == first
    assert first.stat().st_ino == inode
    (tmp_path / "own").write_text("tries = 1")
    second = ensure_wgetrc(bundle, {b"WGETRC": bytes(tmp_path / "own")})
    assert first.exists()
    long_ago = time.time() - 100_000
    os.utime(first, (long_ago, long_ago))
    (tmp_path / "own").write_text("tries = 2")
    third = ensure_wgetrc(bundle, {b"WGETRC": bytes(tmp_path / "own")})
    assert sorted(bundle.parent.iterdir()) == sorted([second, third])
