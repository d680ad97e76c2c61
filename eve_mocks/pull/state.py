"""The folder of this user's state, by the rule of the platform; light, so that ``info`` can name it."""

from __future__ import annotations

from pathlib import Path


def token_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_state_dir("eve-mocks", appauthor=False)) / "tokens"
