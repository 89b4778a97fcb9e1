"""The runners that are loaded: shared, kept alive, reloaded, made room for.

facts/ollama.md section 3.4. Keyed by the model's blob: two tags on one blob share one runner and
reload each other when their options differ.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from . import environment, loading
from .durations import SECOND
from .loading import Loader, Plan
from .models import Model
from .options import Options
from .options import Runner as RunnerOptions
from .runner import Runner

_PER_GPU = 3


class QueueFullError(Exception):
    """More requests wait for a model than OLLAMA_MAX_QUEUE allows."""

    def __init__(self) -> None:
        super().__init__("server busy, please try again.  maximum pending requests exceeded")


@dataclass
class Loaded:
    """A model in memory. Changed only under the scheduler's lock.

    Attributes:
        keep_alive: nanoseconds that it stays after its last request.
        expires: when it goes (time.monotonic), None while it is in use.
    """

    model: Model
    plan: Plan
    runner: Runner
    options: RunnerOptions
    keep_alive: int
    slots: threading.BoundedSemaphore
    users: int = 0
    expires: float | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Bytes in all and on the GPU."""
        return self.runner.accounting.size(self.model.path.stat().st_size)

    @property
    def expires_at(self) -> datetime:
        """When it goes, by the clock; 292 years from now if it is kept forever."""
        left = self.keep_alive / SECOND if self.expires is None else self.expires - time.monotonic()
        return datetime.now(UTC) + timedelta(seconds=left)


class Scheduler:
    """Lends runners to requests."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._loaded: dict[Path, Loaded] = {}
        self._changed = threading.Condition()
        self._loading = threading.Lock()  # one model is loaded at a time
        self._waiting = 0
        self._closed = False
        threading.Thread(target=self._expire, daemon=True).start()

    @contextmanager
    def runner(
        self, model: Model, options: Options, keep_alive: int | None, *, shift: bool | None
    ) -> Iterator[Loaded]:
        """A runner for one request, loaded first if need be.

        Raises:
            QueueFullError: too many wait already.
            LoadError: it cannot be loaded.
        """
        loaded = self._take(model, options, keep_alive, shift)
        try:
            yield loaded
        finally:
            with self._changed:
                loaded.users -= 1
                self._idle(loaded)

    def loaded(self) -> list[Loaded]:
        """All in memory, the one that stays longest first."""
        with self._changed:
            return sorted(self._loaded.values(), key=lambda each: each.expires_at, reverse=True)

    def unload(self, model: Model) -> None:
        """Let a model go as soon as nobody uses it."""
        with self._changed:
            if loaded := self._loaded.get(model.path):
                loaded.keep_alive = 0
                self._idle(loaded)

    def close(self) -> None:
        """End all runners."""
        with self._changed:
            self._closed = True
            for loaded in list(self._loaded.values()):
                self._stop(loaded)

    def _take(
        self, model: Model, options: Options, keep_alive: int | None, shift: bool | None
    ) -> Loaded:
        with self._changed:
            if found := self._usable(model, options, keep_alive, shift):
                return found
            if self._waiting > environment.number(self._loader.environ, "OLLAMA_MAX_QUEUE"):
                raise QueueFullError  # one is being loaded, the others wait
            self._waiting += 1
        try:
            with self._loading:
                return self._load(model, options, keep_alive, shift)
        finally:
            with self._changed:
                self._waiting -= 1

    def _usable(
        self, model: Model, options: Options, keep_alive: int | None, shift: bool | None
    ) -> Loaded | None:
        found = self._loaded.get(model.path)
        if not found or self._differs(found, model, options, shift):
            return None
        if keep_alive is not None:
            found.keep_alive = keep_alive
        found.users += 1
        found.expires = None
        return found

    def _differs(self, found: Loaded, model: Model, options: Options, shift: bool | None) -> bool:
        """Whether a request needs another runner; what Ollama chose by itself never counts."""
        has, wants = found.options, options.runner
        trained = model.metadata.number("context_length") or wants.num_ctx
        wants = replace(wants, num_ctx=min(loading.least_context(model, wants.num_ctx), trained))
        if found.plan.options.automatic_context and options.automatic_context:
            wants = replace(wants, num_ctx=has.num_ctx)
        if found.plan.options.automatic_batch and options.automatic_batch:
            wants = replace(wants, num_batch=has.num_batch)
        if found.plan.options.runner.use_mmap is None and wants.use_mmap is None:
            wants = replace(wants, use_mmap=has.use_mmap)
        if wants.num_gpu < 0:
            wants = replace(wants, num_gpu=has.num_gpu)
        same_files = (found.model.projector, found.model.adapters) == (
            model.projector, model.adapters,
        )  # fmt: skip
        shifts = loading.shifts(model, shift) == found.plan.launch.context_shift
        return wants != has or not same_files or not shifts or not found.runner.alive

    def _load(
        self, model: Model, options: Options, keep_alive: int | None, shift: bool | None
    ) -> Loaded:
        """With `_loading` held: the only place where runners are added."""
        with self._changed:
            if found := self._usable(model, options, keep_alive, shift):
                return found
            if old := self._loaded.get(model.path):
                self._evict(old)
            plan = self._loader.plan(model, options, shift=shift, gpu_free=self._gpu_free())
            self._make_room(plan)
        runner, launch = self._loader.start(plan)
        default = environment.keep_alive(self._loader.environ)
        loaded = Loaded(
            model, plan, runner, launch.options, default if keep_alive is None else keep_alive,
            threading.BoundedSemaphore(launch.num_parallel), users=1,
        )  # fmt: skip
        with self._changed:
            self._loaded[model.path] = loaded
            self._loader.log.info("loaded runners", at="sched.go", count=len(self._loaded))
        runner.wait_until_ready(environment.load_timeout(self._loader.environ))
        return loaded

    def _make_room(self, plan: Plan) -> None:
        most = environment.number(self._loader.environ, "OLLAMA_MAX_LOADED_MODELS")
        most = most or _PER_GPU * max(len(self._loader.devices), 1)
        while self._loaded and (len(self._loaded) >= most or not self._fits(plan)):
            self._evict(min(self._loaded.values(), key=lambda each: (each.users, each.expires_at)))

    def _fits(self, plan: Plan) -> bool:
        return not plan.gpus or plan.predicted <= self._gpu_free() * 80 // 100

    def _gpu_free(self) -> int:
        total = sum(device.total for device in self._loader.devices)
        return total - sum(loaded.size[1] for loaded in self._loaded.values())

    def _evict(self, loaded: Loaded) -> None:
        """Wait until nobody uses it, then end it."""
        loaded.keep_alive = 0
        self._idle(loaded)
        self._changed.wait_for(lambda: self._loaded.get(loaded.model.path) is not loaded)

    def _idle(self, loaded: Loaded) -> None:
        if loaded.users == 0 and self._loaded.get(loaded.model.path) is loaded:
            if loaded.keep_alive <= 0:
                self._stop(loaded)
            else:
                loaded.expires = time.monotonic() + loaded.keep_alive / SECOND
        self._changed.notify_all()

    def _stop(self, loaded: Loaded) -> None:
        loaded.runner.stop()
        self._loaded.pop(loaded.model.path, None)
        self._changed.notify_all()

    def _expire(self) -> None:
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                for loaded in list(self._loaded.values()):
                    if loaded.expires is not None and loaded.expires <= now:
                        self._stop(loaded)
                self._changed.wait(1)
