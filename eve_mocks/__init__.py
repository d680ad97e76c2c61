"""The names that a mock file in Python imports."""

from eve_mocks.kinds.allow import allow, block
from eve_mocks.kinds.http import http_mock
from eve_mocks.kinds.mcp import mcp_mock
from eve_mocks.model import Fault, Response, Throw, ToolError

__all__ = ["Fault", "Response", "Throw", "ToolError", "allow", "block", "http_mock", "mcp_mock"]
