"""The text of what ``add`` writes: a mock in YAML or in Python that answers as it is, for a person to go on from."""

from __future__ import annotations

import itertools
import json
import keyword
import pprint
import re
from typing import TYPE_CHECKING

from eve_mocks import made_up
from eve_mocks.providers import PROVIDERS
from eve_mocks.stubs import limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eve_mocks.response import Json
    from eve_mocks.scaffold import Upstream

# What YAML has only as escapes (1.2, section 5.1).
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_PLAIN_YAML = re.compile(r"[A-Za-z0-9/][A-Za-z0-9/:._*~+%-]*")


def _plain(text: str) -> str:
    """A scalar of YAML: as it is where that is safe, else quoted as JSON, which YAML includes."""
    return text if _PLAIN_YAML.fullmatch(text) else _quoted(text)


def _quoted(value: Json) -> str:
    """JSON that YAML and Python read as JSON does: neither knows halves of a character in escapes."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


_SCRIPTS = "scripts:                # by the name of a request or of a model, what it answers, entry by entry\n"
_SAID = '"This is what the script says."'


def _model(upstream: Upstream) -> str:
    return upstream.model or PROVIDERS[upstream.provider or "openai"].model


def _provider(upstream: Upstream) -> str:
    """The first arguments of ``model_mock``."""
    if upstream.provider is None:
        return _quoted(upstream.url)
    url = "" if upstream.url == PROVIDERS[upstream.provider].url else f", url={_quoted(upstream.url)}"
    return f"{_quoted(upstream.provider)}{url}"


def yaml(upstream: Upstream, *, routed: bool = True) -> str:
    """The text of a YAML file; without ``routed`` what ``spec`` names answers."""
    name = upstream.name
    head = f"# What {name} answers, in place of the real service.\nkind: {upstream.kind}\nurl: {_plain(upstream.url)}\n"
    if upstream.kind == "model":
        if upstream.provider is not None:
            head = head.replace("url: ", f"provider: {upstream.provider}\nurl: ")
        return f"{head}{_SCRIPTS}  {_plain(_model(upstream))}:\n    - {_SAID}\n"
    if upstream.kind == "mcp":
        results = "".join(f"  {_plain(tool)}: {_quoted(value)}\n" for tool, value in _results(upstream))
        stubs = "".join(f"  - {_quoted(stub)}\n" for stub in _stubs(upstream))
        return "".join(
            [
                head,
                f"results:                # tool -> the JSON that it always answers\n{results}" if results else "",
                f"stubs:                  # tools that want an answer of yours\n{stubs}" if stubs else "",
            ]
        )
    if upstream.spec is not None:
        head += f"spec: {_plain(upstream.spec)}\n"
        if not routed:
            return (
                f"{head}# A route is answered in place of the document:\n"
                "# routes:\n#   /path/{id}:\n#     GET: {response: {ok: true}}\n"
            )
    routes: dict[str, list[str]] = {}
    for method, path in upstream.operations:
        routes.setdefault(path, []).append(f"    {method}: {{response: {{ok: true}}}}\n")
    if not routes:
        routes["/**"] = ["    ANY: {response: {ok: true}}        # until you know what is called\n"]
    return f"{head}routes:\n" + "".join(f"  {_plain(path)}:\n{''.join(lines)}" for path, lines in routes.items())


def _results(upstream: Upstream) -> Iterator[tuple[str, Json]]:
    """The tools of a server, each with something that it may answer; a tool of our own where none is known."""
    if not upstream.tools:
        yield "ping", {"ok": True}
    for tool in upstream.tools:
        value = made_up.value(tool["outputSchema"]) if "outputSchema" in tool else {"ok": True}
        if value is not ...:
            yield tool["name"], value


def _stubs(upstream: Upstream) -> Iterator[dict[str, Json]]:
    """Failures, for tools for which nothing could be made up."""
    answered = dict(_results(upstream))
    missing = (tool["name"] for tool in upstream.tools if tool["name"] not in answered)
    for number, name in enumerate(itertools.islice(missing, limits.RULES), 1):
        thrown = {"message": "No answer is written yet that fits the outputSchema."}
        yield {"id": f"unwritten-{number}", "tool": name, "outcome": {"throw": thrown}}


def python(upstream: Upstream, *, routed: bool = True) -> str:
    """The text of a Python file."""
    name = upstream.name
    factory = f"{upstream.kind}_mock"
    variable = re.sub(r"\W", "_", name)
    if not variable.isidentifier() or keyword.iskeyword(variable) or variable == factory:
        variable = f"the_{variable}"
    if upstream.kind == "model":
        return f'''"""What {name} answers, in place of the real service."""

from eve_mocks import model_mock


def answer(request):
    return f"This is the script of {{request.model}}, which was asked: {{request.prompt}}"


# By the name of a request or of a model, what it answers, entry by entry.
{variable} = model_mock({_provider(upstream)}, scripts={{{_quoted(_model(upstream))}: [answer]}}, repeat_last=True)
'''
    more = "" if upstream.spec is None else f", spec={_quoted(upstream.spec)}"
    results = dict(_results(upstream)) if upstream.kind == "mcp" else {}
    computed = results.popitem() if results else None
    stubs = list(_stubs(upstream))
    more += "".join(f", {key.lower()}={key}" for key, given in (("RESULTS", results), ("STUBS", stubs)) if given)
    head = f'''"""What {name} answers, in place of the real service."""

from eve_mocks import {factory}
{_constant("RESULTS", "Tool -> the JSON that it always answers.", results)}\
{_constant("STUBS", "Tools that want an answer of yours.", stubs)}
{variable} = {factory}({_quoted(upstream.url)}{more}, state=lambda: {{"calls": 0}})
'''
    if upstream.kind == "mcp":
        return head + (_tool(variable, *computed, is_known=bool(upstream.tools)) if computed else "")
    handlers = [
        f"""

@{variable}.route({_quoted(method)}, {_quoted(path)})
def answer_{index}(request, state):
    state["calls"] += 1
    return {{"ok": True, "calls": state["calls"]}}
"""
        for index, (method, path) in enumerate(upstream.operations or [("ANY", "/**")] if routed else (), 1)
    ]
    return head + "".join(handlers)


def _constant(name: str, what: str, value: Json) -> str:
    return f"\n# {what}\n{name} = {pprint.pformat(value, width=110, sort_dicts=False)}\n" if value else ""


def _tool(variable: str, tool: str, answer: Json, *, is_known: bool) -> str:
    if is_known:
        return f"""

@{variable}.tool({_quoted(tool)})
def answer(args, state):
    state["calls"] += 1
    return {answer!r}
"""
    return f'''

@{variable}.tool
def ping(args, state):
    """Say that the mock answers."""
    state["calls"] += 1
    return {{"ok": True, "calls": state["calls"]}}
'''
