"""Which names stand for a credential.

Headers and parameters have few harmless names that sound like one, so a part of the name decides. Bodies have many
(``max_tokens``, ``nextPageToken``, ``keyId``), so there the end of the name does.
"""

from __future__ import annotations

import functools
import re

REDACTED = "[redacted]"

_PARTS = re.compile(
    r"authori[sz]ation|cookie|key|token|secret|passw|passphrase|passcode|pwd|credential|signature|assertion"
    r"|csrf|xsrf|jwt|^x-?(?:auth|session)|^(?:j|php|asp)?sess(?:ion)?_?id$"
)
_WORDS = frozenset(("auth", "authentication", "otp", "pass", "pin", "sas", "sig", "totp"))
_WHOLE = frozenset(("session", "sid"))
_HARMLESS = re.compile(r"key(?:words?|board)|monkey|rate-?limit.*|authenticate")

_KEYS = (
    "access|account|admin|api|app|auth|client|deploy|encryption|hmac|license|master|private|role|secret|service|session"
    "|shared|signing|ssh|subscription|webhook"
)
# Of a name in lower case without "-", "_", "." and spaces.
_FIELD = re.compile(
    rf"(?:passw(?:or)?d|passphrase|passcode|pwd|token|credential|authorization|cookie|jwt|assertion|codeverifier"
    rf"|secret(?:binary|data|keybase|string|text|value)?|(?:device|auth|authorization)code"
    rf"|(?:{_KEYS})key|(?:^|db|proxy|smtp|user)pass|^pin|^t?otp|^bearer|^auth)s?"
    r"(?:confirmation|confirm|repeat|again|hash|\d{1,2})?$"
)
_CURSOR = re.compile(
    r"(?:page|paging|pagination|next|prev|previous|continue|continuation|cursor|sync|start|starting|resume|skip|delta"
    r"|change|idempotency|scroll|watch)tokens?$"
)
_BETWEEN = re.compile(r"[-_.\s]+")
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@functools.lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether a header or a parameter of this name may carry a credential."""
    lower = name.lower()
    if lower in _WHOLE:
        return True
    words = _WORD.findall(name)
    if words and words[-1].lower() in _WORDS:
        return True
    return bool(_PARTS.search(_HARMLESS.sub("", lower))) and not _CURSOR.search(_BETWEEN.sub("", lower))


@functools.lru_cache(maxsize=4096)
def is_field(name: str) -> bool:
    """Whether a field of a body with this name may carry a credential."""
    plain = _BETWEEN.sub("", name.lower())
    return bool(_FIELD.search(plain)) and not _CURSOR.search(plain)


def is_count(name: str, value: object) -> bool:
    """Whether it tells how many tokens there are, rather than one."""
    if isinstance(value, str):
        return name.lower().endswith("tokens") and value.isdigit()
    return isinstance(value, int | float) and "token" in name.lower()
