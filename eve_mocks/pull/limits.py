"""How long an upstream may take, and how much it may send, before ``pull`` gives up."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """``connect`` and ``silence`` are seconds of waiting, ``whole`` those of one upstream with all its pages."""

    connect: float = 10
    silence: float = 30
    whole: float = 120
    sign_in: float = 300
    size: int = 48 * 1024 * 1024
    pages: int = 500
    redirects: int = 5
