"""What llama-server's own log says of memory: how Ollama knows size and size_vram.

facts/ollama.md section 4 (/api/ps) and 7 (load lines).
"""

from __future__ import annotations

import re

from .sizes import MIB

_BUFFER = re.compile(
    r"([A-Za-z_]\w*):\s+(\S+)\s+(model|KV|compute|output|RS)\s+buffer size\s*=\s*([\d.]+)\s*MiB"
)
_OFFLOADED = re.compile(r"offloaded\s+(\d+)/(\d+)\s+layers to GPU")
_OVERFLOW = re.compile(r"common_params_fit_impl:\s+-\s+.+:\s+\d+\s+layers\s+\(\s*(\d+)\s+overflow")
_COPIES = ("_Mapped", "_REPACK", "_Private")


class Accounting:
    """Reads the log line by line; a repeated line replaces the earlier one (fit, then load)."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, str, str], int] = {}
        self._offloaded = (0, 0)
        self._overflowing = 0

    def read(self, line: str) -> None:
        """One line of the log."""
        if match := _BUFFER.search(line):
            component, backend, kind, size = match.groups()
            self._buffers[component, backend, kind] = int(float(size) * MIB)
        if match := _OFFLOADED.search(line):
            self._offloaded = (int(match[1]), int(match[2]))
        if match := _OVERFLOW.search(line):
            self._overflowing += int(match[1])

    def size(self, file_size: int) -> tuple[int, int]:
        """Bytes in all and on the GPU; the model's file size twice if no line was understood.

        With every layer on the GPU both are the same.
        """
        if not self._buffers:
            return file_size, file_size
        on_gpu = sum(self.by_device().values())
        layers, of = self._offloaded
        if of and layers >= of and not self._overflowing:
            return on_gpu, on_gpu
        return sum(self._buffers.values()), on_gpu

    def by_device(self) -> dict[str, int]:
        """Bytes on each GPU."""
        devices: dict[str, int] = {}
        for (_, backend, _), size in self._buffers.items():
            if _is_gpu(backend):
                device = backend
                for suffix in _COPIES:
                    device = device.removesuffix(suffix)
                devices[device] = devices.get(device, 0) + size
        return devices


def _is_gpu(backend: str) -> bool:
    on_host = backend in {"CPU", "BLAS"} or backend.startswith("CPU_")
    return not on_host and not backend.endswith("_Host")
