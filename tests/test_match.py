"""URL claims, path templates, and the word that was probably meant."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eve_mocks.errors import MockError
from eve_mocks.match import (
    RAW,
    BadURL,
    did_you_mean,
    is_loopback,
    nearest,
    normalise_host,
    normalise_path,
    parse_claim,
    parse_url,
)
from eve_mocks.model import URL

PAY = "https://api.pay.test/v1"


@pytest.mark.parametrize(
    ("claim", "url", "covered"),
    [
        (PAY, "https://API.pay.test:443/v1/charges", True),
        (PAY, "https://api.pay.test./v1/charges", True),
        (PAY, "HTTPS://api.pay.test/v1", True),
        (PAY, "wss://api.pay.test/v1/socket", True),
        ("wss://api.pay.test/v1", "https://api.pay.test/v1", True),
        (PAY, "https://api.pay.test.evil.test/v1/charges", False),
        (PAY, "https://api.pay.test@evil.test/v1/charges", False),
        (PAY, "https://evil.test/https://api.pay.test/v1/charges", False),
        (PAY, "https://evil.test\\@api.pay.test/v1", None),
        (PAY, "http://api.pay.test/v1/charges", False),
        (PAY, "ws://api.pay.test/v1/charges", False),
        (PAY, "https://api.pay.test:8443/v1/charges", False),
        (PAY, "http://api.pay.test:443/v1/charges", False),
        (PAY, "https://api.pay.test/v1/%63harges", True),
        (PAY, "https://api.pay.test/%76%31/charges", True),
        (PAY, "https://api.pay.test/v1beta", False),
        (PAY, "https://api.pay.test/V1/charges", False),
        (PAY, "https://api.pay.test/v1/x/../charges", True),
        (PAY, "https://api.pay.test/v1/../admin", False),
        (PAY, "https://api.pay.test/v1/%2e%2E/admin", False),
        (PAY, "https://api.pay.test/v1/..%2fadmin", True),
        (PAY, "https://api.pay.test/x/..//v1/charges", False),
        (PAY, "https://api.pay.test//v1/charges", False),
        (PAY, "https://api.pay.test/v1%2Fcharges", False),
        (PAY, "https://api.pay.test/v1?x=/../admin", True),
        ("https://api.pay.test/v1/", "https://api.pay.test/v1", True),
        ("https://api.pay.test", "https://api.pay.test/anything", True),
        ("https://bücher.test/", "https://bücher.test/", True),
        ("https://bücher.test/", "https://xn--bcher-kva.test/", True),
        ("https://bücher.test/", "https://B\u00dcCHER.test/", True),
        ("https://xn--bcher-kva.test/", "https://b\u0075\u0308cher.test/", True),
        ("https://*.example.test/", "https://a.example.test/", True),
        ("https://*.example.test/", "https://a.b.example.test/", True),
        ("https://*.example.test/", "https://example.test/", False),
        ("https://*.example.test/", "https://badexample.test/", False),
        ("https://*.example.test/v1", "https://a.example.test/v2", False),
        ("https://*.example.test:8443/", "https://a.example.test/", False),
        ("https://192.0.2.1/", "https://192.0.2.1/", True),
        ("https://192.0.2.1/", "https://0xC0000201/", True),
        ("https://_dmarc.x.test/", "https://_dmarc.x.test/", True),
        ("https://[2001:DB8::1]/", "https://[2001:db8:0:0:0:0:0:1]/", True),
        ("https://[2001:db8::1]:8443/", "https://[2001:db8::1]:8443/x", True),
        ("https://x.test/é", "https://x.test/%C3%A9/y", True),
        ("https://x.test/a%2Fb", "https://x.test/a%2fb", True),
        ("https://x.test/a%2Fb", "https://x.test/a/b", False),
    ],
)
def test_what_a_claim_covers(claim: str, url: str, covered: bool | None) -> None:
    if covered is None:
        with pytest.raises(BadURL):
            parse_url(url)
    else:
        assert parse_claim(claim).covers(parse_url(url)) is covered


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("HTTP://EXAMPLE.test:80", "http://example.test/"),
        ("https://example.test:8443/a?b=%63&c", "https://example.test:8443/a?b=%63&c"),
        ("https://u:p@example.test/a#frag", "https://example.test/a"),
        ("https://example.test/a/./b/../c/.", "https://example.test/a/c/"),
        ("https://example.test/../../a", "https://example.test/a"),
        ("https://example.test/a/..", "https://example.test/"),
        ("https://example.test/a b/%zz%", "https://example.test/a%20b/%25zz%25"),
        ("https://[::FFFF]/", "https://[::ffff]/"),
    ],
)
def test_urls_are_normalised(url: str, normal: str) -> None:
    assert str(parse_url(url)) == normal


@pytest.mark.parametrize(
    "url",
    ["", "x", "/x", "//x.test/", "mailto:a@x.test", "ftp://x.test/", "https:x.test", "https:///x", "https://:443/",
     "https://x.test:x/", "https://x.test:65536/", "https://[::1/", "https://x y.test/", "https://x\0.test/",
     "https://\u2100.test/", "https://a..\u00fc.test/", "https://" + "\u00fc" * 70 + ".test"],
)  # fmt: skip
def test_what_is_not_a_url_is_refused(url: str) -> None:
    with pytest.raises(BadURL):
        parse_url(url)


@pytest.mark.parametrize(
    ("given", "message", "fix"),
    [
        (None, "not text", "https://"),
        ("", "no scheme", "https://"),
        ("api.example.com", "no scheme", "Write https://api.example.com"),
        ("//api.example.com/x", "no scheme", "Write https://api.example.com/x"),
        ("ftp://x.test/", "can be claimed", "https://"),
        ("https://u:p@x.test:8443/a", "credentials", "Write https://x.test:8443/a"),
        ("https://x.test/a#b", "a fragment", "Write https://x.test/a"),
        ("https://x.test/a#", "a fragment", "Write https://x.test/a"),
        ("https://x.test/a?b=c", "a query", "Write https://x.test/a"),
        ("https://x.test/a?", "a query", "Write https://x.test/a"),
        ("https://localhost:3000/", "on this machine", "real service"),
        ("http://127.0.0.1/", "on this machine", "real service"),
        ("http://[::1]:80/", "on this machine", "real service"),
        ("http://127.1/", "on this machine", "real service"),
        ("https://2130706433/", "on this machine", "real service"),
        ("http://0x7f.1/", "on this machine", "real service"),
        ("http://0177.0.0.1/", "on this machine", "real service"),
        ("https://1.2.3.4.5/", "no IPv4 address", "https://"),
        ("https://256.1/", "no IPv4 address", "https://"),
        ("https://a..test/", "a host that cannot exist", "Correct the host"),
        ("https://-a.test/", "a host that cannot exist", "Correct the host"),
        ("https://a-.test/", "a host that cannot exist", "Correct the host"),
        (f"https://{'a' * 64}.test/", "a host that cannot exist", "Correct the host"),
        (f"https://{'a.' * 126}test/", "a host that cannot exist", "Correct the host"),
        ("https://*.a..test/", "a host that cannot exist", "Correct the host"),
        ("https://a.test:0/", "port 0", "Write the port"),
        ("https://a.test/\n", "a line break at its end", "Remove it"),
        (" https://a.test/", "does not begin with http", "https://"),
        ("https://a.test/a\tb", "an unseen character", "Remove it"),
        ("https://a.test/%zz", "a % that is no escape", "%25"),
        ("https://a.test/v1/{id}", "a pattern", "End the path"),
        ("https://a.test/**", "a pattern", "End the path"),
        ("https://*/", "* in a place", "https://*.example.com/"),
        ("https://a.*.test/", "* in a place", "https://*.example.com/"),
        ("https://a*.test/", "* in a place", "https://*.example.com/"),
        ("https://*.*.test/", "* in a place", "https://*.example.com/"),
        ("tcp://x.test:5432", "cannot be mocked", "kind: allow"),
        ("UDP://x.test:53", "cannot be mocked", "kind: block"),
    ],
)
def test_a_claim_that_cannot_be_is_told(given: object, message: str, fix: str) -> None:
    with pytest.raises(MockError) as caught:
        parse_claim(given)
    assert message in caught.value.message
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("given", "raw", "message", "fix"),
    [
        ("tcp://x.test", ("tcp",), "needs a host and a port", "https://"),
        ("tcp://:5432", ("tcp",), "needs a host and a port", "https://"),
        ("tcp://x.test:0", ("tcp",), "needs a host and a port", "https://"),
        ("tcp://x.test:99999", ("tcp",), "cannot be read", "https://"),
        ("tcp://x.test:5432/db", ("tcp",), "has no path", "https://"),
        ("tcp://u:p@x.test:5432", ("tcp",), "credentials", "Write tcp://x.test:5432"),
        ("tcp://127.0.0.1:5432", ("tcp",), "on this machine", "real service"),
        ("tcp://*:5432", ("tcp",), "* in a place", "*.example.com"),
        ("udp://x.test:53", ("tcp",), "cannot be allowed", "kind: block"),
    ],
)
def test_a_claim_of_a_connection_that_cannot_be_is_told(
    given: str, raw: tuple[str, ...], message: str, fix: str
) -> None:
    with pytest.raises(MockError) as caught:
        parse_claim(given, raw=raw)
    assert message in caught.value.message
    assert fix in caught.value.fix


@pytest.mark.parametrize("given", ["tcp://DB.test.:5432", "TCP://db.test:5432/"])
def test_a_claim_of_a_connection(given: str) -> None:
    assert parse_claim(given, raw=RAW).url == URL("tcp", "db.test", 5432, "/")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("app.localhost", True),
        ("127.0.0.1", True),
        ("127.255.0.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", True),
        ("127.1", True),
        ("2130706433", True),
        ("0X7F000001", True),
        ("128.0.0.1", False),
        ("localhost.test", False),
        ("10.0.0.1", False),
    ],
)
def test_loopback_is_known(host: str, loopback: bool) -> None:
    assert is_loopback(normalise_host(host)) is loopback


LABEL = st.text("abcxyz019", min_size=1, max_size=6)
HOST = st.lists(LABEL, min_size=2, max_size=4).map(".".join)
HOST = HOST.filter(lambda host: not re.fullmatch(r"\d+|0x[0-9a-f]*", host.split(".")[-1]))  # else it is an address
PATH = st.text(st.characters(codec="utf-8", exclude_characters="?#\\") | st.sampled_from("/.%~-2eEfF"), max_size=30)


@given(PATH)
@example("/a/%2e%2e/b")
@example("%25%32%65")
def test_normalising_a_path_twice_changes_nothing(path: str) -> None:
    once = normalise_path(path)
    assert normalise_path(once) == once
    assert once.startswith("/")
    assert once.isascii()
    assert not {".", ".."} & set(once.split("/"))


@given(HOST, PATH, st.sampled_from(["", ":443", ":8443"]), st.sampled_from(["https", "wss", "HTTPS"]))
def test_normalising_a_url_twice_changes_nothing(host: str, path: str, port: str, scheme: str) -> None:
    url = f"{scheme}://{host}{port}/{path}"
    try:
        once = parse_url(url)
    except BadURL:
        return
    assert parse_url(str(once)) == once


@given(HOST, st.text(max_size=30))
@example("x.test", "@evil.test/")
@example("x.test", ".evil.test/")
@example("x.test", ":443@evil.test/")
@example("x.test", "\t.evil.test/")
@example("x.test", "\uff0fevil.test")
@example("x.test", "%2eevil.test")
def test_no_claim_covers_another_host(host: str, rest: str) -> None:
    """Whatever follows a claimed origin in a URL, it is covered only where its host is the claimed one."""
    claim = parse_claim(f"https://{host}/")
    try:
        url = parse_url(f"https://{host}{rest}")
    except BadURL:
        return
    assert claim.covers(url) is ((url.scheme, url.host, url.port) == ("https", host, 443))
    authority = rest.partition("/")[0].partition("?")[0].partition("#")[0]
    if any(letter.isalnum() and letter.isascii() for letter in authority.removeprefix(":443")):
        assert not claim.covers(url) or authority.startswith(":") or "@" in authority


@given(HOST, HOST)
def test_a_wildcard_covers_only_what_ends_in_its_suffix(claimed: str, host: str) -> None:
    claim = parse_claim(f"https://*.{claimed}/")
    assert claim.covers(parse_url(f"https://{host}/")) is host.endswith(f".{claimed}")
    assert claim.covers(parse_url(f"https://a.{claimed}/"))
    assert not claim.covers(parse_url(f"https://{claimed}/"))


@given(st.lists(st.text("ab/.%2eF", max_size=4), max_size=6).map("/".join))
def test_no_path_climbs_out_of_its_claim(path: str) -> None:
    claim = parse_claim("https://x.test/v1")
    url = parse_url(f"https://x.test/v1/{path}")
    if claim.covers(url):
        assert url.path == "/v1" or url.path.startswith("/v1/")
        assert "/../" not in f"{url.path}/"


@pytest.mark.parametrize(
    ("word", "candidates", "found"),
    [
        ("rutes", ["url", "routes"], "routes"),
        ("ROUTES", ["url", "routes"], "routes"),
        ("xyz", ["url", "routes"], None),
        ("a", [], None),
    ],
)
def test_the_nearest_word(word: str, candidates: list[str], found: str | None) -> None:
    assert nearest(word, candidates) == found
    assert (f"Did you mean {found}?" if found else "Use one of: ") in did_you_mean(word, candidates)
