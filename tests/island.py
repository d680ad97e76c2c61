"""A machine without a way out: a network namespace in which whatever is sent elsewhere is seen, and arrives nowhere.

Programs run in it as they would anywhere. Its one name server and its default route lead to a wire with nobody at
its end, where a packet socket sees each look-up and each dial. ``HOSTS`` are the only names it knows.

Run as a program (by ``Island``, inside the namespaces), it lays the wire and answers each line of its input with
what was sent since the last one.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

# RFC 5737: addresses for documentation, nobody's.
UPSTREAM = "203.0.113.10"
NAME_SERVER = "203.0.113.53"
HOSTS = f"127.0.0.1 localhost\n{UPSTREAM} upstream.example.com\n"
ETH_P_IP, ETH_P_ALL = 0x0800, 0x0003  # linux/if_ether.h
_LAY = f"""
ip link set lo up
ip addr add {UPSTREAM}/32 dev lo
ip link add wire type veth peer name nobody
ip link set wire arp off up
ip link set nobody arp off up
ip addr add 192.0.2.1/32 dev wire
ip route add default dev wire
mount --bind {{folder}}/hosts /etc/hosts
mount --bind {{folder}}/resolv.conf /etc/resolv.conf
"""


class Island:
    """The namespaces, for as long as the context lasts."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            folder = Path(undo.enter_context(tempfile.TemporaryDirectory()))
            (folder / "hosts").write_text(HOSTS)
            (folder / "resolv.conf").write_text(f"nameserver {NAME_SERVER}\noptions timeout:1 attempts:1\n")
            self._holder = undo.enter_context(
                subprocess.Popen(
                    ["unshare", "--net", "--mount", sys.executable, __file__, str(folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            undo.callback(self._holder.stdin.close)
            self.sent()
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def prefix(self, folder: Path) -> list[str]:
        """What is put before a command to run it here, with the folder as its working directory."""
        # nsenter leaves its own working directory behind when it enters a mount namespace
        return ["nsenter", "--net", "--mount", f"--target={self._holder.pid}", "--", "env", f"--chdir={folder}"]

    def sent(self) -> list[str]:
        """What was sent to other machines since the last call, as ``udp 203.0.113.53:53``."""
        self._holder.stdin.write("\n")
        self._holder.stdin.flush()
        line = self._holder.stdout.readline()
        assert line, "the island could not be made: see its stderr"
        found: list[str] = json.loads(line)
        return found


def destination(packet: bytes) -> str:
    """Protocol, address and port of an IPv4 packet (RFC 791)."""
    protocol = {6: "tcp", 17: "udp"}.get(packet[9], str(packet[9]))
    header = (packet[0] & 15) * 4
    port = int.from_bytes(packet[header + 2 : header + 4])
    return f"{protocol} {ipaddress.ip_address(packet[16:20])}:{port}"


def main(folder: str) -> None:
    for line in _LAY.format(folder=folder).strip().splitlines():
        subprocess.run(line.split(), check=True)
    # packet(7): only a socket for all protocols sees what goes out
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as wire:
        wire.bind(("wire", ETH_P_ALL))
        wire.setblocking(False)
        for _ in sys.stdin:
            seen = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    packet, (_, protocol, *_) = wire.recvfrom(65535)
                    if protocol == ETH_P_IP:
                        seen.append(destination(packet))
            print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
