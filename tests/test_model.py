"""The values: what can be sent, and what is told of what cannot."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.errors import MockError
from eve_mocks.match import parse_url
from eve_mocks.model import BadRequest, Fault, Headers, Request
from eve_mocks.response import Event, Response, encode_json, header_pairs, seconds

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def request(url: str = "https://x.test/", body: bytes = b"") -> Request:
    return Request(method="POST", target=parse_url(url), headers=Headers(), body=body)


def test_headers_keep_case_and_order_and_are_found_without_case() -> None:
    headers = Headers([("Set-Cookie", "a=1"), ("X-B", "2"), ("set-cookie", "c=3")])
    assert headers.pairs == (("Set-Cookie", "a=1"), ("X-B", "2"), ("set-cookie", "c=3"))
    assert (headers["SET-COOKIE"], headers.all("Set-cookie")) == ("a=1, c=3", ["a=1", "c=3"])
    assert (list(headers), len(headers)) == (["set-cookie", "x-b"], 2)
    assert ("x-B" in headers, headers.get("x-c")) == (True, None)
    assert headers.without("x-b").pairs == (("Set-Cookie", "a=1"), ("set-cookie", "c=3"))


@pytest.mark.parametrize(
    ("url", "query"),
    [
        ("https://x.test/", {}),
        ("https://x.test/?a=1&b=&c", {"a": "1", "b": "", "c": ""}),
        ("https://x.test/?a=1&a=2&b=3&a=1", {"a": ["1", "2", "1"], "b": "3"}),
        ("https://x.test/?q=a+b&p=a%2Bb&s=a%20b", {"q": "a b", "p": "a+b", "s": "a b"}),
        ("https://x.test/?%C3%A9=%E2%98%95&x=%2F%26%3D", {"é": "☕", "x": "/&="}),
        ("https://x.test/?a[]=1&a[]=2", {"a[]": ["1", "2"]}),
    ],
)
def test_query_parameters_are_decoded(url: str, query: dict[str, object]) -> None:
    assert request(url).query == query


@given(JSON)
def test_json_goes_through_a_response_and_back(value: Any) -> None:
    sent = Response(json=value)
    assert request(body=sent.body).json() == json.loads(json.dumps(value))
    assert dict(sent.headers) == {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"\xef\xbb\xbf[1]", [1]),
        (b'"\\ud83d\\ude00"', "😀"),
        (b"12345678901234567890", 12345678901234567890),
        (b'"' + b"x" * 5 * 1024 * 1024 + b'"', "x" * 5 * 1024 * 1024),
    ],
    ids=["duplicate keys", "byte order mark", "a pair of surrogates", "a big number", "5 MiB"],
)
def test_a_json_body_is_read(body: bytes, value: object) -> None:
    assert request(body=body).json() == value


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "not JSON"),
        (b"a=1", "line 1 column 1"),
        (b"[1e999]", "a number that is too large"),
        (b"[-1E+999]", "a number that is too large"),
        (b"\xff\xfe", "not JSON"),
        (b"NaN", "NaN is not JSON"),
        (b'"\\ud800"', "lone surrogate"),
        (b"[" * 200_000, "not JSON"),
        (b"9" * 5000, "not JSON"),
    ],
)
def test_a_body_that_is_not_json_is_told(body: bytes, told: str) -> None:
    with pytest.raises(BadRequest) as caught:
        request(body=body).json()
    assert told in str(caught.value)


def test_a_body_that_is_not_json_is_not_quoted() -> None:
    with pytest.raises(BadRequest) as caught:
        request(body=b"password=hunter2").json()
    assert "hunter2" not in str(caught.value)
    assert "password" not in str(caught.value)
    assert len(str(caught.value)) < 400


CYCLE: list[Any] = []
CYCLE.append({"again": CYCLE})


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": [{"at": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)}]}, "$.a[0].at is of type datetime"),
        ([decimal.Decimal(1)], "$[0] is of type Decimal"),
        (b"x", "$ is of type bytes"),
        ({"a": {1, 2}}, "$.a is of type set"),
        ({"n": float("nan")}, "$.n is nan"),
        ({"n": float("-inf")}, "$.n is -inf"),
        ({(1, 2): 1}, "key (1, 2)"),
        ({None: 1}, "key None"),
        ({True: 1}, "key True"),
        (CYCLE, "contains itself"),
        (Event(data="x"), "$ is of type Event"),
    ],
)
def test_what_is_not_json_is_told_with_its_path(value: object, told: str) -> None:
    with pytest.raises(MockError) as caught:
        encode_json(value)
    assert told in caught.value.message


def test_a_value_that_is_shared_is_no_cycle() -> None:
    part = {"a": 1}
    assert encode_json([part, part, (part,)]) == b'[{"a": 1}, {"a": 1}, [{"a": 1}]]'


def test_text_is_sent_as_it_is_and_a_lone_surrogate_as_an_escape() -> None:
    assert encode_json("é☕") == '"é☕"'.encode()
    assert encode_json("\ud800") == b'"\\ud800"'


@pytest.mark.parametrize(
    ("given", "pairs"),
    [
        (None, ()),
        ({"A": "b"}, (("A", "b"),)),
        ({"set-cookie": ["a=1", "b=2"]}, (("set-cookie", "a=1"), ("set-cookie", "b=2"))),
        ([("a", "1"), ("a", "2")], (("a", "1"), ("a", "2"))),
        ({"n": 1, "t": True, "f": 1.5}, (("n", "1"), ("t", "true"), ("f", "1.5"))),
        ({"x": " café\t"}, (("x", "café"),)),
        ({"x": ""}, (("x", ""),)),
    ],
)
def test_headers_are_given_as_a_mapping_or_pairs(given: Any, pairs: object) -> None:
    assert header_pairs(given) == pairs


@pytest.mark.parametrize(
    "given", [{"a b": "c"}, {"": "c"}, {"a": "b\nc"}, {"a": "b\r"}, {"a": "\0"}, {"a": "☕"}, {1: "a"}]
)
def test_headers_that_http_cannot_carry_are_told(given: Any) -> None:
    with pytest.raises(MockError):
        header_pairs(given)


@pytest.mark.parametrize(
    ("value", "found"),
    [(0, 0.0), (2, 2.0), (0.25, 0.25), ("250ms", 0.25), ("1.5s", 1.5), ("2m", 120.0), (" 3 s ", 3.0)],
)
def test_times(value: float | str, found: float) -> None:
    assert seconds(value) == found


@pytest.mark.parametrize(
    "value", [-1, True, float("inf"), float("nan"), "", "soon", "5", "1h", "-1s", "1 s s", None, [1]]
)
def test_what_is_not_a_time_is_told(value: Any) -> None:
    with pytest.raises(MockError, match="not a length of time"):
        seconds(value)


@pytest.mark.parametrize(
    ("event", "sent"),
    [
        (Event(data="a"), b"data: a\n\n"),
        (Event(data=""), b"data: \n\n"),
        (Event(data="a\nb"), b"data: a\ndata: b\n\n"),
        (Event(data="a\r\nb\rc\n"), b"data: a\ndata: b\ndata: c\ndata: \n\n"),
        (Event(data="a", event="e", id="7"), b"event: e\nid: 7\ndata: a\n\n"),
    ],
)
def test_an_event_is_lines(event: Event, sent: bytes) -> None:
    assert event.encode() == sent


@pytest.mark.parametrize(
    "event", [{"data": 1, "dta": 2}, {"data": 1, "event": "a\nb"}, {"data": 1, "id": "a\r"}, {"data": 1, "id": [1]}]
)
def test_an_event_that_cannot_be_is_told(event: Any) -> None:
    with pytest.raises(MockError, match="an event cannot have"):
        Response(events=[event])


@pytest.mark.parametrize(
    ("given", "content_type", "body"),
    [
        ({}, None, b""),
        ({"json": None}, "application/json", b"null"),
        ({"text": "é"}, "text/plain; charset=utf-8", "é".encode()),
        ({"body": b"\xff"}, None, b"\xff"),
        ({"body": bytearray(b"x"), "headers": {"Content-Type": "a/b"}}, "a/b", b"x"),
        ({"json": 1, "headers": [("CONTENT-TYPE", "a/b")]}, "a/b", b"1"),
        ({"events": []}, "text/event-stream", b""),
    ],
)
def test_a_response_says_what_it_carries(given: Any, content_type: str | None, body: bytes) -> None:
    response = Response(**given)
    assert (Headers(response.headers).get("content-type"), response.body) == (content_type, body)


@pytest.mark.parametrize(
    "given",
    [{"json": 1, "text": "x"}, {"body": b"", "events": []}, {"status": 99}, {"status": 600}, {"status": True},
     {"status": "200"}, {"delay": "soon"}, {"headers": {"a": "☕"}}, {"json": {1, 2}}],
)  # fmt: skip
def test_a_response_that_cannot_be_is_told(given: Any) -> None:
    with pytest.raises(MockError):
        Response(**given)


def test_a_fault_is_one_of_those_that_are_known() -> None:
    assert Fault("reset").kind == "reset"
    with pytest.raises(ValueError, match="reset, timeout"):
        Fault("restet")  # type: ignore[arg-type]
