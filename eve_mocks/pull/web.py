"""HTTP as ``pull`` speaks it: through the caller's own proxy, with what is trusted there, within limits.

What an upstream does wrong is told as a ``MockError`` that names its URL, without the credentials in it.
"""

from __future__ import annotations

import contextlib
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx2

from eve_mocks import secret_urls
from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from eve_mocks.pull.limits import Limits

_SIGN_IN = 'Give a token: eve-mocks pull NAME --header "Authorization: Bearer …"'
_UNITS = 1024 * 1024


class TooMuch(httpx2.TransportError):
    """More was sent than is kept."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, left: int) -> None:
        self._stream = stream
        self._left = left

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._left -= len(part)
            if self._left < 0:
                raise TooMuch("too much")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def client(
    headers: Sequence[tuple[str, str]], limits: Limits, *, auth: httpx2.Auth | None = None, encoded: bool = False
) -> httpx2.AsyncClient:
    """A client whose answers are bounded. ``encoded``: whether whoever reads them bounds what they decode to."""

    async def bound(response: httpx2.Response) -> None:
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(stream, limits.size)
        if not encoded and response.headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx2.DecodingError("it is compressed, and that was not asked for", request=response.request)

    trusted = httpx2.create_ssl_context()
    trusted.verify_flags &= ~ssl.VERIFY_X509_STRICT  # which authorities of companies seldom meet, and curl does not ask
    return httpx2.AsyncClient(
        verify=trusted,
        headers=[*(() if encoded else (("accept-encoding", "identity"),)), *headers],
        auth=auth,
        timeout=httpx2.Timeout(limits.silence, connect=limits.connect),
        event_hooks={"response": [bound]},
    )


async def download(
    url: str, *, headers: Sequence[tuple[str, str]], limits: Limits, accept: str
) -> tuple[bytes, str, str]:
    """The content of a document, its media type, and the URL where it was found. Raises ``MockError``."""
    with telling(url, limits):
        async with client((), limits, encoded=True) as http:
            place, given = url, [("accept", accept), *headers]
            for _ in range(limits.redirects + 1):
                async with http.stream("GET", place, headers=given) as response:
                    if response.has_redirect_location:
                        after = urljoin(place, response.headers["location"])
                        if httpx2.URL(after).scheme != "https" and httpx2.URL(place).scheme == "https":
                            raise redirected(url, after)
                        if _origin(after) != _origin(place):  # what was given is meant for the one server alone
                            given = [("accept", accept)]
                        place = after
                        continue
                    check_status(url, response)
                    parts, size = [], 0
                    async for part in response.aiter_bytes():
                        size += len(part)
                        if size > limits.size:
                            raise TooMuch("too much")
                        parts.append(part)
                    return b"".join(parts), response.headers.get("content-type", ""), place
            raise failed(url, f"redirects more than {limits.redirects} times", fix="Write where it ends.")
    raise AssertionError  # telling() raises


def _origin(url: str) -> tuple[str, str, int | None]:
    parsed = httpx2.URL(url)
    return parsed.scheme, parsed.host, parsed.port


@contextlib.contextmanager
def telling(url: str, limits: Limits) -> Iterator[None]:
    """What goes wrong in the block with an upstream, as a ``MockError``."""
    try:
        yield
    except TooMuch as error:
        raise failed(
            url,
            f"sends more than {limits.size // _UNITS} MiB",
            fix="Check that this is the URL of a description, or keep a smaller one in the mocks folder.",
        ) from error
    except (httpx2.TimeoutException, TimeoutError) as error:
        raise failed(url, f"did not answer within {_waited(error, limits):g} s", fix="Try again later.") from error
    except httpx2.HTTPStatusError as error:
        check_status(url, error.response)
        raise
    except httpx2.DecodingError as error:
        raise failed(url, f"cannot be read: {error}", fix="Try again, or keep the description by hand.") from error
    except (httpx2.TransportError, httpx2.InvalidURL, OSError) as error:
        raise failed(
            url,
            f"cannot be reached: {str(error) or type(error).__name__}",
            fix="Check the URL, the network, and HTTPS_PROXY and SSL_CERT_FILE where they are needed.",
        ) from error


def _waited(error: BaseException, limits: Limits) -> float:
    if isinstance(error, httpx2.ConnectTimeout):
        return limits.connect
    return limits.silence if isinstance(error, httpx2.TimeoutException) else limits.whole


def check_status(url: str, response: httpx2.Response) -> None:
    """Raises ``MockError`` for a status that brings no document."""
    status = response.status_code
    if response.is_success:
        return
    if response.has_redirect_location:
        raise redirected(url, urljoin(str(response.request.url), response.headers["location"]))
    if status in (401, 403):
        raise failed(url, f"answers {status}: it wants to know who asks", fix=_SIGN_IN)
    raise failed(
        url,
        f"answers {status} {response.reason_phrase}".rstrip(),
        fix="Try again later." if status >= 500 else "Check the URL.",
    )


def redirected(url: str, location: str) -> MockError:
    shown = secret_urls.url(location, with_code=True)
    return failed(url, f"redirects to {shown}", fix="Write that URL, if it is right.")


def failed(url: str, what: str, *, fix: str) -> MockError:
    return MockError(
        f"{secret_urls.url(url)} {what}", why="pull asks it for its own description, and got none", fix=fix
    )
