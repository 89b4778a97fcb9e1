#!/usr/bin/env python3
"""As much of llama-server as the stand-in meets: lists a GPU, loads, answers with fixed words.

A GPU is there only where the Vulkan backend is named and the drm shim is preloaded.
FAKE_LOAD_SECONDS: how long a model takes to load, in silence.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

GPU = bool(os.environ.get("GGML_BACKEND_PATH") and os.environ.get("LD_PRELOAD"))
DEVICE = "AMD (RADV PHOENIX)"
WORDS = (" quick", " host")


def tell(*lines: str) -> None:
    """Write to the log."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    sys.stderr.flush()


def value(flag: str, default: str = "") -> str:
    """A flag's value."""
    return sys.argv[sys.argv.index(flag) + 1] if flag in sys.argv else default


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        """/health."""
        self.answer(b'{"status":"ok"}')

    def do_POST(self) -> None:
        """/completion in events, /tokenize."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self.answer(json.dumps({"tokens": [1, 2]}).encode())
            return
        count = min(asked["n_predict"], len(WORDS))
        timings = {"cache_n": 2, "prompt_n": 3, "prompt_ms": 1.5, "predicted_n": count,
                   "predicted_ms": 2.5}  # fmt: skip
        pieces = [{"content": word, "stop": False} for word in WORDS[:count]]
        last = {"content": "", "stop": True, "stop_type": "limit", "timings": timings}
        self.answer(
            b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in [*pieces, last])
        )

    def answer(self, body: bytes) -> None:
        """One whole answer."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def load() -> None:
    """Tell what a model takes, then serve."""
    on_gpu = GPU and value("-ngl") != "0"
    place = "Vulkan0" if on_gpu else "CPU"
    tell(
        f"load_tensors: offloaded {3 if on_gpu else 0}/3 layers to GPU",
        f"load_tensors:      {place} model buffer size =     1.00 MiB",
        f"llama_kv_cache:    {place} KV buffer size =     2.00 MiB",
    )
    time.sleep(float(os.environ.get("FAKE_LOAD_SECONDS", "0")))
    HTTPServer(("127.0.0.1", int(value("--port"))), Handler).serve_forever()


def main() -> None:
    """What the command line asks for."""
    if "--list-devices" in sys.argv:
        row = f"Vulkan0: {DEVICE} (16197 MiB, 16000 MiB free)" if GPU else "(none)"
        sys.stdout.write(f"Available devices:\n  {row}\n")
    elif value("--spec-draft-n-max") == "66":
        tell("llama_init_from_model: made to fail")
        sys.exit(1)
    elif "--model" in sys.argv:
        load()
    else:
        if GPU:
            tell(f"ggml_vulkan: 0 = {DEVICE} (radv) | uma: 1 | fp16: 1 |")
        tell("system_info: n_threads = 2")


if __name__ == "__main__":
    main()
