"""Where the tokens of signed-in servers are kept: in the user's state folder, a file a server, for the user alone."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

from mcp.client.auth import TokenStorage
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import ValidationError

from eve_mocks import files
from eve_mocks.pull.state import token_folder

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext


class Tokens(TokenStorage):
    """What is known of one server: its token until when, how we are registered there, and where its endpoints are."""

    def __init__(self, url: str) -> None:
        self.path = token_folder() / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"
        self.context: OAuthContext | None = None
        self._kept: dict[str, Any] = {"url": url}
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(files.read_regular(self.path))
            if isinstance(found, dict) and found.get("url") == url:
                self._kept = found

    @property
    def port(self) -> int:
        """The port that the registration names; 0 for none."""
        port = self._kept.get("port")
        return port if isinstance(port, int) else 0

    def register_at(self, port: int) -> None:
        """Sign-ins come back to this port; a registration with another one is of no use."""
        if port != self.port:
            self._kept.pop("client", None)
        self._kept["port"] = port

    def restore(self, context: OAuthContext) -> None:
        """Give the SDK what it keeps only while it runs: without it, it would refresh nothing."""
        self.context = context
        context.token_expiry_time = self._kept.get("expires")
        with contextlib.suppress(ValidationError):
            if "server" in self._kept:
                context.oauth_metadata = OAuthMetadata.model_validate(self._kept["server"])
            if "resource" in self._kept:
                context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(self._kept["resource"])

    async def get_tokens(self) -> OAuthToken | None:
        with contextlib.suppress(ValidationError):
            return OAuthToken.model_validate(self._kept["token"]) if "token" in self._kept else None
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._kept["token"] = tokens.model_dump(mode="json", exclude_none=True)
        self._kept["expires"] = None if tokens.expires_in is None else time.time() + tokens.expires_in
        if self.context is not None:
            for key, known in (
                ("server", self.context.oauth_metadata),
                ("resource", self.context.protected_resource_metadata),
            ):
                if known is not None:
                    self._kept[key] = known.model_dump(mode="json", exclude_none=True)
        self._write()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        with contextlib.suppress(ValidationError):
            return OAuthClientInformationFull.model_validate(self._kept["client"]) if "client" in self._kept else None
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._kept["client"] = client_info.model_dump(mode="json", exclude_none=True)
        self._write()

    def _write(self) -> None:
        """Keep it, where the folder can be written: without, the next pull signs in again."""
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write_whole(self.path, json.dumps(self._kept, indent=2).encode(), mode=0o600)
