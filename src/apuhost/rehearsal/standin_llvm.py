"""A library in LLVM's place, for RADV in the stand-in's image: the names, without the 165 MB.

Debian's RADV is linked against libLLVM and compiles its shaders without it (ACO does). Only the
loader wants the names that it mentions: data, and functions whose address it takes. So a library
that has them all, each at the same empty place, serves; a call into it would end the program.

Runs alone on an unpacked root file system: `python3 standin_llvm.py ROOT`.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

DRIVER = Path("usr/lib/x86_64-linux-gnu/libvulkan_radeon.so")
_DYNAMIC_SYMBOLS, _DYNAMIC = 11, 6  # section types
_NEEDED, _STRTAB, _SYMTAB, _HASH, _STRSZ, _SYMENT, _SONAME = 1, 5, 6, 4, 10, 11, 14  # entries
_HEADER, _PROGRAM_HEADER, _SYMBOL, _ENTRY = 64, 56, 24, 16  # sizes in bytes
_ROOM = 256  # bytes behind each name: more than any object that is read
_OBJECT_GLOBAL = 0x11
_LOAD, _DYNAMIC_SEGMENT, _STACK = 1, 2, 0x6474E551
_READ_WRITE = 6


def main(root: Path) -> None:
    """Put the library where RADV looks for libLLVM."""
    library, names = wanted((root / DRIVER).read_bytes())
    (root / DRIVER).with_name(library).write_bytes(shared_library(library, names))


def wanted(driver: bytes) -> tuple[str, list[str]]:
    """The file name of the LLVM that a driver needs, and the names that it wants of it.

    Raises:
        ValueError: it needs no LLVM.
    """
    sections = _sections(driver)
    names = _text_of(driver, sections, _DYNAMIC_SYMBOLS)
    symbols = [
        names(name)
        for name, section in _rows(driver, sections, _DYNAMIC_SYMBOLS, "<IxxH16x")
        if section == 0  # undefined here: somebody else has it
    ]
    libraries = _text_of(driver, sections, _DYNAMIC)
    needed = [
        libraries(value)
        for tag, value in _rows(driver, sections, _DYNAMIC, "<QQ")
        if tag == _NEEDED
    ]
    llvm = next((name for name in needed if name.startswith("libLLVM")), None)
    if llvm is None:
        raise ValueError(f"{DRIVER}: needs no LLVM: {' '.join(needed)}")
    return llvm, [name for name in symbols if name.startswith("LLVM") or "4llvm" in name]


def _sections(elf: bytes) -> list[tuple[int, ...]]:
    """Type, offset, size and link of each section."""
    (start,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    return [struct.unpack_from("<4xI16xQQI", elf, start + size * index) for index in range(count)]


def _rows(
    elf: bytes, sections: Sequence[tuple[int, ...]], kind: int, layout: str
) -> list[tuple[int, ...]]:
    _, offset, size, _ = next(section for section in sections if section[0] == kind)
    return list(struct.iter_unpack(layout, elf[offset : offset + size]))


def _text_of(elf: bytes, sections: Sequence[tuple[int, ...]], kind: int) -> Callable[[int], str]:
    link = next(section for section in sections if section[0] == kind)[3]
    start = sections[link][1]

    def text(offset: int) -> str:
        return elf[start + offset : elf.index(b"\0", start + offset)].decode()

    return text


def shared_library(name: str, symbols: Sequence[str]) -> bytes:
    """A shared library for x86-64 that defines `symbols`, all at the same place."""
    strings, offsets = b"\0" + name.encode() + b"\0", []
    for symbol in symbols:
        offsets.append(len(strings))
        strings += symbol.encode() + b"\0"
    count = len(symbols) + 1
    symbols_at = _HEADER + 3 * _PROGRAM_HEADER
    strings_at = symbols_at + _SYMBOL * count
    hash_at = _aligned(strings_at + len(strings))
    table = _hash_table(count)
    dynamic_at = _aligned(hash_at + len(table))
    entries = [(_SONAME, 1), (_HASH, hash_at), (_STRTAB, strings_at), (_SYMTAB, symbols_at),
               (_STRSZ, len(strings)), (_SYMENT, _SYMBOL), (0, 0)]  # fmt: skip
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    room_at = _aligned(dynamic_at + len(dynamic))
    table_of_symbols = bytes(_SYMBOL) + b"".join(
        struct.pack("<IBBHQQ", offset, _OBJECT_GLOBAL, 0, 1, room_at, _ROOM) for offset in offsets
    )
    parts = [
        (0, _elf_header()),
        (_HEADER, _segments(room_at + _ROOM, dynamic_at, len(dynamic))),
        (symbols_at, table_of_symbols), (strings_at, strings), (hash_at, table),
        (dynamic_at, dynamic), (room_at, bytes(_ROOM)),
    ]  # fmt: skip
    library = bytearray(room_at + _ROOM)
    for offset, part in parts:
        library[offset : offset + len(part)] = part
    return bytes(library)


def _aligned(offset: int) -> int:
    return offset + -offset % _ENTRY


def _hash_table(count: int) -> bytes:
    """One bucket: every look-up walks along all symbols."""
    chain = [index + 1 if 0 < index < count - 1 else 0 for index in range(count)]
    return struct.pack(f"<III{count}I", 1, count, 1 if count > 1 else 0, *chain)


def _elf_header() -> bytes:
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)  # 64 bits, little-endian
    shared, x86_64 = 3, 62
    return identity + struct.pack(
        "<HHIQQQIHHHHHH", shared, x86_64, 1, 0, _HEADER, 0, 0, _HEADER, _PROGRAM_HEADER, 3, 0, 0, 0
    )


def _segments(size: int, dynamic_at: int, dynamic_size: int) -> bytes:
    rows = [
        (_LOAD, _READ_WRITE, 0, 0, 0, size, size, 0x1000),
        (_DYNAMIC_SEGMENT, _READ_WRITE, dynamic_at, dynamic_at, dynamic_at, dynamic_size,
         dynamic_size, 8),
        (_STACK, _READ_WRITE, 0, 0, 0, 0, 0, 16),
    ]  # fmt: skip
    return b"".join(struct.pack("<IIQQQQQQ", *row) for row in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
