"""What differs between kernels: files of other threads are copied with and without descriptors for threads."""

import errno
import os
import sys
import threading

import pytest

from eve_mocks import contain
from eve_mocks.contain import seccomp

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or contain.probe() is not contain.Mode.FETCH, reason="this machine copies no descriptors"
)


@pytest.mark.parametrize("has_thread_descriptors", [True, False], ids=["as here", "before 6.9"])
def test_a_file_of_a_thread_that_is_not_the_first(monkeypatch, has_thread_descriptors):
    if not has_thread_descriptors:

        def leaders_only(pid, flags=0, pidfd_open=os.pidfd_open):
            if flags:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            assert pid == os.getpid()
            return pidfd_open(pid)

        monkeypatch.setattr(os, "pidfd_open", leaders_only)
    reader, writer = os.pipe()
    copies = []
    thread = threading.Thread(target=lambda: copies.append(seccomp.fetch_file(threading.get_native_id(), reader)))
    thread.start()
    thread.join()
    (copy,) = copies
    os.write(writer, b"x")
    assert os.read(copy, 9) == b"x"
    for fd in (reader, writer, copy):
        os.close(fd)
