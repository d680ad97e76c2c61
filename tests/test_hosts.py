"""Names that programs look up in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eve_mocks.hosts import Hosts

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
127.0.0.1   localhost me.example
# 192.0.2.9 commented.example
192.0.2.1   db.example  DB            # the database
192.0.2.1   also.example
2001:DB8:0::1  six.example
fe80::1%lo0 scoped.example
nonsense    a.example
192.0.2.2   b\u00fccher.example
192.0.2.3
"""


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("192.0.2.1", ("db.example", "db", "also.example")),
        ("2001:db8::1", ("six.example",)),
        ("fe80::1", ("scoped.example",)),
        ("192.0.2.2", ("xn--bcher-kva.example",)),
        ("192.0.2.3", ()),
        ("192.0.2.9", ()),
        ("127.0.0.1", ()),
        ("db.example", ()),
        ("nonsense", ()),
    ],
)
def test_names_of_an_address(tmp_path: Path, host: str, names: tuple[str, ...]) -> None:
    (tmp_path / "hosts").write_text(FILE)
    assert Hosts(tmp_path / "hosts").names(host) == names


def test_no_file(tmp_path: Path) -> None:
    assert Hosts(tmp_path / "hosts").names("192.0.2.1") == ()
