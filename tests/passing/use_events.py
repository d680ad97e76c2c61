"""Server-sent events by httpx: the server sends the next one only when it was asked about the one before."""

import sys

import httpx

with httpx.Client(timeout=20) as client, client.stream("GET", f"https://{sys.argv[1]}/events") as answer:
    for line in answer.iter_lines():
        if line:
            print(line)
            httpx.get(f"https://{sys.argv[1]}/seen", timeout=20)
