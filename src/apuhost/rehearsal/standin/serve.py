"""`ollama serve`: the start in Ollama's order, then answering until SIGTERM.

facts/ollama.md section 2.3. The socket is open before the GPUs are looked for; answers come
afterwards.
"""

from __future__ import annotations

import signal
import sys
import threading

from . import VERSION, devices, discovery, environment, server_config, sizes, slog
from .api import Server
from .environment import Environ
from .gpu import Machine
from .loading import Loader
from .pull import Puller
from .scheduler import Scheduler
from .service import Service
from .slog import Log
from .store import Store
from .transport import Transport


def serve(environ: Environ, machine: Machine | None = None) -> int:
    """Run the server; the exit status."""
    log = Log(-4 * environment.debug_level(environ))
    host = environment.host(environ)
    _warn(environ, log)
    try:
        server = Server(host)
    except OSError as error:
        sys.stderr.write(f"Error: listen tcp {host.host}:{host.port}: bind: {error.strerror}\n")
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):  # process 1 of a container has no default
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    service = _start(environ, machine or Machine(), server, log)
    server.answer_with(service)
    service.scheduler.close()
    return 0


def _warn(environ: Environ, log: Log) -> None:
    host = environment.host(environ)
    if host.bad_port is not None:
        log.warn(
            "invalid port, using default", at="config.go", port=host.bad_port, default=host.port
        )
    for name, value, default in environment.bad_numbers(environ):
        log.warn(
            "invalid environment variable, using default", at="config.go",
            key=name, value=value, default=default,
        )  # fmt: skip


def _start(environ: Environ, machine: Machine, server: Server, log: Log) -> Service:
    log.info("server config", at="routes.go", env=server_config.text(environ))
    off = server_config.cloud_source(environ) != "none"
    log.info(f"Ollama cloud disabled: {slog.printed(off)}", at="routes.go")
    store = Store(environment.models(environ))
    prune = not environment.boolean(environ, "OLLAMA_NOPRUNE")
    if prune:
        _prune(store, log)
    log.info(f"Listening on {server.address} (version {VERSION})", at="routes.go")
    found = discovery.discover(machine, environ, log)
    overhead = environment.number(environ, "OLLAMA_GPU_OVERHEAD")
    total = sum(device.total - overhead for device in found) % 2**64  # Ollama's sum underflows
    context = devices.default_context(total)
    log.info(
        "vram-based default context", at="routes.go",
        total_vram=sizes.binary(total), default_num_ctx=context,
    )  # fmt: skip
    scheduler = Scheduler(Loader(machine, environ, found, log))
    puller = Puller(store, Transport(environ), log, prune=prune)
    return Service(environ, store, puller, scheduler, context, log)


def _prune(store: Store, log: Log) -> None:
    if damage := store.damaged():
        log.warn(
            "corrupt manifests detected, skipping prune operation.  Re-pull or delete to clear",
            at="routes.go", error=damage,
        )  # fmt: skip
        return
    looked_at, removed = store.prune()
    log.info(f"total blobs: {looked_at}", at="images.go")
    log.info(f"total unused blobs removed: {removed}", at="images.go")
    store.remove_empty_folders()
