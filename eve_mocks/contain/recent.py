"""A mapping of bounded size that several threads share: the oldest entry makes room."""

from __future__ import annotations

import collections
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Recent[K: Hashable, V]:
    """The last ``size`` entries. ``dropped`` is called with each value that had to make room."""

    def __init__(self, size: int, dropped: Callable[[V], object] | None = None) -> None:
        self._size = size
        self._dropped = dropped
        self._entries: collections.OrderedDict[K, V] = collections.OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        with self._lock:
            return self._entries.get(key)

    def put(self, key: K, value: V) -> V | None:
        """Set an entry; returns the one it replaces."""
        with self._lock:
            before = self._entries.pop(key, None)
            self._entries[key] = value
            extra = self._entries.popitem(last=False)[1] if len(self._entries) > self._size else None
        if extra is not None and self._dropped is not None:
            self._dropped(extra)
        return before

    def pop(self, key: K) -> V | None:
        with self._lock:
            return self._entries.pop(key, None)

    def use[R](self, key: K, work: Callable[[V], R]) -> R | None:
        """The result of ``work`` on an entry, which nobody removes meanwhile."""
        with self._lock:
            value = self._entries.get(key)
            return None if value is None else work(value)

    def take(self, fits: Callable[[V], bool]) -> list[V]:
        """Remove the entries whose value fits; returns the values."""
        with self._lock:
            keys = [key for key, value in self._entries.items() if fits(value)]
            return [self._entries.pop(key) for key in keys]
