"""The standard library's client."""

import urllib.request

from ask import each


def get(url):
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.status, response.read().decode()


each(get)
