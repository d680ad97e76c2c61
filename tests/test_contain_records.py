"""Records across a socket, and their meeting with the connections they announce."""

import asyncio

import pytest

from eve_mocks.contain.recent import Recent
from eve_mocks.proxy.arrivals import Arrivals
from eve_mocks.records import Process, Redirect, Refused, decode, encode

SOURCE = ("127.0.0.1", 40000)


def redirect(host="api.example", source=SOURCE):
    return Redirect(source, host, 443, Process(7, "node"))


@pytest.mark.parametrize(
    "record",
    [
        redirect(),
        Redirect(("::1", 40000), "2001:db8::9", 443, Process(7, "über node", "session-1")),
        Refused("udp", "203.0.113.9", 443, Process(7, "chrome", None), "no datagram leaves this machine"),
    ],
)
def test_a_record_survives_its_line(record):
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == record


def test_announced_before_it_arrives():
    async def meet():
        arrivals = Arrivals()
        arrivals.announce(redirect())
        assert await arrivals.meant(SOURCE) == redirect()

    asyncio.run(meet())


def test_arrived_before_it_is_announced():
    async def meet():
        arrivals = Arrivals()
        waiting = asyncio.ensure_future(arrivals.meant(SOURCE))
        await asyncio.sleep(0)
        arrivals.announce(redirect(source=("127.0.0.1", 40001)))
        arrivals.announce(redirect())
        assert await waiting == redirect()

    asyncio.run(meet())


def test_never_announced():
    async def meet():
        assert await Arrivals().meant(SOURCE, patience=0.01) is None

    asyncio.run(meet())


def test_a_port_used_again_has_its_announcements_in_order():
    async def meet():
        arrivals = Arrivals()
        arrivals.announce(redirect("first.example"))
        arrivals.announce(redirect("second.example"))
        assert [(await arrivals.meant(SOURCE)).host for _ in range(2)] == ["first.example", "second.example"]
        assert await arrivals.meant(SOURCE, patience=0.01) is None

    asyncio.run(meet())


def test_recent_drops_the_oldest():
    dropped = []
    recent = Recent(2, dropped=dropped.append)
    assert [recent.put(key, key.upper()) for key in "aba"] == [None, None, "A"]
    recent.put("c", "C")
    assert dropped == ["B"]
    assert [recent.get(key) for key in "abc"] == ["A", None, "C"]
    assert recent.take(lambda value: value == "C") == ["C"]
    assert recent.use("a", str.lower) == "a"
    assert recent.use("c", str.lower) is None
    assert recent.pop("a") == "A"
    assert len(recent) == 0
