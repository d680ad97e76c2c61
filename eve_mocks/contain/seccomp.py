"""The kernel's interface: structures of linux/seccomp.h, the listener's ioctls, another process's memory and files.

The only module that calls the C library. Every function raises OSError with the kernel's errno.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
from typing import ClassVar

from eve_mocks.contain.machine import this_machine

_MACHINE = this_machine()
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
_libc.syscall.argtypes = [ctypes.c_long] * 4
_libc.syscall.restype = ctypes.c_long
_libc.process_vm_readv.argtypes = _libc.process_vm_writev.argtypes = [
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_ulong,
    ctypes.c_void_p,
    ctypes.c_ulong,
    ctypes.c_ulong,
]
_libc.process_vm_readv.restype = _libc.process_vm_writev.restype = ctypes.c_ssize_t

_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_FILTER_FLAG_NEW_LISTENER = 1 << 3
_FILTER_FLAG_WAIT_KILLABLE_RECV = 1 << 5
_USER_NOTIF_FLAG_CONTINUE = 1
_USER_NOTIF_FD_SYNC_WAKE_UP = 1
_PIDFD_THREAD = os.O_EXCL


class Data(ctypes.Structure):
    """struct seccomp_data."""

    _fields_: ClassVar = [
        ("number", ctypes.c_int),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    ]
    number: int
    instruction_pointer: int
    arguments: ctypes.Array[ctypes.c_uint64]


class Notification(ctypes.Structure):
    """struct seccomp_notif. ``thread`` is a thread id, as this process sees it."""

    _fields_: ClassVar = [
        ("id", ctypes.c_uint64),
        ("thread", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("data", Data),
    ]
    id: int
    thread: int
    data: Data


class _Response(ctypes.Structure):
    """struct seccomp_notif_resp."""

    _fields_: ClassVar = [
        ("id", ctypes.c_uint64),
        ("value", ctypes.c_int64),
        ("error", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    ]


class _AddFd(ctypes.Structure):
    """struct seccomp_notif_addfd."""

    _fields_: ClassVar = [
        ("id", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("source", ctypes.c_uint32),
        ("target", ctypes.c_uint32),
        ("target_flags", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_: ClassVar = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


_Spans = ctypes.c_uint64 * 4
"""Two of struct iovec: ours, and the other process's."""


def _request(direction: int, number: int, size: int) -> int:
    """``_IOC`` of asm-generic/ioctl.h, with the magic ``!`` of seccomp; 1 writes, 2 reads, 3 does both."""
    return direction << 30 | size << 16 | ord("!") << 8 | number


_RECV = _request(3, 0, ctypes.sizeof(Notification))
_SEND = _request(3, 1, ctypes.sizeof(_Response))
_ID_VALID = _request(1, 2, 8)
_ADDFD = _request(1, 3, ctypes.sizeof(_AddFd))
_SET_FLAGS = _request(1, 4, 8)


def _failed() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


def _syscall(name: str, first: int, second: int, third: int) -> int:
    if _MACHINE is None:
        raise OSError(errno.ENOSYS, f"{name}: no system call table for this machine")
    result: int = _libc.syscall(getattr(_MACHINE, name), first, second, third)
    if result < 0:
        raise _failed()
    return result


