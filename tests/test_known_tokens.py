"""Tokens that are known by their shape, in text of every kind."""

from __future__ import annotations

import json
import time

import pytest

from eve_mocks import known_tokens

# Put together here, so that nobody who looks for leaked tokens takes them for one.
TOKENS = [
    "ghp_" + "a1B2" * 9,
    "gho_" + "a1B2" * 9,
    "github_pat_" + "11A_b2" * 9,
    "glpat-" + "a1-B_" * 4,
    "sk-" + "a1B2" * 12,
    "sk-ant-api03-" + "a1-B_" * 12,
    "sk-proj-" + "a1B2" * 12,
    "sk_live_" + "a1B2" * 6,
    "xoxb-" + "123456-" * 3 + "aBcD",
    "xapp-1-" + "A123456-" * 3,
    "AKIA" + "A1B2" * 4,
    "ASIA" + "A1B2" * 4,
    "AIza" + "a1-B_" * 7,
    "ya29." + "a0-B_" * 9,
    "npm_" + "a1B2" * 9,
    "hf_" + "a1B2" * 8,
    "lin_api_" + "a1B2" * 10,
    "ntn_" + "a1B2" * 10,
    "eyJ" + "hbGciOiJub25lIn0.eyJpc3MiOiJ4In0.",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln-_nature",
    "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token[:8])
@pytest.mark.parametrize(
    "around",
    ["{}", "it is {}, really", "a={}&b", "https://a.test/{}/x", '"{}"', "({})", "line\n{}\nline", "a:{}"],
)
def test_a_token_is_hidden(token: str, around: str) -> None:
    assert known_tokens.hide(around.format(token)) == around.format("[redacted]")


@pytest.mark.parametrize("token", TOKENS[:-1], ids=lambda token: token[:8])
def test_a_token_is_hidden_in_json_in_json(token: str) -> None:
    shown = json.dumps(json.dumps({"text": f"key:\n{token}\t"}))
    assert token not in known_tokens.hide(shown)
    json.loads(json.loads(known_tokens.hide(shown)))


@pytest.mark.parametrize(
    "text",
    [
        "task-management-is-hard-2",
        "sk-learn-is-a-long-name-of-a-library",
        "ghp_short",
        "eyJust",
        "mask_live_1",
        "AKIA",
        "xoxo-1",
    ],
)
def test_other_words_stay(text: str) -> None:
    assert known_tokens.hide(text) == text


@pytest.mark.parametrize("beginning", ["sk-", "ghp_", "eyJ", "eyJaaaaaa.", "-----BEGIN PRIVATE KEY-----", "gh"])
def test_no_text_takes_long(beginning: str) -> None:
    started = time.process_time()
    known_tokens.hide(beginning * 20_000)
    known_tokens.hide(beginning + "a" * 100_000)
    known_tokens.hide((beginning + "a" * 50 + " ") * 2_000)
    assert time.process_time() - started < 1
