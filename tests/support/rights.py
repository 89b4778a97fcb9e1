"""Root as an ordinary user is: what a file's mode forbids is forbidden."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

# linux/capability.h
VERSION_3 = 0x20080522
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Meanwhile this thread passes no file's mode, whoever runs the tests."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(VERSION_3, 0), (_Data * 2)()
    if libc.capget(ctypes.byref(header), data):
        raise OSError(ctypes.get_errno(), "capget")
    before = data[0].effective
    data[0].effective = before & ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH)
    libc.capset(ctypes.byref(header), data)
    try:
        yield
    finally:
        data[0].effective = before
        libc.capset(ctypes.byref(header), data)
