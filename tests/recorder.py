"""Records every frame that arrives at a device: prints one line for each line it reads, the frames since the last.

A frame is told as ``tcp 203.0.113.9:443``, or by the number of its protocol.

The kernel's own IPv6 housekeeping (neighbour discovery, multicast membership) is left out.
"""

import json
import socket
import struct
import sys

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6, IPPROTO_ICMPV6 = 3, 0x0800, 0x86DD, 58
WITH_PORTS = {6: "tcp", 17: "udp"}
HOUSEKEEPING = {*range(130, 138), 143}


def describe(frame: bytes) -> str | None:
    (kind,) = struct.unpack_from("!H", frame, 12)
    if kind == ETH_P_IP:
        return target(frame[23], socket.inet_ntoa(frame[30:34]), frame[14 + 4 * (frame[14] & 15) :])
    if kind == ETH_P_IPV6:
        header, icmp = frame[20], 54
        if header == 0:  # hop-by-hop options, as membership reports have
            header, icmp = frame[54], 62
        if header == IPPROTO_ICMPV6 and frame[icmp] in HOUSEKEEPING:
            return None
        return target(header, f"[{socket.inet_ntop(socket.AF_INET6, frame[38:54])}]", frame[icmp:])
    return f"ethernet {kind:#06x}"


def target(protocol: int, host: str, data: bytes) -> str:
    if protocol in WITH_PORTS:
        return f"{WITH_PORTS[protocol]} {host}:{int.from_bytes(data[2:4])}"
    return f"protocol {protocol} {host}"


def main() -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as device:
        device.bind((sys.argv[1], ETH_P_ALL))
        device.setblocking(False)
        for _ in sys.stdin:
            frames = []
            while True:
                try:
                    frame, source = device.recvfrom(2048)
                except BlockingIOError:
                    break
                if source[2] != socket.PACKET_OUTGOING and (found := describe(frame)):
                    frames.append(found)
            print(json.dumps(frames), flush=True)


if __name__ == "__main__":
    main()
