"""What the handlers of the API share: one server's store, scheduler and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import environment, models, options, requests
from .environment import Environ
from .models import Model
from .names import Name
from .options import Options
from .pull import Puller
from .requests import NOT_FOUND, ApiError, Body
from .scheduler import Scheduler
from .slog import Log
from .store import Store

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
Send = Callable[[Mapping[str, object]], None]  # a piece of a streamed answer, sent at once


@dataclass(frozen=True)
class Service:
    """One running server."""

    environ: Environ
    store: Store
    puller: Puller
    scheduler: Scheduler
    default_context: int
    log: Log

    def model(self, name: Name, asked: str) -> Model:
        """A model of the store, its name in any case.

        Raises:
            ApiError: there is none; `asked` is how the request named it.
        """
        try:
            return models.load(self.store, self.store.existing(name))
        except (FileNotFoundError, IndexError) as error:
            raise ApiError(NOT_FOUND, f"model '{asked}' not found") from error

    def options(self, model: Model, request: Mapping[str, object]) -> Options:
        """A request's options in force; unknown ones are warned of and left out.

        Raises:
            ValueError: an option is of another type.
        """
        merged = options.merge(
            model.parameters, request,
            context=environment.number(self.environ, "OLLAMA_CONTEXT_LENGTH"),
            fallback_context=self.default_context, drafts=model.draft is not None,
        )  # fmt: skip
        for name in merged.unknown:
            self.log.warn("invalid option provided", at="types.go", option=name)
        return merged


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int = 200
    body: bytes = b""
    kind: str = JSON


def reply(values: Mapping[str, object], status: int = 200) -> Reply:
    """An answer in JSON."""
    return Reply(status, requests.pack(values))


@dataclass(frozen=True)
class Request:
    """One request as a handler sees it; `rest` is the path's last part where that varies."""

    data: bytes
    send: Send
    rest: str = ""

    @property
    def body(self) -> Body:
        """The JSON in it.

        Raises:
            ApiError: there is none.
        """
        return requests.parse(self.data)


Handler = Callable[[Service, Request], Reply | None]  # None: the answer was streamed
