"""Records go out in order, and whoever hands one in does not wait for the other end."""

import socket

import pytest

from eve_mocks.outbox import Outbox


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def test_nobody_waits_for_an_end_that_is_busy(pair):
    ours, theirs = pair
    outbox = Outbox(ours)
    outbox.open()
    records = [b"%d" % number for number in range(10_000)]  # more than a socket holds
    for record in records:
        outbox.put(record)
    assert [theirs.recv(16) for _ in records] == records


def test_what_is_put_in_before_it_is_open_is_sent_then(pair):
    ours, theirs = pair
    outbox = Outbox(ours)
    outbox.put(b"early")
    outbox.open()
    outbox.flush(timeout=10)
    assert theirs.recv(16) == b"early"


def test_an_end_that_is_gone_takes_no_time(pair):
    ours, theirs = pair
    theirs.close()
    outbox = Outbox(ours)
    outbox.open()
    outbox.put(b"lost")
    outbox.flush(timeout=10)
    outbox.put(b"lost, too")
