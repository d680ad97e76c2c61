"""Kind ``model``, in a mock file: a model provider, answered from scripts (contract, section 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.declared import Declared
from eve_mocks.document import Document
from eve_mocks.errors import Collecting, MockError, Problem, as_written
from eve_mocks.handler import Handler
from eve_mocks.kinds.model.endpoints import ENDPOINTS
from eve_mocks.kinds.model.mock import Model, Seam
from eve_mocks.kinds.model.queues import OFFERED, Queue, read_requests, read_scripts
from eve_mocks.match import did_you_mean, parse_claim
from eve_mocks.providers import PROVIDERS
from eve_mocks.response import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eve_mocks.folder import Folder
    from eve_mocks.kinds.model.queues import Named
    from eve_mocks.response import Json

KEYS = ("kind", "provider", "url", "scripts", "requests", "models", "repeat_last", "seam", "tokens_per_second", "delay")
_SEAM_KEYS = ("request", "occurrence")
# What most servers speak, and so those that are named by their url alone.
_SPOKEN = "openai"


def from_document(name: str, document: Document) -> Model:
    """The mock of a YAML or JSON file. Raises ``MockError``, or ``Mistakes``."""
    return _mock(name, document, candidate=None)


def _mock(name: str, document: Document, *, candidate: Callable[..., Any] | None) -> Model:
    mistakes = Collecting()
    with mistakes:
        document.mapping(KEYS)
    are_known = not mistakes.errors  # else a key that is missing may be the one that is misspelt
    provider = _SPOKEN
    if are_known or "provider" in document:
        with mistakes:
            provider = _provider(document)
    if "url" in document:
        with mistakes, document.part("url").placing():
            parse_claim(document.part("url").text(example=PROVIDERS[_SPOKEN].url))
    scripts: dict[str, Queue] = {}
    if are_known or "scripts" in document:
        with mistakes:
            scripts = read_scripts(_scripts(document))
    requests: tuple[Named, ...] = ()
    if "requests" in document:
        with mistakes:
            requests = read_requests(document.part("requests"), scripts)
    settings: dict[str, Any] = {}
    for key, read in _SETTINGS.items():
        if key in document:
            with mistakes, document.part(key).placing():
                settings[key] = read(document.part(key))
    seam: Seam | None = None
    if "seam" in document:
        with mistakes:
            seam = _seam(document.part("seam"), scripts, candidate)
    mistakes.tell()
    url = document.value.get("url", PROVIDERS[provider].url)
    return Model(
        name=name,
        claim=parse_claim(url),
        url=url,
        file=document.file,
        line=document.line_of("url" if "url" in document else "provider"),
        folder=document.folder,
        endpoints=ENDPOINTS[provider],
        scripts=scripts,
        lines={key: document.line_of("scripts", key) for key in scripts},
        requests=requests,
        seam=seam,
        problems=tuple(_doubts(document, scripts)),
        **settings,
    )


def _provider(document: Document) -> str:
    if "provider" not in document:
        if "url" in document:
            return _SPOKEN
        raise document.error(
            "the mock has neither provider nor url",
            why="it has to say which model it stands in for",
            fix=f"Write provider: one of {', '.join(PROVIDERS)}; or the url: of a server that speaks as OpenAI does.",
        )
    given = document.part("provider")
    if given.text(example="openai") not in PROVIDERS:
        raise given.error(
            f"unknown provider {as_written(given.value)}",
            why=f"a provider is one of {', '.join(PROVIDERS)}",
            fix=f"{did_you_mean(given.value, PROVIDERS)} One that speaks as OpenAI does is named by its url: alone.",
        )
    return str(given.value)


def _scripts(document: Document) -> Document:
    return document.required(
        "scripts", why="a model answers from its scripts", example='{gpt-5.5: ["There is one open issue."]}'
    )


def _models(models: Document) -> tuple[str, ...]:
    models.sequence(example="models: [gpt-5.5]")
    return tuple(one.text(example="gpt-5.5") for _, one in models.parts())


def _positive(part: Document) -> float:
    value = part.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1_000_000:
        raise part.error(
            f"{part.label} is {as_written(value)}",
            why="it is how many pieces of text are sent in a second",
            fix=f"Write for example {part.label}: 50, or take it out for all at once.",
        )
    return float(value)


_SETTINGS: Mapping[str, Callable[[Document], Any]] = {
    "models": _models,
    "repeat_last": Document.boolean,
    "tokens_per_second": _positive,
    "delay": lambda part: seconds(part.value),
}


def _seam(part: Document, scripts: Mapping[str, Queue], candidate: Callable[..., Any] | None) -> Seam:
    part.mapping(_SEAM_KEYS, example="seam: {request: scoreDraft}")
    request = part.required("request", why="the seam is one request", example="scoreDraft")
    name = request.text(example="scoreDraft")
    if name not in scripts:
        raise request.error(
            f"the seam {name} has no script",
            why="the seam takes the place of an entry, so that the others stay where they are",
            fix=did_you_mean(name, scripts) if scripts else f"Add scripts: {{{name}: […]}}",
        )
    occurrence = part.value.get("occurrence", 1)
    if isinstance(occurrence, bool) or not isinstance(occurrence, int) or occurrence < 1:
        raise part.error(
            f"occurrence is {as_written(occurrence)}",
            "occurrence",
            why="the requests of a name are counted from 1",
            fix="Write for example occurrence: 2",
        )
    handler = None if candidate is None else Handler(candidate, OFFERED, part.folder)
    return Seam(request=name, occurrence=occurrence, candidate=handler)


def _doubts(document: Document, scripts: Mapping[str, Queue]) -> Iterator[Problem]:
    if not scripts and "models" not in document:  # one that serves lists of models alone
        yield Problem.of(
            document.error(
                "the mock has no scripts",
                "scripts",
                why="every request to it fails the run",
                fix='Add for example scripts: {gpt-5.5: ["There is one open issue."]}',
            )
        )


class ModelMock(Declared):
    """What ``model_mock`` gives to a Python file."""

    def __init__(self, given: Mapping[str, Any], candidate: Callable[..., Any] | None) -> None:
        super().__init__()
        self._given = {key: value for key, value in given.items() if value is not None}
        self._candidate = candidate

    def named(self, name: str, folder: Folder) -> Model:
        document = Document.from_python(self._given, file=folder.show(self.file), line=self.line, folder=folder)
        return _mock(name, document, candidate=self._candidate)


def model_mock(
    provider_or_url: str,
    *,
    scripts: Mapping[str, Sequence[Json | Callable[..., Any]]],
    url: str | None = None,
    requests: Mapping[str, Mapping[str, Json]] | None = None,
    models: Sequence[str] | None = None,
    repeat_last: bool = False,
    seam: Mapping[str, Any] | None = None,
    tokens_per_second: float | None = None,
    delay: float | str | None = None,
) -> ModelMock:
    """Mock a model provider, or a server that speaks as OpenAI does.

    ``scripts`` are queues of entries by the name of a request or of a model. An entry is what the model answers, or a
    function of the request. ``seam`` names the one request that its ``candidate``, a function, or else the real model
    answers. Raises ``MockError`` for a url that cannot be claimed.
    """
    is_url = "://" in provider_or_url
    given: dict[str, Any] = {"url": provider_or_url} if is_url else {"provider": provider_or_url, "url": url}
    if given.get("url") is not None:
        parse_claim(given["url"])
    candidate = None
    if isinstance(seam, dict) and "candidate" in seam:
        candidate = seam["candidate"]
        if not callable(candidate):
            raise MockError(
                f"the candidate is {as_written(candidate)}",
                why="it is asked in place of the model, and so a function of the request",
                fix="Give a function, or leave it out for the real model.",
            )
        seam = {key: value for key, value in seam.items() if key != "candidate"}
    given |= {
        "scripts": {key: list(queue) if isinstance(queue, tuple) else queue for key, queue in scripts.items()},
        "requests": requests,
        "models": None if models is None else list(models),
        "repeat_last": repeat_last or None,
        "seam": seam,
        "tokens_per_second": tokens_per_second,
        "delay": delay,
    }
    return ModelMock(given, candidate)
