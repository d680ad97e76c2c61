"""What of a call is written to disk."""

from __future__ import annotations

import base64
import gzip
import json
import time

import pytest

from eve_mocks import redact, secret_urls

SECRET = "s3cr3t"
FORM = (
    '--b\r\nContent-Disposition: form-data; name="password"\r\nContent-Type: text/plain\r\n\r\ns3cr3t\ns3cr3t\r\n'
    '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nÿ\r\n--b--\r\n'
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((("Authorization", SECRET),), {"Authorization": "[redacted]"}),
        (
            (("proxy-authorization", SECRET), ("X-Api-Key", SECRET)),
            {"proxy-authorization": "[redacted]", "X-Api-Key": "[redacted]"},
        ),
        (
            (("X-Amz-Security-Token", SECRET), ("client-secret", SECRET)),
            {"X-Amz-Security-Token": "[redacted]", "client-secret": "[redacted]"},
        ),
        ((("Set-Cookie", "a=1"), ("set-cookie", "b=2")), {"Set-Cookie": ["[redacted]", "[redacted]"]}),
        ((("Accept", "a"), ("X", "1"), ("accept", "b"), ("ACCEPT", "c")), {"Accept": ["a", "b", "c"], "X": "1"}),
        ((("WWW-Authenticate", 'Bearer realm="x"'),), {"WWW-Authenticate": 'Bearer realm="x"'}),
        (
            (("Location", f"https://me:{SECRET}@a.test/cb?state=1&access_token={SECRET}#id_token={SECRET}"),),
            {"Location": "https://[redacted]@a.test/cb?state=1&access_token=[redacted]#id_token=[redacted]"},
        ),
        ((("Host", "[::1]:80"), ("X-Eve-Mocks-Session", "a@b")), {"Host": "[::1]:80", "X-Eve-Mocks-Session": "a@b"}),
        ((("Host", f"me:{SECRET}@a.test"),), {"Host": "[redacted]@a.test"}),
        (
            (("X-RateLimit-Remaining-Tokens", "5"), ("X-Max-Tokens", "5"), ("X-Tokens", SECRET)),
            {"X-RateLimit-Remaining-Tokens": "5", "X-Max-Tokens": "5", "X-Tokens": "[redacted]"},
        ),
        ((("Sec-WebSocket-Protocol", "graphql-ws"),), {"Sec-WebSocket-Protocol": "graphql-ws"}),
        ((("Referer", "https://a.test/?page=2"),), {"Referer": "https://a.test/?page=2"}),
    ],
)
def test_headers(given: tuple[tuple[str, str], ...], expected: dict[str, object]) -> None:
    assert redact.headers(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("https://a.test/?q=1&key=x&b=2", "https://a.test/?q=1&key=[redacted]&b=2"),
        ("https://a.test/?client%5Fsecret=x", "https://a.test/?client%5Fsecret=[redacted]"),
        (
            "https://a.test/?X-Amz-Signature=x&X-Amz-Credential=y&sig=z",
            "https://a.test/?X-Amz-Signature=[redacted]&X-Amz-Credential=[redacted]&sig=[redacted]",
        ),
        ("https://a.test/?keyword", "https://a.test/?keyword"),
        ("https://a.test/a=b", "https://a.test/a=b"),
        ("https://a.test/@scope/x?email=a@b.test", "https://a.test/@scope/x?email=a@b.test"),
        ("http://me:pass@a.test/", "http://[redacted]@a.test/"),
    ],
)
def test_urls(given: str, expected: str) -> None:
    assert secret_urls.url(given) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"access_token": SECRET, "accessToken": SECRET, "ACCESS-TOKEN": SECRET},
            dict.fromkeys(("access_token", "accessToken", "ACCESS-TOKEN"), "[redacted]"),
        ),
        (
            {"max_tokens": 5, "next_page_token": "p", "keyword": "k", "secretary": "s"},
            {"max_tokens": 5, "next_page_token": "p", "keyword": "k", "secretary": "s"},
        ),
        ([{"a": {"password": SECRET}}], [{"a": {"password": "[redacted]"}}]),
        ({"password": None, "token": True, "secret": 5}, {"password": None, "token": True, "secret": "[redacted]"}),
        ({"token": [SECRET, [SECRET]]}, {"token": ["[redacted]", ["[redacted]"]]}),
        ({"password": {"type": "string"}}, {"password": {"type": "string"}}),
        (
            {"grant_type": "authorization_code", "code": SECRET},
            {"grant_type": "authorization_code", "code": "[redacted]"},
        ),
        ({"code": "not_found"}, {"code": "not_found"}),
        (
            {"token": 5, "total_tokens": 7, "tokens": [1, 2], "tokens_by_kind": {"in": 1}},
            {"token": 5, "total_tokens": 7, "tokens": [1, 2], "tokens_by_kind": {"in": 1}},
        ),
        ({"required": ["password", "email"]}, {"required": ["password", "email"]}),
        (
            {"password": {"anyOf": [{"type": "string"}], "default": {"password": SECRET}}},
            {"password": {"anyOf": [{"type": "string"}], "default": {"password": "[redacted]"}}},
        ),
        (
            {"secret": {"a": SECRET, "b": [1, None], "c": True}},
            {"secret": {"a": "[redacted]", "b": ["[redacted]", None], "c": True}},
        ),
        ({"text": "The password: at least 8 letters."}, {"text": "The password: at least 8 letters."}),
        (
            {"text": "Basic information is for the bearer of news."},
            {"text": "Basic information is for the bearer of news."},
        ),
        ({"text": json.dumps({"refresh_token": SECRET, "a": 1})}, {"text": '{"refresh_token": "[redacted]", "a": 1}'}),
        ({"url": f"https://a.test/?token={SECRET}&b=1"}, {"url": "https://a.test/?token=[redacted]&b=1"}),
    ],
)
def test_json_bodies(value: object, expected: object) -> None:
    assert redact.body(json.dumps(value).encode(), "application/json") == (expected, False)


