"""The API's part that runs models: ps, generate, chat."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from . import inference, models, template
from .inference import Piece, Question
from .models import Model
from .requests import BAD_REQUEST, INTERNAL, UNAVAILABLE, ApiError, Body
from .runner import LoadError, RunnerError
from .scheduler import Loaded, QueueFullError
from .service import Reply, Request, Service, reply

_PLAIN = "{{ .Prompt }}"
Fields = dict[str, object]


def ps(service: Service, _: Request) -> Reply:
    """GET /api/ps: the models in memory."""
    rows = [
        models.running(loaded.model, *loaded.size, loaded.options.num_ctx, loaded.expires_at)
        for loaded in service.scheduler.loaded()
    ]
    return reply({"models": rows})


def generate(service: Service, request: Request) -> Reply | None:
    """POST /api/generate: a prompt; an empty one loads, and unloads with keep_alive 0."""
    body = request.body
    ask = _Ask(service, body, lambda text: {"response": text})
    prompt = body.text("prompt")
    if not prompt:
        return ask.without_prompt()
    return ask.with_prompt(request, lambda loaded: _single(ask.model, body, loaded))


def chat(service: Service, request: Request) -> Reply | None:
    """POST /api/chat: messages; none load, and unload with keep_alive 0."""
    body = request.body
    if not body.text("model", "name"):
        raise ApiError(BAD_REQUEST, "model is required")
    ask = _Ask(service, body, lambda text: {"message": {"role": "assistant", "content": text}})
    messages = body.list("messages")
    if not messages:
        return ask.without_prompt()
    return ask.with_prompt(request, lambda loaded: _conversation(ask.model, messages, loaded))


@dataclass
class _Ask:
    """One request for a model, in either form of answer."""

    service: Service
    body: Body
    form: Callable[[str], Fields]  # where the text stands in an answer

    def __post_init__(self) -> None:
        self.began = monotonic()
        self.model = self.service.model(self.body.name, self.body.text("model", "name"))
        if self.body.values.get("think") and "thinking" not in self.model.capabilities:
            name = self.body.text("model", "name")
            raise ApiError(BAD_REQUEST, f'"{name}" does not support thinking')

    def without_prompt(self) -> Reply:
        if self.body.keep_alive == 0:
            self.service.scheduler.unload(self.model)
            return reply(self._answer("", {"done": True, "done_reason": "unload"}))
        with self._loaded():
            return reply(self._answer("", {"done": True, "done_reason": "load"}))

    def with_prompt(
        self, request: Request, question: Callable[[Loaded], tuple[str, list[str]]]
    ) -> Reply | None:
        with self._loaded() as loaded:
            ready = monotonic()
            prompt, images = question(loaded)
            grammar = _grammar(self.body.values.get("format"))
            asked = Question(prompt, self.options, images, grammar)
            text = ""
            for piece in inference.answer(loaded, asked):
                text += piece.text
                fields = self._fields(piece, loaded, prompt + text, ready)
                if self.body.streams:
                    request.send(self._answer(piece.text, fields))
        return None if self.body.streams else reply(self._answer(text, fields))

    def _fields(self, piece: Piece, loaded: Loaded, whole: str, ready: float) -> Fields:
        if not piece.reason:
            return {"done": False}
        context: Fields = {}
        if "response" in self.form("") and not self.body.flag("raw"):
            context["context"] = inference.tokens(loaded, whole)
        timed = inference.durations(self.began, ready)
        metrics = piece.metrics or {}
        return {"done": True, "done_reason": piece.reason, **context, **timed, **metrics}

    def _answer(self, text: str, fields: Mapping[str, object]) -> Fields:
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        head = {"model": self.body.text("model", "name"), "created_at": now}
        return {**head, **self.form(text), **fields}

    @contextmanager
    def _loaded(self) -> Iterator[Loaded]:
        if "completion" not in self.model.capabilities:
            name = self.body.text("model", "name")
            raise ApiError(BAD_REQUEST, f'"{name}" does not support {self._verb()}')
        keep, shift = self.body.keep_alive, self.body.flag("shift")
        scheduler = self.service.scheduler
        try:
            self.options = self.service.options(self.model, self.body.object("options"))
            with scheduler.runner(self.model, self.options, keep, shift=shift) as loaded:
                yield loaded
        except QueueFullError as error:
            raise ApiError(UNAVAILABLE, str(error)) from error
        except RunnerError as error:
            raise ApiError(error.status, str(error)) from error
        except (LoadError, ValueError) as error:
            raise ApiError(INTERNAL, str(error)) from error

    def _verb(self) -> str:
        return "generate" if "response" in self.form("") else "chat"


def _single(model: Model, body: Body, loaded: Loaded) -> tuple[str, list[str]]:
    prompt, images = body.text("prompt"), body.list("images")
    system = body.text("system") or model.system
    if body.flag("raw"):
        return prompt, images
    if model.template is None and _native(model):
        messages = [{"role": "system", "content": system}] if system else []
        return _applied(loaded, [*messages, {"role": "user", "content": prompt}]), images
    chosen = body.text("template") or model.template or _PLAIN
    return template.render(chosen, {"System": system, "Prompt": prompt}), images


def _conversation(model: Model, messages: list[Any], loaded: Loaded) -> tuple[str, list[str]]:
    images = [image for message in messages for image in message.get("images") or ()]
    if model.template is None and _native(model):
        return _applied(loaded, messages), images
    return template.conversation(model.template or _PLAIN, messages, model.system), images


def _native(model: Model) -> bool:
    """llama-server renders: no Go template, but one in the model's own file."""
    return not model.renders_itself and "tokenizer.chat_template" in model.metadata.values


def _applied(loaded: Loaded, messages: list[Any]) -> str:
    return str(loaded.runner.ask("/apply-template", {"messages": messages})["prompt"])


def _grammar(form: object) -> dict[str, object] | None:
    """`json` or a JSON schema, as llama-server takes it."""
    if form == "json":
        return {"json_schema": {}}
    if isinstance(form, dict):
        return {"json_schema": form}
    if form:
        raise ApiError(
            INTERNAL, f'invalid format: "{form}"; expected "json" or a valid JSON Schema object'
        )
    return None
