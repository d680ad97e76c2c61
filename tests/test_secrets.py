"""A credential, wherever the documents say that it is found, reaches neither the run's folder nor the summary."""

from __future__ import annotations

import base64
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_calls import call

from eve_mocks import redact, render, report
from eve_mocks.calls import CallLog
from eve_mocks.secret_names import is_field, is_secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project


JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"
FORM_DATA = "multipart/form-data; boundary=b"

FIELDS = """
    aws_secret_access_key OPENAI_API_KEY x-api-key github_token new_password current_password user_password app_secret
    consumer_secret oauth_token accessKey auth_key encryption_key master_key pwd pass pin otp apiKey clientSecret
    idToken refresh_token authorization Cookie credentials password2 password_confirmation passphrase privateKey jwt
""".split()  # noqa: SIM905 - a word list reads better than a column of strings
OTHER_FIELDS = """
    nextPageToken next_page_token pageToken NextToken continuationToken keyword key key_id
    secretary secret_name public_key passed token_type expires_in author compass
""".split()  # noqa: SIM905
PARAMETERS = [
    *FIELDS,
    *("auth", "sid", "session", "sas", "sig", "key", "token", "PHPSESSID", "session_id", "X-Amz-Signature"),
]
HEADERS = """
    Authorization Proxy-Authorization Cookie Set-Cookie X-Api-Key X-Auth-Token Auth Authentication X-Session
    X-Session-Id X-Otp X-Vercel-Oidc-Token X-CSRF-Token X-XSRF-TOKEN X-Amz-Security-Token X-Hub-Signature-256
    Client-Secret
""".split()  # noqa: SIM905
OTHER_HEADERS = """
    Accept WWW-Authenticate Proxy-Authenticate Mcp-Session-Id X-Eve-Mocks-Session X-RateLimit-Remaining-Tokens
    Anthropic-RateLimit-Tokens-Reset Content-Type
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", FIELDS)
def test_names_of_fields_that_are_secret(name: str) -> None:
    assert is_field(name)


@pytest.mark.parametrize("name", OTHER_FIELDS)
def test_names_of_fields_that_only_sound_so(name: str) -> None:
    assert not is_field(name)


@pytest.mark.parametrize("name", [*PARAMETERS, *HEADERS])
def test_names_of_headers_and_parameters_that_are_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", [*OTHER_HEADERS, "keyword", "pageToken", "next_page_token", "code", "state", "design"])
def test_names_of_headers_and_parameters_that_only_sound_so(name: str) -> None:
    assert not is_secret(name)


# Where a secret stands. Each gives what a call has there.

type Place = Callable[[str, str], dict[str, Any]]


def _body(content: str, media_type: str = "") -> dict[str, Any]:
    pairs = (("content-type", media_type),) if media_type else ()
    return {"request_headers": pairs, "request_body": content.encode(), "request_bytes": len(content.encode())}


def _answer(content: str, media_type: str = "") -> dict[str, Any]:
    return {key.replace("request", "response"): value for key, value in _body(content, media_type).items()}


def _header(name: str, value: str) -> dict[str, Any]:
    return {"request_headers": (("Accept", "*/*"), (name, value)), "response_headers": ((name, value),)}


def _json(value: object) -> dict[str, Any]:
    return _body(json.dumps(value), JSON_TYPE) | _answer(json.dumps(value))


def _cut(value: object) -> dict[str, Any]:
    return _answer(json.dumps({"first": value, "rest": "x" * redact.BODY_LIMIT}), JSON_TYPE)


IN_FIELDS: dict[str, Place] = {
    "a member": lambda name, secret: _json({"a": [{name: secret}]}),
    "a list": lambda name, secret: _json({name: ["a", [secret]]}),
    "an object": lambda name, secret: _json({name: {"value": secret, "type": "opaque"}}),
    "a name and a value": lambda name, secret: _json([{"name": name, "value": secret}]),
    "a list of pairs": lambda name, secret: _json({"headers": [["accept", "*/*"], [name, secret]]}),
    "JSON in JSON": lambda name, secret: _json({"arguments": json.dumps({"q": json.dumps({name: [secret]})})}),
    "JSON that is cut": lambda name, secret: _cut({name: secret}),
    "a list that is cut": lambda name, secret: _cut({name: [{"x": "]"}, secret]}),
    "an object that is cut": lambda name, secret: _cut({name: {"a": {"b": "}"}, "c": secret}}),
    "JSON in JSON that is cut": lambda name, secret: _cut(json.dumps({name: ["a", secret], "b": 1})),
    "NaN beside it": lambda name, secret: _body(f'{{"a": NaN, "{name}": "{secret}"}}', JSON_TYPE),
    "single quotes": lambda name, secret: _body(f"{{'{name}': '{secret}'}}", "text/plain"),
    "a Python object": lambda name, secret: _answer(repr({"it's": {name: f"{secret}'"}}), "text/plain"),
    "an event": lambda name, secret: _answer(f'data: {{"{name}": "{secret}"}}\n\n', "text/event-stream"),
    "a form": lambda name, secret: _body(f"a=b&{name}={secret}&c=d", FORM_TYPE),
    "a form without a type": lambda name, secret: _body(f"{name}={secret}&c=d"),
    "a form as text": lambda name, secret: _body(f"a=b&{name}={secret}", "text/plain"),
    "a part": lambda name, secret: _body(
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{secret}\r\n--b--\r\n', FORM_DATA
    ),
    "a part that is a file": lambda name, secret: _body(
        f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="x"\r\n'
        f"Content-Type: text/plain\r\n\r\n{secret}\r\n--b--\r\n",
        FORM_DATA,
    ),
    "a line": lambda name, secret: _answer(f"user: me\n{name}: {secret}\r\nhost: a\n", "text/yaml"),
    "an assignment": lambda name, secret: _answer(f"# settings\nexport {name}={secret}\n", "text/plain"),
    "an assignment in quotes": lambda name, secret: _answer(f'{name} = "{secret} x{secret}"\n', "text/plain"),
    "a connection string": lambda name, secret: _json({"dsn": f"Server=db;User=me;{name}={secret};Pool=5"}),
    "an element": lambda name, secret: _body(f"<a><{name}>{secret}</{name}></a>", "application/xml"),
    "an element with a namespace": lambda name, secret: _body(f'<s:{name} a="b">\n {secret}\n</s:{name}>', "text/xml"),
    "CDATA": lambda name, secret: _body(f"<{name}><![CDATA[<{secret}>]]></{name}>", "text/xml"),
    "an attribute": lambda name, secret: _body(f'<login {name}="{secret}"/>', "text/xml"),
    "an input": lambda name, secret: _answer(f'<input name="{name}" type=hidden value="{secret}">', "text/html"),
    "Latin-1": lambda name, secret: {
        "request_headers": (("content-type", f"{FORM_TYPE}; charset=iso-8859-1"),),
        "request_body": f"city=Zürich&{name}={secret}".encode("latin-1"),
    },
    "UTF-16": lambda name, secret: {
        "request_headers": (("content-type", JSON_TYPE),),
        "request_body": json.dumps({name: secret}).encode("utf-16"),
    },
}
IN_PARAMETERS: dict[str, Place] = {
    "a query": lambda name, secret: {"url": f"https://a.test/?a=b&{quote(name)}={secret}&c=d"},
    "a Referer": lambda name, secret: _header("Referer", f"https://a.test/?{name}={secret}"),
    "a fragment": lambda name, secret: _header("Location", f"https://a.test/#a=b&{name}={secret}"),
    "a Link": lambda name, secret: _header("Link", f'<https://a.test/?page=2&{name}={secret}>; rel="next"'),
    "a URL in JSON": lambda name, secret: _json({"next": f"https://a.test/?{name}={secret}"}),
    "a path in an error": lambda name, secret: {"error": f"GET /x?{name}={secret} failed"},
    "a path parameter": lambda name, secret: {"operation": f"GET /x;{name}={secret}"},
    "a form": lambda name, secret: _body(f"a=b&{name}={secret}", FORM_TYPE),
}
IN_HEADERS: dict[str, Place] = {
    "a header": _header,
    "a header with a scheme": lambda name, secret: _header(name, f"Bearer {secret}"),
}
ELSEWHERE: dict[str, Place] = {
    "a line of headers": lambda _, secret: _answer(f"Authorization: Bearer {secret}\nAccept: */*", "text/plain"),
    "a line with quotes": lambda _, secret: _answer(f'Authorization: Digest username="me", response="{secret}"'),
    "an assigned header": lambda _, secret: _answer(f"Accept=*/*; Authorization=Bearer {secret}", "text/plain"),
    "a line of cookies": lambda _, secret: _answer(f"Cookie: a=b; c={secret}\nAccept: */*", "text/plain"),
    "a command in JSON": lambda _, secret: _json({"cmd": f"curl -H 'Authorization: Bearer {secret}' https://a.test"}),
    "Bearer in a sentence": lambda _, secret: _json({"a": f"I sent Bearer {secret} to it."}),
    "Basic in a sentence": lambda _, secret: _json(f"Basic {base64.b64encode(f'me:{secret}'.encode()).decode()}"),
    "a subprotocol": lambda _, secret: _header("Sec-WebSocket-Protocol", f"realtime, openai-insecure-api-key.{secret}"),
    "subprotocols": lambda _, secret: _header("Sec-WebSocket-Protocol", f"bearer, {secret}"),
    "a user in Host": lambda _, secret: _header("Host", f"me:{secret}@a.test"),
    "no host in Host": lambda _, secret: _header("Host", f"{secret} a.test"),
    "no session's id": lambda _, secret: _header("x-eve-mocks-session", f"a/{secret}"),
    "a user in a URL": lambda _, secret: _json({"url": f"postgres://me:{secret}@db.test/x"}),
    "a scheme in another header": lambda _, secret: _header("x-eve-mocks-session", f"Bearer {secret}"),
    "a code where OAuth went": lambda _, secret: _header("Location", f"/callback?code={secret}"),
    "a code where OAuth came from": lambda _, secret: _header("Referer", f"https://a.test/cb?code={secret}"),
    "a code beside a state": lambda _, secret: {"url": f"https://a.test/cb?code={secret}&state=1"},
    "a code in a token request": lambda _, secret: _body(f"grant_type=authorization_code&code={secret}", FORM_TYPE),
    "a code in JSON": lambda _, secret: _json({"grant_type": "authorization_code", "code": secret}),
    "a code in an answer by form": lambda _, secret: _body(f"code={secret}&state=1", FORM_TYPE),
}
PLACES = [
    *((place, FIELDS, put) for place, put in IN_FIELDS.items()),
    *((place, PARAMETERS, put) for place, put in IN_PARAMETERS.items()),
    *((place, HEADERS, put) for place, put in IN_HEADERS.items()),
    *((place, ["-"], put) for place, put in ELSEWHERE.items()),
]
# Beginnings that no other text of a line has; a digit, so that it is not a word of prose.
SECRETS = st.from_regex(
    r"Zq7[A-Za-z0-9_.~-]{5,40}[A-Za-z0-9]", fullmatch=True, alphabet=st.characters(max_codepoint=126)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


def kept(folder: Path, changes: dict[str, Any]) -> str:
    """All that is kept and shown of a run with one such call, which was answered, blocked and met a broken mock."""
    log_file = folder / "calls.jsonl"
    log_file.unlink(missing_ok=True)
    tally = report.Tally()
    log = CallLog(log_file, tally)
    for outcome in ("mocked", "blocked", "error"):
        log(call(**{"outcome": outcome, "error": changes.get("operation")} | changes))
    log.close()
    begun = report.begin(command=["x"], started_at="now", not_contained="y", mocks=[], log="calls.jsonl")
    ended = report.end(report.with_calls(begun, tally.as_json()), child_exit=0, duration_ms=1, fail_on_block="all")
    summary = render.summary(ended, shown="report.json", colour=False)
    return "\n".join((log_file.read_text(), json.dumps(ended), summary))


@pytest.mark.parametrize(("names", "put"), [place[1:] for place in PLACES], ids=[place[0] for place in PLACES])
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_no_secret_is_kept(folder: Path, names: list[str], put: Place, data: st.DataObject) -> None:
    secret = data.draw(SECRETS)
    shown = kept(folder, put(data.draw(st.sampled_from(names)), secret))
    assert secret not in shown
    assert base64.b64encode(secret.encode()).decode()[:8] not in shown
    for line in shown.splitlines()[:3]:
        json.loads(line)


SECRET = "Zq7hunter2-Zq7hunter2"
CLIENT = Path(__file__).parent / "clients" / "leaky_client.py"


@pytest.mark.parametrize("allowed", [False, True], ids=["mocked", "beside an allowed path"])
def test_what_is_broken_is_not_quoted(project: Project, allowed: bool) -> None:
    project.file(
        "mocks/pay.py",
        """
        from eve_mocks import http_mock

        pay = http_mock("https://api.pay.test/v1")

        @pay.get("/x")
        def get(request):
            return {"headers": list(request.headers.pairs)}

        @pay.post("/x")
        def post(request):
            return {"got": request.json() and "it"}
        """,
    )
    if allowed:
        project.file("mocks/other.yaml", "{kind: allow, url: 'https://api.pay.test/other', why: it is another lane}")
    shutil.copy(CLIENT, project.root)
    (project.root / "client.sh").write_text(f"exec {sys.executable} {CLIENT.name} {SECRET}")
    run = project.eve_mocks("run", "--fail-on-block", "none", "--", "sh", "client.sh")
    assert run.returncode == 0, run.stderr
    assert len(project.calls()) > 30
    assert SECRET not in run.stderr
    files = [path for path in (project.root / ".eve-mocks").rglob("*") if path.is_file()]
    assert {"calls.jsonl", "report.json"} <= {path.name for path in files}
    for path in files:
        text = path.read_text()
        assert SECRET not in text, [line for line in text.splitlines() if SECRET in line][:3]
        assert base64.b64encode(SECRET.encode()).decode()[4:20] not in text
