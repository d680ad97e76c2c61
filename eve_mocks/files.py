"""Files in folders that others use at the same time: read only where that cannot hang, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def read_regular(path: Path) -> bytes:
    """The content of a file. Raises ``OSError``, also for a pipe or a device, whose reader could wait for ever."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is not a regular file", str(path))
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(file)


def write_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Put a file in its place, so that nobody sees a part of it. Raises ``OSError``."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time in the block, where the file system knows locks. Raises ``OSError`` without the folder."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
