"""The prompts of one mock: how each is described, and what it says (MCP 2026-07-28, Prompts)."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

from eve_mocks import snapshot
from eve_mocks.errors import Collecting, MockError, as_written
from eve_mocks.kinds.mcp.results import check_block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.document import Document
    from eve_mocks.handler import Handler
    from eve_mocks.response import Json

type Definition = dict[str, Any]

KEYS = ("title", "description", "arguments", "icons", "_meta", "messages")
_ARGUMENT_KEYS = ("name", "title", "description", "required")
_ROLES = ("user", "assistant")
_PARAMETER = re.compile(r"\{(\w+)\}")
_EXAMPLE = "summarise: {arguments: {text: {required: true}}, messages: ['Summarise: {text}']}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """``value`` is what a handler would return for what it always says, with its arguments in braces."""

    name: str
    definition: Definition
    value: Any = None
    handler: Handler | None = None

    def missing(self, given: Mapping[str, str]) -> list[str]:
        """The arguments that are required, and not given."""
        return [one["name"] for one in self._arguments if one.get("required") and one["name"] not in given]

    def filled(self, given: Mapping[str, str]) -> Any:
        """The value with the arguments in their places; one that is not given is empty."""
        names = [one["name"] for one in self._arguments]

        def fill(value: Any) -> Any:
            if isinstance(value, str):
                return _PARAMETER.sub(lambda found: given.get(found[1], "") if found[1] in names else found[0], value)
            if isinstance(value, dict):
                return {key: fill(part) for key, part in value.items()}
            return [fill(part) for part in value] if isinstance(value, list) else value

        return fill(self.value)

    def complete(self, value: Any) -> list[Json]:
        """The messages that carry a value: a message, a list of them, or an object with ``messages``.

        Raises ``MockError`` for what is none.
        """
        if isinstance(value, dict) and isinstance(value.get("messages"), list):
            value = value["messages"]
        return [_message(one) for one in (value if isinstance(value, list) else [value])]

    @property
    def _arguments(self) -> list[Definition]:
        found: list[Definition] = self.definition.get("arguments") or []
        return found


def read_prompts(
    pulled: Document | None, document: Document, handlers: Mapping[str, Handler], docs: Mapping[str, str]
) -> dict[str, Prompt]:
    """The prompts that say something, by name. ``docs`` describes handlers that nothing else describes.

    Raises ``MockError``, or ``Mistakes``.
    """
    described = snapshot.listed(pulled, "prompts", "name")
    found: dict[str, Prompt] = {}
    mistakes = Collecting()
    if "prompts" in document:
        document.part("prompts").mapping(example=f"prompts: {{{_EXAMPLE}}}")
        for prompt, part in document.part("prompts").parts():
            with mistakes:
                found[prompt] = _prompt(prompt, part, described.get(prompt, {}))
    for prompt, handler in handlers.items():
        own = {"name": prompt, **({"description": docs[prompt]} if docs.get(prompt) else {})}
        fixed = found.get(prompt) or Prompt(name=prompt, definition={**own, **described.get(prompt, {})})
        found[prompt] = dataclasses.replace(fixed, handler=handler)
    mistakes.tell()
    return found


def _prompt(name: str, part: Document, described: Definition) -> Prompt:
    given = part.mapping(KEYS, example=_EXAMPLE)
    messages = part.required("messages", why="a prompt says something", example="[Hello]")
    messages.sequence(example="messages: [{role: user, content: Hello}]")
    definition: Definition = {"name": name, **described}
    definition |= {key: value for key, value in given.items() if key not in ("messages", "arguments")}
    if "arguments" in part:
        definition["arguments"] = _arguments(part.part("arguments"))
    mistakes = Collecting()
    for _, message in messages.parts():
        with mistakes, message.placing():
            _message(message.value)
    mistakes.tell()
    return Prompt(name=name, definition=definition, value=messages.value)


def _arguments(arguments: Document) -> list[Definition]:
    """Arguments as MCP lists them, or by name."""
    found: list[Definition] = []
    if isinstance(arguments.value, dict):
        for name, part in arguments.parts():
            found.append({"name": name, **(part.mapping(_ARGUMENT_KEYS[1:]) if part.value is not None else {})})
        return found
    arguments.sequence(example="arguments: [{name: text, required: true}]")
    for _, part in arguments.parts():
        given = part.mapping(_ARGUMENT_KEYS, example="{name: text, required: true}")
        part.required("name", why="an argument has a name", example="text").text()
        found.append(dict(given))
    return found


def _message(given: Any) -> Json:
    """A message: text of the user, or a role and content, which is text or a block."""
    if isinstance(given, str):
        given = {"role": "user", "content": given}
    if not isinstance(given, dict) or given.get("role") not in _ROLES or "content" not in given:
        raise MockError(
            f"{as_written(given)} is no message of a prompt",
            why="a message is text, or has a role (user or assistant) and content",
            fix="Write for example {role: user, content: Hello}",
        )
    content = given["content"]
    if isinstance(content, str):
        content = {"type": "text", "text": content}
    check_block(content, "content")
    return {**given, "content": content}
