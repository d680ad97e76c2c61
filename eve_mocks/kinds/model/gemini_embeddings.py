"""Gemini's embeddings: ``models/M:embedContent`` and ``:batchEmbedContents`` (Gemini API reference, Embeddings)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from eve_mocks.kinds.model.bodies import body_of, objects
from eve_mocks.kinds.model.gemini import failed, said, under
from eve_mocks.kinds.model.plain import Plain
from eve_mocks.kinds.model.turn import Asked
from eve_mocks.kinds.model.vectors import unit_vector
from eve_mocks.model import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.model import Request
    from eve_mocks.response import Json

# What a model of embeddings gives where nothing else is asked for, and the most there is.
_DIMENSIONS = 3072


def _to_embed(request: Request, params: Mapping[str, str]) -> Asked:
    return _asked([body_of(request)], params)


def _to_embed_all(request: Request, params: Mapping[str, str]) -> Asked:
    return _asked(objects(body_of(request).get("requests")), params)


def _asked(requests: list[dict[str, Json]], params: Mapping[str, str]) -> Asked:
    return Asked(body={"vectors": [_vector(one) for one in requests]}, model=unquote(params["model"]))


def _vector(body: dict[str, Json]) -> Json:
    if not isinstance(body.get("content"), dict):
        raise BadRequest("the request has no content")
    dimensions = under(body, "outputDimensionality")
    if dimensions is None:
        dimensions = under(body, "embedContentConfig", "outputDimensionality")
    if dimensions is None:
        dimensions = _DIMENSIONS
    if isinstance(dimensions, bool) or not isinstance(dimensions, int) or not 1 <= dimensions <= _DIMENSIONS:
        raise BadRequest(f"outputDimensionality is {dimensions!r}, not a number from 1 to {_DIMENSIONS}")
    return {"values": unit_vector(said(body["content"]), dimensions)}


def _one(asked: Asked) -> Json:
    return {"embedding": asked.body["vectors"][0]}


def _all(asked: Asked) -> Json:
    return {"embeddings": asked.body["vectors"]}


ONE = Plain(asks=_to_embed, tells=_one, fails=failed)
BATCH = Plain(asks=_to_embed_all, tells=_all, fails=failed)
