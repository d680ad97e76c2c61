"""A command line as the report has it: without the credentials of headers, options, forms, URLs and scripts in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eve_mocks import redact
from eve_mocks.secret_names import REDACTED, is_secret
from eve_mocks.secret_urls import form

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMED = re.compile(r"(?P<name>-*[\w.-]+)(?P<mark>[:=]\s*)(?P<value>.+)", re.DOTALL)
# ``name:password`` after an option of curl, wget, HTTPie and their like; an address or a number is none.
_USER = r"(?:-[uUa]|--(?:proxy-)?user|--auth)"
_USER_OPTION = re.compile(_USER)
_LOGIN = re.compile(rf"((?:{_USER}=?)?[^\s:/=]+):(?!//|\d+$).+", re.DOTALL)
_SECRET_OPTIONS = frozenset(("-b", "--oauth2-bearer", "--bearer", "--pass", "--proxy-pass"))
# The same inside of a script for a shell.
_LOGIN_INSIDE = re.compile(rf"""(?<!\S)({_USER}(?:=|\s+)?["']?[^\s:/"']+):(?!//)[^\s"']+""")
_SECRET_INSIDE = re.compile(
    r"""(?<!\S)((?:-b|--(?:[\w-]*-)?(?:bearer|pass|password|token|key|secret|cookie))(?:=|\s+))"""
    r"""(?!-)(?:"[^"]*"|'[^']*'|\S+)"""
)


def hide(arguments: Iterable[str]) -> list[str]:
    """The arguments, each as it is shown."""
    shown: list[str] = []
    before = ""
    for argument in arguments:
        shown.append(_shown(argument, before))
        before = argument
    return shown


def _shown(argument: str, before: str) -> str:
    named = _NAMED.fullmatch(argument)
    login = _LOGIN.fullmatch(argument)
    if login and (_USER_OPTION.fullmatch(before) or _USER_OPTION.match(argument)):
        return f"{login[1]}:{REDACTED}"
    if _takes_secret(before) and not argument.startswith("-"):
        return REDACTED
    if named and is_secret(named["name"]):
        return f"{named['name']}{named['mark']}{REDACTED}"
    if redact.FORM.fullmatch(argument):
        return redact.text(form(argument))
    if any(character.isspace() for character in argument):
        argument = _LOGIN_INSIDE.sub(rf"\g<1>:{REDACTED}", argument)
        argument = _SECRET_INSIDE.sub(rf"\g<1>{REDACTED}", argument)
    return redact.text(argument)


def _takes_secret(option: str) -> bool:
    """Whether the argument after an option is a credential."""
    if option in _SECRET_OPTIONS:
        return True
    return option.startswith("-") and not _NAMED.fullmatch(option) and is_secret(option)
