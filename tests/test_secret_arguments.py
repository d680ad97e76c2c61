"""What of a command line is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from eve_mocks import secret_arguments

if TYPE_CHECKING:
    from conftest import Project


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["curl", "-H", "Authorization: Bearer s3cr3t"], ["curl", "-H", "Authorization: [redacted]"]),
        (
            ["x", "--api-key=s3cr3t", "--api-key", "s3cr3t", "y"],
            ["x", "--api-key=[redacted]", "--api-key", "[redacted]", "y"],
        ),
        (["x", "--token", "--verbose"], ["x", "--token", "--verbose"]),
        (["env", "API_KEY=s3cr3t", "A=b"], ["env", "API_KEY=[redacted]", "A=b"]),
        (["curl", "https://me:s3cr3t@a.test/?token=s3cr3t"], ["curl", "https://[redacted]@a.test/?token=[redacted]"]),
        (["curl", "-d", '{"password":"s3cr3t"}'], ["curl", "-d", '{"password":"[redacted]"}']),
        (["curl", "-d", "user=me&password=s3cr3t"], ["curl", "-d", "user=me&password=[redacted]"]),
        (["curl", "--data=user=me&key=s3cr3t"], ["curl", "--data=user=me&key=[redacted]"]),
        (["curl", "-u", "me:s3cr3t", "x"], ["curl", "-u", "me:[redacted]", "x"]),
        (["curl", "-ume:s3cr3t"], ["curl", "-ume:[redacted]"]),
        (["curl", "--user", "me:s3cr3t"], ["curl", "--user", "me:[redacted]"]),
        (["curl", "--proxy-user=me:s3cr3t"], ["curl", "--proxy-user=me:[redacted]"]),
        (["http", "-a", "me:s3cr3t", "a.test"], ["http", "-a", "me:[redacted]", "a.test"]),
        (["curl", "-b", "sid=s3cr3t"], ["curl", "-b", "[redacted]"]),
        (["curl", "--oauth2-bearer", "s3cr3t"], ["curl", "--oauth2-bearer", "[redacted]"]),
        (["curl", "-x", "http://me:s3cr3t@proxy.test:3128"], ["curl", "-x", "http://[redacted]@proxy.test:3128"]),
        (
            ["sh", "-c", "curl -u me:s3cr3t -b 'sid=s3cr3t' --token s3cr3t -d 'password=s3cr3t' https://a.test/"],
            [
                "sh",
                "-c",
                "curl -u me:[redacted] -b [redacted] --token [redacted] -d 'password=[redacted]' https://a.test/",
            ],
        ),
        (["x", "ghp_" + "s3cr3t" * 6], ["x", "[redacted]"]),
        (["python", "-u", "agent.py"], ["python", "-u", "agent.py"]),
        (["docker", "run", "-u", "1000:1000", "-p", "80:80"], ["docker", "run", "-u", "1000:1000", "-p", "80:80"]),
        (["x", "-u", "https://a.test/b"], ["x", "-u", "https://a.test/b"]),
        (["x", "--key=s3cr3t", "agent.py"], ["x", "--key=[redacted]", "agent.py"]),
        (["eve", "eval", "a=b", ""], ["eve", "eval", "a=b", ""]),
    ],
)
def test_command_lines(given: list[str], expected: list[str]) -> None:
    assert secret_arguments.hide(given) == expected


# Each place that the documents name.
PLACES = [
    ["-H", "Authorization: Bearer {}"],
    ["-HX-Api-Key: {}"],
    ["--header=Cookie: a={}"],
    ["-u", "me:{}"],
    ["--user=me:{}"],
    ["-b", "session={}"],
    ["--api-key", "{}"],
    ["--password={}"],
    ["-d", "user=me&password={}"],
    ["--data-urlencode", "client_secret={}"],
    ["--json", '{{"a": {{"access_token": "{}"}}}}'],
    ["-F", "token={}"],
    ["https://me:{}@a.test/"],
    ["https://a.test/?api_key={}"],
    ["https://a.test/cb?state=1&code={}"],
    ["API_KEY={}"],
    ["sh", "-c", "curl -u me:{} https://a.test/"],
    ["sh", "-c", "API_TOKEN={} agent --fast"],
    ["sh", "-c", "agent --token {} && curl -H 'Authorization: Bearer {}' https://a.test/?key={}"],
]
SECRETS = st.from_regex(r"Zq7[A-Za-z0-9_.~-]{5,40}[A-Za-z0-9]", fullmatch=True).filter(str.isascii)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[-1])
@drawn(secret=SECRETS)
def test_no_secret_is_kept(place: list[str], secret: str) -> None:
    arguments = [part.format(secret, secret, secret) for part in place]
    shown = secret_arguments.hide(["curl", *arguments, "last"])
    assert secret not in "\n".join(shown)
    assert (shown[0], shown[-1], len(shown)) == ("curl", "last", len(arguments) + 2)


def test_nothing_of_it_is_in_the_folder_of_a_run_and_nobody_else_may_read_it(project: Project) -> None:
    secret = "Zq7planted42"
    project.file(
        "mocks/pay.py",
        f"""
        from eve_mocks import http_mock
        print("loaded")
        pay = http_mock("https://api.pay.test/", routes={{"/": {{"GET": {{"response": {{"token": "{secret}"}}}}}}}})
    """,
    )
    body = f"a=b&password={secret}"
    arguments = ["-u", f"me:{secret}", "-d", body, "-b", f"sid={secret}", "-H", f"X-Api-Key: {secret}"]
    urls = [f"https://api.pay.test/?key={secret}", f"https://new.test/cb?state=1&code={secret}"]
    project.eve_mocks("run", "--", "curl", "-sS", *arguments, *urls)
    assert project.report()["counts"] == {"mocked": 1, "allowed": 0, "blocked": 1, "error": 0}
    [run] = (project.root / ".eve-mocks" / "runs").iterdir()
    files = [*run.iterdir(), project.root / ".eve-mocks" / "report.json"]
    assert {file.name for file in files} == {"report.json", "calls.jsonl", "output.log"}
    assert [file.name for file in files if secret in file.read_text()] == []
    assert run.stat().st_mode & 0o777 == 0o700
    assert {oct(file.stat().st_mode & 0o777) for file in files} == {oct(0o600)}
    assert json.loads((run / "report.json").read_text())["command"][2:4] == ["-u", "me:[redacted]"]
