"""Bodies are decoded from every coding that clients use, and from nothing that only claims to be in one."""

from __future__ import annotations

import gzip
import sys
import zlib

import brotli
import pytest

from eve_mocks.encoding import BadEncoding, decode, decode_beginning, is_encoded

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = bytes(range(256)) * 400


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODINGS = [
    pytest.param("gzip", gzip.compress, id="gzip"),
    pytest.param("x-gzip", gzip.compress, id="x-gzip"),
    pytest.param("deflate", zlib.compress, id="deflate"),
    pytest.param("deflate", raw_deflate, id="deflate-without-header"),
    pytest.param("br", brotli.compress, id="br"),
    pytest.param("zstd", zstd.compress, id="zstd"),
]


@pytest.mark.parametrize(("coding", "pack"), CODINGS)
class TestCodings:
    def test_a_body_is_decoded(self, coding, pack):
        assert decode(pack(TEXT), coding) == TEXT
        assert is_encoded(pack(TEXT), coding)

    def test_one_that_is_cut_short_is_refused(self, coding, pack):
        with pytest.raises(BadEncoding):
            decode(pack(TEXT)[:-5], coding)

    def test_one_that_is_something_else_is_refused(self, coding, pack):
        with pytest.raises(BadEncoding):
            decode(b'{"plain": true}', coding)
        assert not is_encoded(b'{"plain": true}', coding)

    def test_one_that_grows_too_much_is_refused(self, coding, pack):
        with pytest.raises(BadEncoding, match="larger than 100000 bytes"):
            decode(pack(bytes(10_000_000)), coding, limit=100_000)

    def test_the_beginning_of_one_gives_the_beginning_of_the_text(self, coding, pack):
        text = b"".join(zlib.crc32(n.to_bytes(4)).to_bytes(4) for n in range(100_000))  # packs badly, so in many blocks
        found = decode_beginning(pack(text)[: 300 * 1024], coding, limit=1000)
        assert found == text[:1000]


@pytest.mark.parametrize(
    "members",
    [
        pytest.param([b"one", b"two"], id="two"),
        pytest.param([b"", b"one", b"", b"two", b""], id="empty ones"),
        pytest.param([b""] * 2_000 + [b"one"], id="many"),
        pytest.param([TEXT, TEXT * 20, b"end"], id="large"),
    ],
)
def test_a_gzip_body_may_have_several_members(members):
    assert decode(b"".join(map(gzip.compress, members)), "gzip") == b"".join(members)


@pytest.mark.parametrize(
    "behind", [b"?", b"\x1f\x8b", gzip.compress(b"two")[:-1]], ids=["no member", "half a head", "a cut member"]
)
def test_what_is_behind_a_gzip_member_is_one_too(behind):
    with pytest.raises(BadEncoding):
        decode(gzip.compress(b"one") + behind, "gzip")


def test_codings_are_taken_off_from_the_last():
    assert decode(gzip.compress(brotli.compress(TEXT)), "br, GZIP") == TEXT


@pytest.mark.parametrize("codings", ["identity", "aws-chunked", ""])
def test_an_unknown_coding_stays(codings):
    assert decode(b"as it is", codings) == b"as it is"


def test_the_beginning_of_an_unknown_coding_is_not_taken_for_text():
    assert decode_beginning(b"?", "aws-chunked", limit=10) == b""
