"""Settings for GNU Wget, which names its certificates in a file of settings alone where it is built with GnuTLS.

The file is the caller's own, as far as it does not lead past the proxy, and one line more.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks import files

if TYPE_CHECKING:
    from collections.abc import Mapping

# Wget takes a name without regard to case, "-" and "_".
_OURS = re.compile(rb"(?:ca_?(?:certificate|directory)|use_?proxy|(?:https?|no)_?proxy)[ \t]*=", re.IGNORECASE)
_DAY = 24 * 60 * 60


def ensure_wgetrc(bundle: Path, given: Mapping[bytes, bytes]) -> Path:
    """A file beside the bundle of certificates, which it names. Raises ``OSError``."""
    lines = [line for line in _own(given).splitlines() if not _OURS.match(line.strip().replace(b"-", b"_"))]
    content = b"\n".join([*lines, b"ca_certificate = " + os.fsencode(bundle), b""])
    path = bundle.with_name(f"{bundle.stem}-{zlib.crc32(content):08x}.wgetrc")
    with contextlib.suppress(OSError):
        if files.read_regular(path) == content:
            os.utime(path)
            return path
    for other in bundle.parent.glob("trust-*.wgetrc"):  # one may hold passwords, as the caller's own does
        with contextlib.suppress(OSError):
            if other.stat().st_mtime < time.time() - _DAY:
                other.unlink()
    files.write_whole(path, content, mode=0o600)
    return path


def _own(given: Mapping[bytes, bytes]) -> bytes:
    """What the caller's Wget would read beside the system's settings."""
    home = given.get(b"HOME")
    named = given.get(b"WGETRC") or (home and home + b"/.wgetrc")
    try:
        return files.read_regular(Path(os.fsdecode(named))) if named else b""
    except OSError:
        return b""
