"""httpx, on httpcore."""

import httpx
from ask import each


def get(url):
    response = httpx.get(url, timeout=10)
    return response.status_code, response.text


each(get)
