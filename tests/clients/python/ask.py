"""What each program beside this one does: ask for the URLs it is given, and print a line of JSON for each."""

import asyncio
import json
import sys


def each(get):
    """``get(url)`` returns status and body, or a coroutine of them."""
    for url in sys.argv[1:]:
        try:
            answer = get(url)
            status, body = asyncio.run(answer) if asyncio.iscoroutine(answer) else answer
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the client says
            line = {"error": f"{type(error).__name__}: {error}"}
        else:
            line = {"status": status, "body": body}
        print(json.dumps({"url": url, **line}), flush=True)
