"""How much memory `apuhost parse` takes for a log of a gigabyte, and how long, beside `grep -c`.

`python scripts/measure_logs.py` writes the logs into a temporary folder (TMPDIR; one at a time)
and removes them. A log is a start and then the same events over and over, with new times and
numbers: a machine that works and fails for years. The document is thrown away. `grep -c` counts the
lines of the same file that have one word: as little as reading it can cost.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

# Nothing of apuhost is imported: what a child counts as its peak begins with its parent's memory.
CHECKOUT = Path(__file__).resolve().parents[1]
MEGABYTE = 1_000_000
MOST_MB = 150


@dataclass(frozen=True)
class Log:
    """A log's text, and the word that grep looks for.

    Attributes:
        start: comes once, at the beginning.
        event: comes again and again; `{n}` is its number, `{t}` a time that goes on.
        rare: comes after every thousandth event.
        word: what grep counts.
    """

    start: str
    event: str
    rare: str
    word: str


DMESG = Log(
    start="""\
[    0.000000] Linux version 6.17.0-42-generic (builder@example) #42 SMP PREEMPT_DYNAMIC
[    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=UUID=2a ro quiet ttm.pages_limit=12582912
[    0.400000] pci 0000:c6:00.0: [1002:1900] type 00 class 0x030000 PCIe Legacy Endpoint
[    0.450000] iommu: Default domain type: Translated
[    3.100200] amdgpu 0000:c6:00.0: amdgpu: amdgpu: 1024M of VRAM memory ready
[    3.100300] amdgpu 0000:c6:00.0: amdgpu: amdgpu: 49152M of GTT memory ready.
[    4.000000] [drm] Initialized amdgpu 3.64.0 for 0000:c6:00.0 on minor 0
""",
    event="""\
[{t:>5}.100000] usb 1-1: new high-speed USB device number {n} using xhci_hcd
[{t:>5}.200000] usb 1-1: New USB device found, idVendor=0bda, idProduct=8153, bcdDevice=31.00
[{t:>5}.300000] r8152 1-1:1.0 eth1: v1.12.13
[{t:>5}.400000] IPv6: ADDRCONF(NETDEV_CHANGE): eth1: link becomes ready
[{t:>5}.500000] docker0: port 1(veth{n}) entered blocking state
[{t:>5}.600000] docker0: port 1(veth{n}) entered forwarding state
[{t:>5}.700000] EXT4-fs (nvme0n1p2): re-mounted r/w. Quota mode: none.
[{t:>5}.800000] audit: type=1400 audit({t}.800:{n}): apparmor="STATUS" operation="profile_load"
""",
    rare="""\
[{t:>5}.900000] amdgpu 0000:c6:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8)
[{t:>5}.900001] amdgpu 0000:c6:00.0: amdgpu: ring comp_1.1.0 timeout, signaled seq={n}
[{t:>5}.900002] amdgpu 0000:c6:00.0: amdgpu: Starting comp_1.1.0 ring reset
[{t:>5}.900003] amdgpu 0000:c6:00.0: amdgpu: Ring comp_1.1.0 reset failed
[{t:>5}.900004] amdgpu 0000:c6:00.0: amdgpu: GPU reset begin!. Source:  1
[{t:>5}.900005] amdgpu 0000:c6:00.0: amdgpu: VRAM is lost due to GPU reset!
[{t:>5}.900006] amdgpu 0000:c6:00.0: amdgpu: GPU reset({n}) succeeded!
""",
    word="amdgpu",
)

_SLOG = "time=2026-09-10T08:00:00.000Z level=INFO source=server.go:12 msg="
_RUNNER = (
    f'{_SLOG}"starting llama-server" cmd="/usr/lib/ollama/llama-server '
    "--model /root/.ollama/models/blobs/sha256-a1 --port {n} --host 127.0.0.1 --no-webui "
    '--offline -c 8192 -np 1 --flash-attn auto -b 1024 -ub 1024"\n'
    "load_tensors: offloading 32 repeating layers to GPU\n"
    "load_tensors: offloaded 33/33 layers to GPU\n"
)

OLLAMA = Log(
    start=(
        f'{_SLOG}"Listening on [::]:11434 (version 0.34.1)"\n'
        f'{_SLOG}"inference compute" id=0 library=Vulkan compute=0.0 name=Vulkan0 '
        'description="AMD Radeon 780M Graphics (RADV PHOENIX)" driver=0.0 pci_id=0000:c6:00.0 '
        'type=iGPU total="49.0 GiB" available="48.5 GiB"\n' + _RUNNER.format(n=1)
    ),
    event="""\
