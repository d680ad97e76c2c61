"""Kind ``oauth``, in a mock file: a whole authorization server (contract, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.declared import Declared
from eve_mocks.document import Document
from eve_mocks.errors import Collecting, MockError, as_written
from eve_mocks.kinds.oauth.clients import Client, Clients
from eve_mocks.kinds.oauth.mock import ENDPOINTS, PROTECTED, OAuth, guard, protected
from eve_mocks.kinds.oauth.server import Rules, Server
from eve_mocks.match import parse_claim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eve_mocks.folder import Folder
    from eve_mocks.response import Json

KEYS = ("kind", "url", "clients", "scopes", "expires_in", "subject", "claims", "denies", "endpoints")
CLIENT_KEYS = ("secret", "redirect_uris")
__all__ = ["KEYS", "PROTECTED", "OAuth", "from_document", "guard", "oauth_mock", "of_origin", "protected"]


def from_document(name: str, document: Document) -> OAuth:
    """The mock of a YAML or JSON file. Raises ``MockError``, or ``Mistakes``."""
    mistakes = Collecting()
    with mistakes:
        document.mapping(KEYS)
    if "url" in document or not mistakes.errors:  # else it may be the key that is misspelt
        with mistakes:
            _url(document)
    clients: dict[str, Client] | None = None
    if "clients" in document:
        with mistakes:
            clients = _clients(document.part("clients"))
    rules: dict[str, Any] = {}
    for key, read in _RULES.items():
        if key in document:
            with mistakes:
                rules[key] = read(document.part(key))
    paths: dict[str, str] = {}
    if "endpoints" in document:
        with mistakes:
            paths = _paths(document.part("endpoints"))
    mistakes.tell()
    url = document.value["url"]
    return OAuth(
        name=name,
        claim=parse_claim(url),
        url=url,
        file=document.file,
        line=document.line_of("url"),
        server=Server(url.rstrip("/"), Clients(clients), Rules(**rules)),
        paths=paths,
    )


def of_origin(name: str, url: str, *, file: str, line: int | None) -> OAuth:
    """The server that a resource has where it names none: it signs everybody in, at the resource's own origin."""
    server = Server(url.rstrip("/"), Clients(None), Rules())
    claim = parse_claim(url)
    return OAuth(name=name, claim=claim, url=url, file=file, line=line, server=server, paths={}, is_beside=True)


def _url(document: Document) -> None:
    url = document.required("url", why="it is the issuer of the tokens", example="https://auth.example.com/")
    with url.placing():
        if parse_claim(url.value).wildcard:
            raise MockError(
                f"the url {url.value} has a wildcard",
                why="it is the issuer of the tokens, and that is one URL",
                fix="Write for example url: https://auth.example.com/",
            )


def _clients(clients: Document) -> dict[str, Client]:
    clients.mapping(example="clients: {my-app: {secret: s3cret}}")
    mistakes = Collecting()
    found: dict[str, Client] = {}
    for id_, part in clients.parts():
        with mistakes:
            given = {} if part.value is None else part.mapping(CLIENT_KEYS, example="my-app: {secret: s3cret}")
            uris: tuple[str, ...] = ()
            if "redirect_uris" in part:
                part.part("redirect_uris").sequence(example="redirect_uris: [http://localhost:3000/callback]")
                uris = tuple(one.text(example="http://localhost/") for _, one in part.part("redirect_uris").parts())
            secret = part.part("secret").text(example="secret: s3cret") if "secret" in given else None
            found[id_] = Client(id=id_, secret=secret, redirect_uris=uris)
    mistakes.tell()
    return found


def _paths(endpoints: Document) -> dict[str, str]:
    endpoints.mapping(tuple(ENDPOINTS), example="endpoints: {token: /oauth2/token}")
    for _, part in endpoints.parts():
        if not part.text(example="token: /oauth2/token").startswith("/"):
            raise part.error(
                f"{part.label} is {as_written(part.value)}",
                why="it is a path, relative to the url",
                fix="Begin it with a slash.",
            )
    return dict(endpoints.value)


def _scopes(part: Document) -> tuple[str, ...]:
    part.sequence(example="scopes: [read, write]")
    return tuple(one.text(example="read") for _, one in part.parts())


def _expires_in(part: Document) -> int:
    value = part.value
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise part.error(
            f"expires_in is {as_written(value)}",
            why="it is how many seconds a token may be used; 0 for not at all",
            fix="Write for example expires_in: 3600",
        )
    return value


_RULES = {
    "scopes": _scopes,
    "expires_in": _expires_in,
    "subject": lambda part: part.text(example="subject: user-1"),
    "claims": lambda part: dict(part.mapping(example="claims: {email: ada@example.com}")),
    "denies": Document.boolean,
}


class OAuthMock(Declared):
    """What ``oauth_mock`` gives to a Python file."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__()
        parse_claim(given["url"])
        self._given = {key: value for key, value in given.items() if value is not None}

    def named(self, name: str, folder: Folder) -> OAuth:
        document = Document.from_python(self._given, file=folder.show(self.file), line=self.line, folder=folder)
        return from_document(name, document)


def oauth_mock(
    url: str,
    *,
    clients: Mapping[str, Mapping[str, Json] | None] | None = None,
    scopes: Sequence[str] | None = None,
    expires_in: int | None = None,
    subject: str | None = None,
    claims: Mapping[str, Json] | None = None,
    denies: bool | None = None,
    endpoints: Mapping[str, str] | None = None,
) -> OAuthMock:
    """Mock an authorization server whose issuer is ``url``.

    ``clients`` are those that it knows, by id; without them it takes any. ``expires_in`` is in seconds. ``claims`` are
    told of whoever signs in, whose id is ``subject``. Raises ``MockError`` for a url that cannot be claimed.
    """
    given: dict[str, Any] = {"url": url, "expires_in": expires_in, "subject": subject, "denies": denies}
    given |= {"clients": None if clients is None else dict(clients), "scopes": None if scopes is None else list(scopes)}
    given |= {"claims": None if claims is None else dict(claims), "endpoints": endpoints}
    return OAuthMock(given)
