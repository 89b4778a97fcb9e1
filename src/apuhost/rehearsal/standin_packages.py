"""The stand-in image's lower layer: Debian packages, cut down to what a guest must unpack.

Debian testing, because trixie has no llama.cpp. An emulated guest pulls and unpacks all of it in
every rehearsal, so what nothing here uses is left out.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
from pathlib import Path

from apuhost.rehearsal import image, standin_llvm

SUITE = "forky"
EPOCH = 1767225600  # seconds: no file is younger, so that the same packages give the same bytes
PACKAGES = (
    "ca-certificates", "libggml0-backend-vulkan", "llama.cpp-tools", "mesa-drm-shim",
    "mesa-vulkan-drivers", "python3",
)  # fmt: skip
_LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# Never unpacked. LLVM's place is taken by standin_llvm; of the processors' variants two remain.
_LEFT_OUT = (
    *(f"/usr/share/{name}/*" for name in (
        "bash-completion", "bug", "doc", "info", "lintian", "locale", "man", "X11", "zoneinfo")),
    *(f"/usr/bin/{name}" for name in (
        "llama-bench", "llama-cli", "llama-completion", "llama-quantize", "sqv", "wget")),
    *(f"{_LIBRARIES}/{name}" for name in (
        "gconv/*", "ggml/backends0/libggml-cpu-*", "libgnutls*", "libhogweed*", "libLLVM*",
        "libp11-kit*", "libsqlite3*", "libunistring*", "libVkLayer*", "libvulkan_*", "libxml2*",
        "libz3*", "llama/libllama-bench*", "llama/libllama-cli*", "llama/libllama-completion*",
        "llama/libllama-quantize*")),
    "/usr/libexec/*/ggml/*",
)  # fmt: skip
_KEPT = tuple(f"{_LIBRARIES}/{name}" for name in (
    "ggml/backends0/libggml-cpu-haswell.so", "ggml/backends0/libggml-cpu-x64.so",
    "libvulkan_radeon.so"))  # fmt: skip
# Wanted by the packages' own scripts, and of no use afterwards.
_REMOVED = (
    "usr/bin/openssl", "usr/bin/perl*", "usr/lib/x86_64-linux-gnu/perl*", "usr/share/llama.cpp",
    "usr/share/perl*", "usr/share/terminfo", "var/cache/*", "var/lib/dpkg/*-old", "var/log/*",
    *(f"usr/lib/python3*/{name}" for name in (
        "_pyrepl", "asyncio", "curses", "dbm", "ensurepip", "idlelib", "multiprocessing",
        "pydoc_data", "sqlite3", "test", "tkinter", "unittest", "venv", "wsgiref", "xml",
        "xmlrpc")),
)  # fmt: skip
# As in Ollama's image: the program in a folder of its own, the GPU's backend beside it.
_ARRANGED = f"""mkdir -p usr/lib/ollama/vulkan
cp usr/bin/llama-server usr/lib/ollama/llama-server
mv .{_LIBRARIES}/ggml/backends0/libggml-vulkan.so usr/lib/ollama/vulkan/"""
# Byte code that is never compared with its source: Python starts faster, and the same each time.
_COMPILED = """PYTHONHASHSEED=0 chroot . sh -c \
'python3 -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/python3.*'"""


def key(mirror: str) -> str:
    """Names the layer by all that builds it, except the packages' versions."""
    digest = hashlib.sha256(mirror.encode())
    for path in (Path(__file__), Path(standin_llvm.__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def command(tarball: Path, mirror: str) -> list[str]:
    """Write the layer as one tar file, built beside it. Debian's keyring verifies every package.

    The validity of testing's Release ends after a week, also on a mirror that stands still or
    for a clock that runs ahead; its signature is what counts here.
    """
    source = f"deb [signed-by={image.KEYRING} check-valid-until=no] {mirror} {SUITE} main"
    return [
        *image.as_root(), "env", f"SOURCE_DATE_EPOCH={EPOCH}", f"TMPDIR={tarball.parent}",
        "mmdebstrap", "--mode=root", "--format=tar", "--variant=essential",
        "--architectures=amd64", f"--include={','.join(PACKAGES)}",
        "--dpkgopt=force-unsafe-io", *(f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT),
        *(f"--dpkgopt=path-include={path}" for path in _KEPT),
        *(f"--customize-hook={line}" for line in _hooks()),
        SUITE, str(tarball), source,
    ]  # fmt: skip


def _hooks() -> list[str]:
    program = shlex.join([sys.executable, standin_llvm.__file__])
    steps = (f"rm -rf {' '.join(_REMOVED)}", _ARRANGED, _COMPILED)
    return [f'{program} "$1"', *(f'cd "$1" && {step}' for step in steps)]
