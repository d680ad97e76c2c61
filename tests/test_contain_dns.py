"""The name server: answers, and what it makes of questions that are not."""

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.contain import dns
from eve_mocks.contain.responder import MOST_CONNECTIONS, Responder

A, NS, PTR, MX, TXT, AAAA, SRV, HTTPS, ANY = 1, 2, 12, 15, 16, 28, 33, 65, 255
OK, BAD_FORMAT, NO_SUCH_NAME, NOT_IMPLEMENTED = 0, 1, 3, 4


def query(name: str, kind: int = A, *, flags: int = 0x0100, klass: int = 1, extra: bytes = b"") -> bytes:
    labels = b"".join(bytes([len(label)]) + label for label in name.encode().split(b".") if label)
    return (
        struct.pack("!6H", 0x1234, flags, 1, 0, 0, 1 if extra else 0)
        + labels
        + b"\0"
        + struct.pack("!2H", kind, klass)
        + extra
    )


def read(response: bytes) -> tuple[int, list[tuple[int, bytes]]]:
    """Code and records of a response to a query of one question."""
    number, flags, questions, answers, *_ = struct.unpack_from("!6H", response)
    assert (number, questions) == (0x1234, 1)
    assert flags & 0x8180 == 0x8180
    place = response.index(b"\0", 12) + 5
    records = []
    for _ in range(answers):
        pointer, kind, klass, ttl, length = struct.unpack_from("!3HIH", response, place)
        assert (pointer, klass, ttl) == (0xC00C, 1, 1)
        records.append((kind, response[place + 12 : place + 12 + length]))
        place += 12 + length
    assert place == len(response)
    return flags & 15, records


def ask(names, name, kind=A, **how):
    return read(dns.answer(query(name, kind, **how), names))


FIRST = socket.inet_aton("198.18.0.1")
V4, V6 = socket.inet_aton("127.0.0.1"), socket.inet_pton(socket.AF_INET6, "::1")


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("api.example.com", A, (OK, [(A, FIRST)])),
        ("nowhere.invalid", A, (OK, [(A, FIRST)])),
        ("single", A, (OK, [(A, FIRST)])),
        ("_service._tcp.example.com", A, (OK, [(A, FIRST)])),
        ("api.example.com", ANY, (OK, [(A, FIRST)])),
        ("api.example.com", AAAA, (OK, [])),
        ("api.example.com", HTTPS, (OK, [])),
        ("_grpclb._tcp.example.com", SRV, (OK, [])),
        ("example.com", MX, (OK, [])),
        ("example.com", TXT, (OK, [])),
        ("", A, (OK, [])),
        ("", NS, (OK, [])),
        ("localhost", A, (OK, [(A, V4)])),
        ("localhost", AAAA, (OK, [(AAAA, V6)])),
        ("app.localhost", A, (OK, [(A, V4)])),
        ("APP.LocalHost", AAAA, (OK, [(AAAA, V6)])),
        ("1.0.0.127.in-addr.arpa", PTR, (OK, [(PTR, b"\x09localhost\0")])),
        ("8.8.8.8.in-addr.arpa", PTR, (NO_SUCH_NAME, [])),
        ("1.0.18.198.in-addr.arpa", PTR, (NO_SUCH_NAME, [])),
    ],
)
def test_answer(name, kind, expected):
    assert ask(dns.Names(), name, kind) == expected


def test_a_name_keeps_its_address_whatever_its_case():
    names = dns.Names()
    first, second = ask(names, "API.Example.com"), ask(names, "other.example.com")
    assert ask(names, "api.example.COM") == first != second
    address = socket.inet_ntoa(first[1][0][1])
    assert names.name(address) == "api.example.com"
    pointer = ".".join(reversed(address.split("."))) + ".in-addr.arpa"
    assert ask(names, pointer, PTR) == (OK, [(PTR, b"\x03api\x07example\x03com\0")])


def test_the_question_is_echoed_with_its_case():
    assert b"\x03ApI\x07eXample\0" in dns.answer(query("ApI.eXample"), dns.Names())


def test_an_option_record_is_passed_over():
    option = b"\0" + struct.pack("!2HIH", 41, 4096, 0, 0)
    assert ask(dns.Names(), "api.example.com", extra=option) == (OK, [(A, FIRST)])


def test_addresses_are_bounded_and_the_least_asked_name_makes_room():
    names = dns.Names(size=2)
    one, two = names.address("one"), names.address("two")
    assert names.address("one") == one
    assert names.address("three") == two
    assert names.name(two) == "three"
    assert names.address("two") == one


def test_all_addresses_are_of_the_benchmark_range():
    names = dns.Names()
    addresses = {names.address(f"{number}.example") for number in range(65536)}
    assert len(addresses) == 65536
    assert all(address.startswith(("198.18.", "198.19.")) for address in addresses)


