"""Socket addresses as the kernel reads them."""

import socket
import struct

import pytest

from eve_mocks.contain.address import Internet, internet, is_name_service


def v4(host, port, family=socket.AF_INET):
    return struct.pack("=H", family) + struct.pack("!H4s8x", port, socket.inet_aton(host))


def v6(host, port):
    address = socket.inet_pton(socket.AF_INET6, host)
    return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI16sI", port, 0, address, 0)


def unix(path):
    return struct.pack("=H", socket.AF_UNIX) + path


@pytest.mark.parametrize(
    ("sockaddr", "expected"),
    [
        (v4("203.0.113.9", 443), Internet("203.0.113.9", 443)),
        (v4("203.0.113.9", 443)[:15], None),
        (v6("2001:db8::9", 443), Internet("2001:db8::9", 443)),
        (v6("2001:db8::9", 443)[:24], Internet("2001:db8::9", 443)),
        (v6("2001:db8::9", 443)[:23], None),
        (v6("::ffff:203.0.113.9", 443), Internet("203.0.113.9", 443)),
        (v4("203.0.113.9", 443, socket.AF_UNSPEC), None),
        (unix(b"/tmp/socket\0\0\0\0\0"), None),
        (b"", None),
        (b"\2", None),
    ],
)
def test_internet(sockaddr, expected):
    assert internet(sockaddr) == expected


def test_a_datagram_without_a_family_goes_to_an_ipv4_address():
    assert internet(v4("203.0.113.9", 9, socket.AF_UNSPEC), sending=True) == Internet("203.0.113.9", 9)


@pytest.mark.parametrize(
    ("sockaddr", "native"),
    [
        (v4("127.0.0.1", 80), True),
        (v4("127.9.9.9", 80), True),
        (v4("0.0.0.0", 80), True),
        (v6("::1", 80), True),
        (v6("::", 80), True),
        (v6("::ffff:127.0.0.1", 80), True),
        (v4("127.0.0.53", 53), False),
        (v6("::1", 53), False),
        (v4("128.0.0.1", 80), False),
        (v4("10.0.0.1", 80), False),
        (v4("198.18.0.1", 80), False),
        (v6("fe80::1", 80), False),
        (v6("::2", 80), False),
        (v6("::127.0.0.1", 80), False),
    ],
)
def test_native(sockaddr, native):
    assert internet(sockaddr).is_native is native


@pytest.mark.parametrize(
    ("sockaddr", "expected"),
    [
        (unix(b"/var/run/nscd/socket\0"), True),
        (unix(b"/run/nscd/socket"), True),
        (unix(b"/run/systemd/resolve/io.systemd.Resolve\0junk"), True),
        (unix(b"/run/avahi-daemon/socket\0"), True),
        (unix(b"/run/user/0/socket\0"), False),
        (unix(b"\0/nscd/socket"), False),
        (v4("203.0.113.9", 443), False),
        (b"", False),
    ],
)
def test_name_services(sockaddr, expected):
    assert is_name_service(sockaddr) is expected
