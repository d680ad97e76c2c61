"""Protocols in which the client waits for the server's greeting, by the port that they have at IANA.

Nothing tells what is wanted on such a connection, so only its port can judge it. On the ports of their TLS variants
(465, 993, 995) the client speaks first.
"""

SERVER_FIRST = {
    21: "FTP",
    22: "SSH",
    23: "Telnet",
    25: "SMTP",
    110: "POP3",
    119: "NNTP",
    143: "IMAP",
    587: "SMTP",
    3306: "MySQL",
    4190: "ManageSieve",
    5900: "VNC",
}
