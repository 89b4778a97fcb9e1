"""GTT arithmetic: how many GiB of system memory an APU may map, in numbers only.

Units: MemTotal in KiB as /proc/meminfo prints it, GTT in GiB, ttm.pages_limit in pages of 4 KiB.
"""

KIB_PER_GIB = 1024 * 1024
PAGES_PER_GIB = 262_144
"""ttm.pages_limit counts kernel pages of 4096 bytes: 12582912 pages are 48 GiB."""

SMALL_MEMORY_GIB = 30
"""Under this much memory the kernel's own default (half of it) leaves little enough already."""

SYSTEM_RESERVE_GIB = 12
SYSTEM_RESERVE_SHARE = 0.125
"""What `auto` leaves to the system: full-machine freezes were reported with 3 % of 128 GiB left."""

LEAST_SYSTEM_GIB = 4
"""A GTT that leaves less than this can freeze the whole machine: there is no back-pressure."""


def automatic_gtt_gib(mem_total_kib: int) -> int | None:
    """GTT in GiB for `kernel_gtt_gib: auto`; None keeps the kernel's default.

    The larger of half of MemTotal and the largest multiple of 4 that leaves
    max(12 GiB, 12.5 %) to the system: 48 on the 64 GiB reference host.
    """
    total = mem_total_kib / KIB_PER_GIB
    if total < SMALL_MEMORY_GIB:
        return None
    reserve = max(SYSTEM_RESERVE_GIB, total * SYSTEM_RESERVE_SHARE)
    return max(int(total // 2), int((total - reserve) // 4) * 4)


def pages_limit(gtt_gib: int) -> int:
    """ttm.pages_limit (pages of 4 KiB) for a GTT of so many GiB."""
    return gtt_gib * PAGES_PER_GIB


def gtt_gib(pages: int) -> float:
    """GiB that a ttm.pages_limit stands for."""
    return pages / PAGES_PER_GIB


def system_gib(mem_total_kib: int, gtt_gib: int) -> float:
    """GiB that stay with the system when the GPU has mapped its whole GTT."""
    return mem_total_kib / KIB_PER_GIB - gtt_gib