@pytest.mark.parametrize(
    "media_type", ["application/json", "application/problem+json; charset=utf-8", "text/plain", ""]
)
def test_json_stays_json(media_type: str) -> None:
    assert redact.body(b'{"a": [1, "\xc3\xa9"]}', media_type) == ({"a": [1, "é"]}, False)


@pytest.mark.parametrize(
    ("content", "media_type", "expected"),
    [
        (
            b"grant_type=password&username=u&password=s3cr3t&code=s3cr3t",
            "application/x-www-form-urlencoded",
            "grant_type=password&username=u&password=[redacted]&code=[redacted]",
        ),
        (b"code=DE&client%5Fsecret=s3cr3t", "application/x-www-form-urlencoded", "code=DE&client%5Fsecret=[redacted]"),
        (b'{"password": "s3cr3t"}', "application/x-www-form-urlencoded", {"password": "[redacted]"}),
        (
            b'data: {"id_token": "s3cr3t", "n": 1}\n\n',
            "text/event-stream",
            'data: {"id_token": "[redacted]", "n": 1}\n\n',
        ),
        (b'{"a": 1}\n{"api_key":"s3cr3t"}\n', "application/x-ndjson", '{"a": 1}\n{"api_key":"[redacted]"}\n'),
        (b'{"password": "s3c\\"r3t", not JSON', "application/json", '{"password": "[redacted]", not JSON'),
        (
            b'{"a": "{\\"password\\": \\"s3c\\\\\\"r3t\\", \\"b\\": 1}", no',
            "application/json",
            '{"a": "{\\"password\\": \\"[redacted]\\", \\"b\\": 1}", no',
        ),
        (
            FORM.encode("latin-1"),
            "multipart/form-data; boundary=b",
            FORM.replace("s3cr3t\ns3cr3t", "[redacted]").replace("ÿ", "�"),
        ),
        (b"\x89PNG\xff", "image/png", "data:image/png;base64," + base64.b64encode(b"\x89PNG\xff").decode()),
        (b"\xff\xfe", "", "data:application/octet-stream;base64,//4="),
        (
            "Zürich".encode("latin-1"),
            "text/plain; charset=latin-1",
            "Zürich",
        ),
    ],
)
def test_other_bodies(content: bytes, media_type: str, expected: object) -> None:
    assert redact.body(content, media_type) == (expected, False)


def test_compressed_bodies() -> None:
    packed = gzip.compress(b'{"password": "s3cr3t", "a": 1}')
    assert redact.body(packed, "application/json", "gzip") == ({"password": "[redacted]", "a": 1}, False)
    bomb = gzip.compress(b"a" * 50_000_000)
    assert redact.body(bomb, "text/plain", "gzip") == ("a" * redact.BODY_LIMIT, True)
    assert redact.body(b"\xce\xb2\xff", "text/plain", "br") == ("[not recorded: content-encoding br]", True)
    assert redact.body(b'{"a": 1}', "application/json", "br") == ({"a": 1}, False)  # unpacked by whoever recorded it


@pytest.mark.parametrize("size", range(redact.BODY_LIMIT - 3, redact.BODY_LIMIT + 1))
def test_a_cut_goes_around_characters(size: int) -> None:
    shown, cut = redact.body(b"a" * size + "😀😀".encode(), "text/plain")
    assert cut
    assert shown.rstrip("😀") == "a" * size


def test_a_cut_document_is_text_without_secrets() -> None:
    document = json.dumps({"password": SECRET, "rest": "x" * redact.BODY_LIMIT}).encode()
    shown, cut = redact.body(document, "application/json")
    assert cut
    assert shown.startswith('{"password": "[redacted]", "rest": "xxx')
    cut_in_the_secret = json.dumps({"rest": "x" * (redact.BODY_LIMIT - 40), "password": SECRET * 20}).encode()
    shown, cut = redact.body(cut_in_the_secret, "application/json")
    assert cut
    assert shown.endswith('"password": "[redacted]')


@pytest.mark.parametrize(
    "hostile",
    [
        "\\" * 65536 + '"',
        "a" * 65500 + "?=://",
        "?" * 65500 + "=://",
        '"token":"' * 7000,
        "://a:" * 13000 + "@ ?=",
        'name="token"\n' * 5000,
        "[" * 65000,
        "&=" * 32000,
        "password:" * 7000 + " x",
        '"password":["' * 5000,
        "'password':{" * 5000,
        '\\"password\\":' * 5000,
        '"' + " " * 65000,
        "name=" * 13000,
        "<a name=token " * 4500,
        "<password><![CDATA[" * 3400,
        "bearer \t" * 8000,
        "Basic AAAA= " * 5000,
        "x-authorization" * 4000 + ":",
        "state=&code=" * 5000,
    ],
    ids=range(20),
)
@pytest.mark.parametrize("media_type", ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"])
def test_no_text_takes_long(hostile: str, media_type: str) -> None:
    """Far beyond what linear work takes, and far below what quadratic work would."""
    started = time.process_time()
    redact.body(hostile.encode(), media_type)
    assert time.process_time() - started < 1