@pytest.mark.parametrize(
    "message",
    [b"", b"\x12\x34", query("x")[:11], query("api.example.com", flags=0x8180)],
    ids=["empty", "id only", "short header", "a response"],
)
def test_what_is_no_question_gets_no_answer(message):
    assert dns.answer(message, dns.Names()) is None


HEADER = struct.pack("!6H", 0x1234, 0x0100, 1, 0, 0, 0)


@pytest.mark.parametrize(
    "message",
    [
        HEADER,
        HEADER + b"\x03api",
        HEADER + b"\x3fshort\0" + b"\0\1\0\1",
        HEADER + b"\xc0\x0c" + b"\0\1\0\1",
        HEADER + b"\x03api\0\0\1\0",
        HEADER + b"\x01a" * 130 + b"\0\0\1\0\1",
        struct.pack("!6H", 0x1234, 0x0100, 0, 0, 0, 0),
        struct.pack("!6H", 0x1234, 0x0100, 2, 0, 0, 0) + query("x")[12:] * 2,
    ],
    ids=["nothing", "no end", "long label", "pointer", "no class", "long name", "no question", "two questions"],
)
def test_a_malformed_question_is_told_so(message):
    assert dns.answer(message, dns.Names()) == struct.pack("!6H", 0x1234, 0x8180 | BAD_FORMAT, 0, 0, 0, 0)


def test_an_update_is_not_implemented():
    response = dns.answer(query("example.com", flags=5 << 11), dns.Names())
    assert struct.unpack_from("!6H", response)[1] == 0x8000 | 5 << 11 | 0x80 | NOT_IMPLEMENTED


@given(st.binary(max_size=600))
def test_any_bytes_are_survived(message):
    response = dns.answer(message, dns.Names(size=4))
    assert response is None or response[:2] == message[:2]


KUBERNETES = (
    "search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"
)


@pytest.mark.parametrize(
    ("text", "suffixes"),
    [
        (KUBERNETES, ("default.svc.cluster.local", "svc.cluster.local", "cluster.local")),
        ("search corp.example.com\nnameserver 10.0.0.2\n", ()),
        ("options ndots:2 timeout:1\ndomain corp.example.com.\n", ("corp.example.com",)),
        ("options ndots:x\nsearch a b\n", ()),
        ("", ()),
    ],
)
def test_search_domains_matter_where_names_with_dots_are_extended(text, suffixes):
    assert dns.search_suffixes(text) == suffixes


@pytest.mark.parametrize(
    ("name", "exists"),
    [
        ("api.linear.app.default.svc.cluster.local", False),
        ("api.linear.app.cluster.local", False),
        ("api.linear.app", True),
        ("db.default.svc.cluster.local", True),
        ("db.svc.cluster.local", True),
    ],
)
def test_a_name_that_a_search_list_made_does_not_exist(name, exists):
    code, _ = read(dns.answer(query(name), dns.Names(), dns.search_suffixes(KUBERNETES)))
    assert code == (OK if exists else NO_SUCH_NAME)


@pytest.fixture
def responder():
    responder = Responder()
    responder.start()
    yield responder
    responder.close()


FAMILIES = pytest.mark.parametrize("only_v6", [False, True], ids=["IPv4", "IPv6"])


@FAMILIES
def test_it_answers_over_udp(responder, only_v6):
    with socket.socket(socket.AF_INET6 if only_v6 else socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        client.connect(responder.address(socket.SOCK_DGRAM, only_v6=only_v6))
        client.send(b"x")
        client.send(query("api.example.com"))
        assert read(client.recv(512)) == (OK, [(A, FIRST)])


@FAMILIES
def test_it_answers_several_questions_of_one_connection(responder, only_v6):
    with socket.create_connection(responder.address(socket.SOCK_STREAM, only_v6=only_v6), 5) as client:
        messages = [query("one"), query("two", AAAA)]
        wire = b"".join(len(message).to_bytes(2) + message for message in messages)
        client.sendall(wire[:7])
        client.sendall(wire[7:])
        with client.makefile("rb") as stream:
            answers = [read(stream.read(int.from_bytes(stream.read(2)))) for _ in messages]
    assert answers == [(OK, [(A, FIRST)]), (OK, [])]


def test_too_many_connections_close_the_oldest(responder):
    address = responder.address(socket.SOCK_STREAM, only_v6=False)
    clients = [socket.create_connection(address, 5) for _ in range(MOST_CONNECTIONS + 1)]
    try:
        assert clients[0].recv(1) == b""
        message = query("api.example.com")
        clients[-1].sendall(len(message).to_bytes(2) + message)
        assert clients[-1].recv(2)
    finally:
        for client in clients:
            client.close()


def test_garbage_on_a_connection_ends_it_and_nothing_else(responder):
    address = responder.address(socket.SOCK_STREAM, only_v6=False)
    with socket.create_connection(address, 5) as client:
        client.sendall(b"\0\5hello")
        assert client.recv(1) == b""
    with socket.create_connection(address, 5) as client:
        message = query("api.example.com")
        client.sendall(len(message).to_bytes(2) + message)
        assert client.recv(2)
