"""aiohttp as most use it: without ``trust_env`` it reads no proxy variables."""

import aiohttp
from ask import each


async def get(url):
    timeout = aiohttp.ClientTimeout(total=10)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
        return response.status, await response.text()


each(get)