class Listener:
    """The descriptor through which the kernel asks about the calls of filtered programs."""

    def __init__(self, fd: int, *, is_interruptible: bool) -> None:
        self._fd = fd
        self.is_interruptible = is_interruptible
        """Whether any signal takes a question back, for the call to be repeated, whatever has been done by then."""
        # Since 6.6: wake the program on this processor, at once. A hint, so an older kernel's EINVAL is no loss.
        _libc.ioctl(fd, _SET_FLAGS, ctypes.c_void_p(_USER_NOTIF_FD_SYNC_WAKE_UP))

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def receive(self, notification: Notification) -> None:
        """Wait for the next question."""
        ctypes.memset(ctypes.byref(notification), 0, ctypes.sizeof(notification))  # RECV demands zeros
        if _libc.ioctl(self._fd, _RECV, ctypes.byref(notification)) < 0:
            raise _failed()

    def is_over(self) -> bool:
        """Whether nobody is left who could ask."""
        if self._fd < 0:
            return True
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return any(event & select.POLLHUP for _, event in poll.poll(0))

    def answer(self, question: int, result: int) -> bool:
        """Let the call return ``result``, or fail with ``-errno``. False if nobody waits for it any more."""
        return self._send(_Response(question, max(result, 0), min(result, 0), 0))

    def proceed(self, question: int) -> bool:
        """Let the kernel run the call as it is."""
        return self._send(_Response(question, 0, 0, _USER_NOTIF_FLAG_CONTINUE))

    def _send(self, response: _Response) -> bool:
        return bool(_libc.ioctl(self._fd, _SEND, ctypes.byref(response)) == 0)

    def is_waiting(self, question: int) -> bool:
        """Whether the asking thread still waits, so that what was read by its number was its own."""
        return bool(_libc.ioctl(self._fd, _ID_VALID, ctypes.byref(ctypes.c_uint64(question))) == 0)

    def put(self, question: int, fd: int, *, close_on_exec: bool) -> int:
        """Put a copy of ``fd`` into the asking process; returns the copy's number there."""
        wanted = _AddFd(question, 0, fd, 0, os.O_CLOEXEC if close_on_exec else 0)
        number: int = _libc.ioctl(self._fd, _ADDFD, ctypes.byref(wanted))
        if number < 0:
            raise _failed()
        return number


def install(code: bytes, *, wait_killable: bool = True) -> Listener:
    """Filter the calling thread, and all it will start. The other threads of this process stay as they are.

    ``wait_killable``: once a question is read, only a fatal signal takes it back; since 5.19, left out before.
    """
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise _failed()
    text = ctypes.create_string_buffer(code, len(code))
    wanted = _Program(len(code) // 8, ctypes.addressof(text))
    for flag in (_FILTER_FLAG_WAIT_KILLABLE_RECV, 0) if wait_killable else (0,):
        try:
            flags = _FILTER_FLAG_NEW_LISTENER | flag
            fd = _syscall("seccomp", _SECCOMP_SET_MODE_FILTER, flags, ctypes.addressof(wanted))
        except OSError as error:
            if error.errno != errno.EINVAL or not flag:
                raise
        else:
            return Listener(fd, is_interruptible=not flag)
    raise AssertionError


def become_subreaper() -> None:
    """Adopt orphaned descendants, so that this process stays their ancestor."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise _failed()


def read_memory(thread: int, address: int, size: int) -> bytes:
    """Bytes of another process."""
    if size == 0:
        return b""
    buffer = ctypes.create_string_buffer(size)
    spans = _Spans(ctypes.addressof(buffer), size, address, size)
    _check(_libc.process_vm_readv(thread, ctypes.byref(spans), 1, ctypes.byref(spans, 16), 1, 0), size)
    return buffer.raw


def write_memory(thread: int, address: int, data: bytes) -> None:
    """Overwrite bytes of another process."""
    if not data:
        return
    size = len(data)
    buffer = ctypes.create_string_buffer(data, size)
    spans = _Spans(ctypes.addressof(buffer), size, address, size)
    _check(_libc.process_vm_writev(thread, ctypes.byref(spans), 1, ctypes.byref(spans, 16), 1, 0), size)


def _check(moved: int, wanted: int) -> None:
    if moved < 0:
        raise _failed()
    if moved != wanted:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))


def fetch_file(thread: int, fd: int) -> int:
    """A descriptor of our own for the open file behind ``fd`` of another thread's process."""
    try:
        process = os.pidfd_open(thread, _PIDFD_THREAD)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        process = os.pidfd_open(thread_group(thread))  # before 6.9: leaders only
    try:
        return _syscall("pidfd_getfd", process, fd, 0)
    finally:
        os.close(process)


def thread_group(thread: int) -> int:
    """The process id of a thread."""
    with open(f"/proc/{thread}/status", "rb") as status:  # noqa: PTH123 - on the path of every connection
        for line in status:
            if line.startswith(b"Tgid:"):
                return int(line[5:])
    raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))


def start_and_fail() -> int:
    """Start a process that ends at once, since there is no program of that name; returns the errno.

    Through the C library and not ``os.posix_spawn``, which keeps the interpreter's lock: another thread has to
    answer while the new process lives.
    """
    arguments = (ctypes.c_char_p * 2)(b"", None)
    process = ctypes.c_int()
    return int(_libc.posix_spawn(ctypes.byref(process), b"", None, None, arguments, arguments))