slot get_availabl: id  0 | task -1 | selected slot by LCP similarity, f_sim_best = 0.981, f_keep = 1
slot launch_slot_: id  0 | task {n} | sampler chain: logits -> penalties -> top-k -> temp -> dist
slot launch_slot_: id  0 | task {n} | processing task, is_child = 0
slot   operator(): id  0 | task {n} | new prompt, n_ctx_slot = 8192, task.n_tokens = 3000
slot update_slots: id  0 | task {n} | cached n_tokens = 900, memory_seq_rm [900, end)
slot update_slots: id  0 | task {n} | prompt processing progress, n_tokens = 1924, progress = 0.641
slot update_slots: id  0 | task {n} | cached n_tokens = 1924, memory_seq_rm [1924, end)
slot update_slots: id  0 | task {n} | prompt processing progress, n_tokens = 2948, progress = 0.983
slot update_slots: id  0 | task {n} | cached n_tokens = 2948, memory_seq_rm [2948, end)
slot update_slots: id  0 | task {n} | prompt processing progress, n_tokens = 3000, progress = 1.000
slot init_sampler: id  0 | task {n} | init sampler, took 0.16 ms, tokens: text = 3000, total = 3000
slot update_slots: id  0 | task {n} | created context checkpoint 1 of 8 (pos_min = 0, size = 62 MiB)
slot print_timing: id  0 | task {n} | 
prompt eval time =    5250.00 ms /  2100 tokens (    2.50 ms per token,   400.00 tokens per second)
       eval time =   19800.00 ms /   400 tokens (   49.50 ms per token,    20.20 tokens per second)
      total time =   25050.00 ms /  2500 tokens
slot      release: id  0 | task {n} | stop processing: n_tokens = 3399, truncated = 0
srv  update_slots: all slots are idle
srv  log_server_r: done request: POST /v1/chat/completions 127.0.0.1 200
[GIN] 2026/09/10 - 08:00:25 | 200 | 25.1s |      172.17.0.1 | POST     "/v1/chat/completions"
""",  # noqa: W291  (llama.cpp's own blank)
    rare=_RUNNER,
    word="task",
)

LOGS = {"dmesg": DMESG, "ollama-log": OLLAMA, "prefix-cache": OLLAMA}
"""A log for each kind that is read line by line; the runner's lines stand in Ollama's log."""


@dataclass(frozen=True)
class Cost:
    """What one process took: wall seconds, and its largest resident memory in bytes."""

    seconds: float
    peak: int


def main() -> None:
    """Write, read and remove one log after the other, and print what each cost."""
    asked = _arguments()
    print(f"{asked.megabytes} MB of log; goal: less than {MOST_MB} MB of memory")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log"
        for kind in asked.kind or LOGS:
            log = LOGS[kind]
            _write(file, log, asked.megabytes * MEGABYTE)
            counted = _cost("grep", "-c", log.word, str(file))
            parsed = _cost(sys.executable, "-m", "apuhost.cli", "parse", kind, str(file))
            print(
                f"{kind:13} {parsed.peak / MEGABYTE:6.0f} MB  {parsed.seconds:7.1f} s"
                f"  (grep -c {log.word}: {counted.seconds:.1f} s)"
            )


def _arguments() -> argparse.Namespace:
    first_line, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(description=first_line)
    parser.add_argument("--kind", choices=LOGS, action="append", help="only these")
    parser.add_argument("--megabytes", type=int, default=1000, help="of each log")
    return parser.parse_args()


def _write(file: Path, log: Log, size: int) -> None:
    with file.open("w") as opened:
        written = 0
        for text in _texts(log):
            written += opened.write(text)
            if written >= size:
                return


def _texts(log: Log) -> Iterator[str]:
    yield log.start
    for n in count(1):
        yield log.event.format(n=n, t=n * 10)
        if n % 1000 == 0:
            yield log.rare.format(n=n, t=n * 10)


def _cost(*command: str) -> Cost:
    """Run a command that must succeed; what it prints is thrown away."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with exit {process.returncode}: {command}")
    return Cost(time.monotonic() - began, usage.ru_maxrss * 1024)  # Linux counts KiB


if __name__ == "__main__":
    main()
