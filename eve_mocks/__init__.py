"""The names that a mock file in Python imports; each is loaded when it is first used."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eve_mocks.kinds.allow import allow, block
    from eve_mocks.kinds.http import http_mock
    from eve_mocks.kinds.mcp import mcp_mock
    from eve_mocks.kinds.model import model_mock
    from eve_mocks.kinds.oauth import oauth_mock
    from eve_mocks.model import Fault, Throw, ToolError
    from eve_mocks.response import Response

_HOMES = {
    "Fault": "model",
    "Response": "model",
    "Throw": "model",
    "ToolError": "model",
    "allow": "kinds.allow",
    "block": "kinds.allow",
    "http_mock": "kinds.http",
    "mcp_mock": "kinds.mcp",
    "model_mock": "kinds.model",
    "oauth_mock": "kinds.oauth",
}

__all__ = [
    "Fault",
    "Response",
    "Throw",
    "ToolError",
    "allow",
    "block",
    "http_mock",
    "mcp_mock",
    "model_mock",
    "oauth_mock",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
