"""The API's part that deals with the store: list, show, pull, create, copy, delete, blobs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from . import creation, models, names, server_config
from .pull import PullError
from .requests import BAD_REQUEST, INTERNAL, NOT_FOUND, ApiError
from .service import Reply, Request, Service, reply


def status(service: Service, _: Request) -> Reply:
    """GET /api/status: who switched cloud models off, if anybody."""
    source = server_config.cloud_source(service.environ)
    return reply({"cloud": {"disabled": source != "none", "source": source}})


def tags(service: Service, _: Request) -> Reply:
    """GET /api/tags: every model, the newest first."""
    found = []
    for name, _manifest in service.store.manifests():
        try:
            found.append(models.load(service.store, name))
        except (OSError, ValueError, IndexError) as error:
            service.log.warn(
                "failed to refresh model list cache", at="model_list_cache.go",
                model=name.full, error=error,
            )  # fmt: skip
    found.sort(key=lambda model: model.manifest.modified, reverse=True)
    return reply({"models": [models.listed(model) for model in found]})


def show(service: Service, request: Request) -> Reply:
    """POST /api/show: all that is known of a model."""
    body = request.body
    if not body.text("model", "name"):
        raise ApiError(BAD_REQUEST, "model is required")
    name = service.store.existing(body.name)
    model = service.model(name, name.shortest)
    return reply(models.shown(model, verbose=bool(body.flag("verbose"))))


def pull(service: Service, request: Request) -> Reply | None:
    """POST /api/pull: the statuses one by one, or the last one alone."""
    body = request.body
    name = service.store.existing(body.name)
    statuses: list[Mapping[str, object]] = []
    tell = request.send if body.streams else statuses.append
    try:
        service.puller.pull(name, insecure=bool(body.flag("insecure")), tell=tell)
    except PullError as error:
        raise ApiError(INTERNAL, str(error)) from error
    return None if body.streams else reply(statuses[-1])


def create(service: Service, request: Request) -> Reply | None:
    """POST /api/create: a model from another one, with other parameters."""
    body = request.body
    name = service.store.existing(body.name)
    statuses: list[Mapping[str, object]] = []
    creation.create(service, body, name, request.send if body.streams else statuses.append)
    return None if body.streams else reply(statuses[-1])


def copy(service: Service, request: Request) -> Reply:
    """POST /api/copy: the same manifest under another name."""
    body = request.body
    source, target = (names.parse(body.text(key)) for key in ("source", "destination"))
    for key, name in (("source", source), ("destination", target)):
        if not name.valid:
            raise ApiError(BAD_REQUEST, f'{key} "{body.text(key)}" is invalid')
    path = service.store.manifests_folder / service.store.existing(source).path
    try:
        service.store.write_manifest(service.store.existing(target), path.read_bytes())
    except FileNotFoundError as error:
        raise ApiError(NOT_FOUND, f'model "{body.text("source")}" not found') from error
    return Reply()


def delete(service: Service, request: Request) -> Reply:
    """DELETE /api/delete: the manifest, and the blobs that nothing else needs."""
    body = request.body
    name = service.store.existing(body.name)
    try:
        manifest = service.store.manifest(name)
    except FileNotFoundError as error:
        raise ApiError(NOT_FOUND, f"model '{body.text('model', 'name')}' not found") from error
    service.store.remove_manifest(name)
    service.store.remove_unused(blob.digest for blob in manifest.blobs)
    return Reply()


def has_blob(service: Service, request: Request) -> Reply:
    """HEAD /api/blobs/DIGEST."""
    path = _blob(service, request.rest)
    if not path.exists():
        raise ApiError(NOT_FOUND, f'blob "{request.rest}" not found')
    return Reply()


def add_blob(service: Service, request: Request) -> Reply:
    """POST /api/blobs/DIGEST: 201, or 200 if it is there already."""
    if _blob(service, request.rest).exists():
        return Reply()
    digest = f"sha256:{hashlib.sha256(request.data).hexdigest()}"
    if digest != request.rest:
        message = f'digest mismatch, expected "{request.rest}", got "{digest}"'
        raise ApiError(BAD_REQUEST, message)
    service.store.add(request.data, "")
    return Reply(201)


def _blob(service: Service, digest: str) -> Path:
    try:
        return service.store.blob(digest)
    except ValueError as error:
        raise ApiError(BAD_REQUEST, str(error)) from error
