"""Tokens that are known by their shape, wherever they stand: most services begin theirs with a word of their own."""

from __future__ import annotations

import re

from eve_mocks.secret_names import REDACTED

# By the beginning that is looked for first: text without any of them is not searched.
_SHAPES = {
    "gh": r"gh[opusr]_[A-Za-z0-9]{20,}",  # GitHub
    "github_pat_": r"github_pat_\w{20,}",
    "glpat-": r"glpat-[\w-]{16,}",  # GitLab
    "sk-": r"sk-(?=[\w-]{0,200}\d)[\w-]{16,}",  # OpenAI, Anthropic and others
    "k_": r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}",  # Stripe
    "xox": r"xox[a-z]-[\w-]{10,}",  # Slack
    "xapp-": r"xapp-[\w-]{10,}",
    "KIA": r"AKIA[A-Z0-9]{16}",  # Amazon
    "SIA": r"ASIA[A-Z0-9]{16}",
    "AIza": r"AIza[\w-]{30,}",  # Google
    "ya29.": r"ya29\.[\w.-]{20,}",
    "npm_": r"npm_[A-Za-z0-9]{30,}",
    "hf_": r"hf_[A-Za-z0-9]{20,}",  # Hugging Face
    "lin_": r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}",  # Linear
    "ntn_": r"ntn_[A-Za-z0-9]{20,}",  # Notion
    "eyJ": r"eyJ[\w-]{6,}\.[\w-]{4,}(?:\.[\w-]*){0,3}",  # a JWT (RFC 7519): its header begins with {"
    "-----BEGIN": r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
}
# Not inside of a longer word; the last character of an escape in a string is none.
_BEGINS = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
_TOKEN = re.compile(_BEGINS + rf"(?:{'|'.join(_SHAPES.values())})", re.DOTALL)


def hide(shown: str) -> str:
    """Text without such tokens."""
    return _TOKEN.sub(REDACTED, shown) if any(beginning in shown for beginning in _SHAPES) else shown
