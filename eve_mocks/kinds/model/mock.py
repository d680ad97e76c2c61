"""The mock of a model provider: which entry of which script a request gets, and what is told where none is left."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.kinds.model.attempts import Attempts, Taken
from eve_mocks.kinds.model.endpoints import find
from eve_mocks.kinds.model.entry import Entry, read_entry
from eve_mocks.kinds.model.pacing import events
from eve_mocks.kinds.model.queues import candidates, queue_of, told_by
from eve_mocks.kinds.model.turn import Failure, Turn
from eve_mocks.match import nearest
from eve_mocks.model import Answer, BadRequest, Fault, Throw, ToolError
from eve_mocks.outcome import carried
from eve_mocks.response import Response
from eve_mocks.scripts import EXHAUSTED, Positions
from eve_mocks.stubs.names import Target
from eve_mocks.stubs.rules import NO_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eve_mocks.errors import Problem
    from eve_mocks.folder import Folder
    from eve_mocks.handler import Handler
    from eve_mocks.kinds.model.endpoints import Endpoint
    from eve_mocks.kinds.model.queues import Named, Queue
    from eve_mocks.kinds.model.turn import Api, Asked
    from eve_mocks.match import Claim
    from eve_mocks.model import Request
    from eve_mocks.session import Session
    from eve_mocks.stubs.playback import Played
    from eve_mocks.stubs.rules import Rule, Rules

# A retry that is worth one is worth it at once; the SDKs take less for no hint, and back off for seconds.
_AT_ONCE = ("retry-after-ms", "1")


class Progress:
    """What one session has used of one mock."""

    __slots__ = ("attempts", "is_past_seam", "positions", "turns")

    def __init__(self) -> None:
        self.is_past_seam = False
        self.positions = Positions()
        self.attempts = Attempts()
        self.turns = 0


class Dry(NamedTuple):
    """No entry is left for a request."""

    message: str
    why: str
    fix: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """The one request that is not answered by the script: the first of its name, or the ``occurrence``-th.

    Its entry is consumed. ``candidate`` answers it, else the real model does.
    """

    request: str
    occurrence: int = 1
    candidate: Handler | None = None


class Model:
    """A finished mock."""

    kind: ClassVar[str] = "model"
    seed: ClassVar[None] = None

    def __init__(
        self,
        *,
        name: str,
        claim: Claim,
        url: str,
        file: str,
        line: int | None,
        folder: Folder,
        endpoints: Sequence[Endpoint],
        scripts: Mapping[str, Queue],
        lines: Mapping[str, int | None],
        requests: tuple[Named, ...] = (),
        models: tuple[str, ...] = (),
        repeat_last: bool = False,
        seam: Seam | None = None,
        tokens_per_second: float | None = None,
        delay: float = 0.0,
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.name = name
        self.url = url
        self.file = file
        self.line = line
        self.problems = problems
        self.stubs: Rules = NO_RULES
        self._claim = claim
        self._folder = folder
        self._endpoints = endpoints
        self._scripts = scripts
        self._lines = lines
        self._requests = requests
        self._models = models
        self._repeat_last = repeat_last
        self.seam = seam
        self._tokens_per_second = tokens_per_second
        self._delay = delay

    def operations(self) -> list[str]:
        return list(self._scripts)

    def names(self) -> dict[str, str]:
        return {key: key for key in self._scripts}

    def entries(self) -> list[str]:
        """What a report calls the entries of all scripts."""
        return [f"{self.name}:{key}[{place}]" for key, queue in self._scripts.items() for place in range(len(queue))]

    def check(self, rule: Rule) -> None:
        """Raise ``MockError`` for a rule whose response is no entry."""
        for outcome in rule.outcomes:
            value = carried(outcome.over_http)
            if outcome.throw is None and value is not NotImplemented:
                read_entry(Document.from_python(value, file="", line=None, folder=self._folder, whole="the response"))

    def reads_body(self, request: Request) -> bool:
        return request.method != "GET"

    def asked(self, request: Request) -> Asked | None:
        """What a request asks the model; None where it asks none, or cannot be read."""
        found = find(self._endpoints, request.method, self._claim.relative(request.path))
        if found is None or not found[0].takes_entry:
            return None
        try:
            return found[0].read(request, found[1])
        except BadRequest:
            return None

    async def answer(self, request: Request, session: Session) -> Answer:
        path = self._claim.relative(request.path)
        found = find(self._endpoints, request.method, path)
        if found is None:
            return self._not_served(request.method, path)
        api, params = found
        try:
            asked = api.read(request, {"models": "\n".join(self._known_models()), **params})
        except BadRequest as error:
            failure = Failure(status=400, message=str(error))
            return Answer(response=_refusal(api, failure), operation=f"{request.method} {path}")
        if not api.takes_entry:
            response = Response(json=api.whole(asked, Turn(id="")))
            return Answer(response=response, operation=f"{request.method} {path}")
        async with session.turn(self.name):
            return await self._take(api, asked, request, session)

    def _known_models(self) -> list[str]:
        return list(dict.fromkeys((*self._models, *self._scripts)))

    async def _take(self, api: Api, asked: Asked, request: Request, session: Session) -> Answer:
        progress = session.progress(self.name, Progress)
        before = progress.attempts.before(request)
        if before is not None and not before.is_over:
            before.again()
            return self._answer(api, asked, before)
        key = queue_of(asked, self._requests, self._scripts)
        if key is None and (turn := api.unscripted(asked)) is not None:
            return self._answer(api, asked, Taken(turn, asked.name or asked.model, 0, ""))
        id_ = f"{progress.turns:06d}"
        progress.turns += 1
        taken: Taken | Response | Dry
        played = await self._pinned(key, asked, session)
        if played is not None:
            taken = self._from_pin(played, asked, id_, key or asked.model)
        elif key is None:
            taken = self._without_queue(asked)
        else:
            taken = await self._next(key, asked, session, progress, id_)
        if isinstance(taken, Dry):
            return self._dry(api, asked, key, taken)
        if isinstance(taken, Response):
            assert played is not None  # noqa: S101 - an entry of a script is no response
            label, position = played.rule.label, played.position
            return Answer(response=taken, operation=key or asked.model, stub=label, position=position)
        progress.attempts.keep(request, taken, instead_of=before)
        return self._answer(api, asked, taken)

    # Which entry.

    async def _pinned(self, key: str | None, asked: Asked, session: Session) -> Played | None:
        if key is None:
            return None
        rules = session.stubs.rules(Target(self.name, key), self.stubs)
        return await session.stubs.answer(rules, dict(asked.body)) if rules else None

    def _from_pin(self, played: Played, asked: Asked, id_: str, key: str) -> Taken | Response:
        response = played.outcome.over_http
        if played.outcome.throw is not None:
            name, message = played.outcome.throw
            entry = Entry(failure=Failure(status=response.status, name=name, message=message))
        elif (value := carried(response)) is not NotImplemented:
            place = played.rule.place
            entry = read_entry(
                Document.from_python(value, file=place.file, line=place.line, folder=self._folder, whole="the response")
            )
        else:
            return response
        turn = dataclasses.replace(entry.turn(asked, id_), delay=entry.delay + response.delay)
        return Taken(turn, key, played.position, played.rule.label, entry.unoffered(asked))

    async def _next(self, key: str, asked: Asked, session: Session, progress: Progress, id_: str) -> Taken | Dry:
        queue = self._scripts[key]
        position = progress.positions.take(key, len(queue), repeat_last=self._repeat_last)
        if position is None:
            return Dry(
                f"the script of {key} ran dry after {len(queue)} {'entry' if len(queue) == 1 else 'entries'}",
                why=f"a request takes the next entry of its queue, and this was one more: {_shown(asked.prompt)}",
                fix=f"Add an entry to {key}, or set repeat_last: true.",
            )
        given, label, seam = queue[position], f"{self.name}:{key}", self.seam
        if seam is not None and (key, position + 1) == (seam.request, seam.occurrence) and not progress.is_past_seam:
            progress.is_past_seam = True
            if seam.candidate is None:
                return Taken(Turn(id=id_), key, position, label, passes=True)
            given = seam.candidate
        entry = given if isinstance(given, Entry) else await self._ask(given, asked, session)
        return Taken(entry.turn(asked, id_), key, position, label, entry.unoffered(asked))

    async def _ask(self, handler: Handler, asked: Asked, session: Session) -> Entry:
        """The entry that a function gives."""
        values: dict[str, Callable[[], object]] = {
            "request": lambda: asked,
            "args": lambda: dict(asked.body),
            "session": lambda: session.id,
        }
        try:
            result = await handler.call(values)
        except (ToolError, BadRequest) as error:
            return Entry(failure=Failure(message=str(error)))
        except Throw as error:
            return Entry(failure=Failure(message=error.message, name=error.name))
        except Fault as error:
            raise MockError(
                f"the entry raised the fault {error.kind}",
                why="a script has answers and errors of the model",
                fix="Return {$throw: {status: 529}}, or pin an outcome with a fault.",
            ).at(handler.file, handler.line) from error
        return read_entry(
            Document.from_python(
                result, file=handler.file, line=handler.line, folder=self._folder, whole="what the entry returns"
            )
        )

    def _without_queue(self, asked: Asked) -> Dry:
        names = list(dict.fromkeys(candidates(asked, self._requests)))
        known = list(self._scripts)
        near = next((found for name in names if (found := nearest(name, known))), None)
        hint = f"Did you mean {near} (in scripts) for {names[-1]}? " if near else ""
        missed = told_by(asked, self._requests)
        return Dry(
            f"the mock {self.name} has no script for the request {_called(asked)}",
            why=f"it has {', '.join(known) or 'none at all'}; the request is called {', '.join(names)}"
            + (f"; of requests, the nearest is {missed}" if missed else ""),
            fix=f'{hint}Add scripts: {{{asked.name or asked.model}: ["…"]}}.',
        )

    # What is told.

    def _answer(self, api: Api, asked: Asked, taken: Taken) -> Answer:
        turn = dataclasses.replace(taken.turn, delay=taken.turn.delay + self._delay)
        failure = turn.failure
        response: Response | None
        if taken.passes:
            response = None
        elif failure is not None and not (asked.streams and turn.text):
            response = _refusal(api, failure, delay=turn.delay)
        elif asked.streams:
            response = events(api, asked, turn, self._tokens_per_second)
        else:
            response = Response(json=api.whole(asked, turn), delay=turn.delay)
        return Answer(
            response=response,
            operation=taken.key,
            stub=taken.label or None,
            position=taken.position if taken.label else None,
            doubt=self._doubt(taken.unoffered, asked),
            usage=turn.usage.as_json() if failure is None and not taken.passes else None,
        )

    def _doubt(self, tool: str | None, asked: Asked) -> str | None:
        if tool is None:
            return None
        near = nearest(tool, asked.tools)
        hint = f"Did you mean {near}?" if near else f"Offered are: {', '.join(asked.tools) or 'none'}."
        return f"the script calls the tool {tool}, which the request does not offer. {hint}"

    def _dry(self, api: Api, asked: Asked, key: str | None, dry: Dry) -> Answer:
        failure = Failure(status=400, code=EXHAUSTED, message=f"{dry.message}\n{dry.why}\n{dry.fix}")
        response = _refusal(api, failure, ("x-should-retry", "false"), ("eve-mocks", "error"))
        line = self.line if key is None else self._lines[key]
        where = f"{self.file}:{line}" if line else self.file
        return Answer(
            response=response,
            operation=key or asked.name or asked.model,
            error=f"{where}: {dry.message}; {dry.why}",
            fix=dry.fix,
        )

    def _not_served(self, method: str, path: str) -> Answer:
        served = [f"{endpoint.method} {endpoint.shown}" for endpoint in self._endpoints]
        fix = f"Give it a mock of kind http with a longer path, such as {self.url.rstrip('/')}{path}."
        error = {"message": f"the mock {self.name} has no answer for {method} {path}", "served": served, "fix": fix}
        return Answer(
            response=Response(404, json={"error": error}),
            operation=f"{method} {path}",
            nearest=nearest(f"{method} {path}", served),
            unanswered=fix,
        )


def _refusal(api: Api, failure: Failure, *headers: tuple[str, str], delay: float = 0.0) -> Response:
    pairs = headers or ((_AT_ONCE,) if failure.status in (408, 409, 429) or failure.status >= 500 else ())
    return Response(failure.status, json=api.failed(failure), headers=pairs, delay=delay)


def _called(asked: Asked) -> str:
    return f"{asked.name} (model {asked.model})" if asked.name else asked.model


def _shown(prompt: str) -> str:
    """The beginning of a prompt on one line."""
    text = " ".join(prompt.split())
    return (text if len(text) <= 80 else f"{text[:76]} ...") or "without a message of the user"
