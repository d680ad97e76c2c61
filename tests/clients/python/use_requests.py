"""requests, on urllib3."""

import requests
from ask import each


def get(url):
    response = requests.get(url, timeout=10)
    return response.status_code, response.text


each(get)
