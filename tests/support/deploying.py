"""A box after a deploy, step by step, as each role's operations would leave it.

What a container is made of is read from the compose file itself, as docker does.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import yaml

from apuhost.changes import (
    FIRMWARE,
    Action,
    FileChange,
    compose,
    docker,
    docker_ce,
    models,
    ollama,
    port,
    site_ca,
)
from apuhost.changes.host import PLANS, plan
from apuhost.derived import derive
from apuhost.settings import Settings
from tests.support import stack
from tests.support.box import Box, image_id
from tests.support.stack import Model

ROLES = ("vulkan", "docker", "ollama", "models", "boot")
"""Those that a box has; the kernel's files are `hosts.deployed`'s."""

ENGINES = {"docker.io", "docker-ce"}
READ_BY_DOCKER = (docker.PROXY_DROP_IN, site_ca.PATH)

Registry = Mapping[str, Model]


def deploy(box: Box, asked: Settings, offered: Iterable[Model] = ()) -> Box:
    """The host after a deploy; `offered` is what can be pulled."""
    rebooting = plan(asked, box.facts()).reboot
    registry = {model.name: model for model in offered}
    for role in ROLES:
        facts = box.facts()
        found = PLANS[role](derive(asked, facts), facts)
        for change in found.files:
            box = written(box, change)
        for action in found.actions:
            box = STEPS[role](box, action, asked, registry)
    return replace(box, driver=True, new_firmware=False) if rebooting else box


def written(box: Box, change: FileChange) -> Box:
    files = {**box.files, change.path: change.after}
    read = change.path in READ_BY_DOCKER
    if change.path == docker.DAEMON_JSON:
        read = not docker.reload_is_enough(change)
    newer = box.newer | {change.path} if read and box.engine == "up" else box.newer
    untrusted = f"{change.path} changed" if change.path == site_ca.PATH else box.untrusted
    kept = {path: text for path, text in files.items() if text}
    return replace(box, files=kept, newer=newer, untrusted=untrusted)


def _vulkan(box: Box, action: Action, _: Settings, __: Registry) -> Box:
    if action.what == "groups":
        return _joined(box, [tuple(why.split(": ")) for why in action.why])
    new = box.new_firmware or action.what == FIRMWARE
    return replace(box, packages=box.packages | {*action.why}, new_firmware=new)


def _joined(box: Box, pairs: Iterable[tuple[str, ...]]) -> Box:
    members = dict(box.members)
    for user, group in pairs:
        members[group] = members.get(group, frozenset()) | {user}
    return replace(box, members=members)


def _docker(box: Box, action: Action, _: Settings, __: Registry) -> Box:
    match action.what:
        case "certificates":
            return replace(box, untrusted="")
        case "Docker's key":
            return replace(box, files={**box.files, docker_ce.KEYRING: "KEY"})
        case "packages" if action.how.startswith("removed"):
            return replace(box, packages=box.packages - {*action.why}, engine="none")
        case "packages":
            packages = box.packages | {*action.why}
            starts = box.engine == "none" and ENGINES & packages
            return replace(box, packages=packages, engine="up" if starts else box.engine)
        case "engine":
            return replace(box, engine="up", newer=frozenset())
    return _joined(box, ((user, "docker") for user in action.why))


def _ollama(box: Box, action: Action, asked: Settings, _: Registry) -> Box:
    match action.what:
        case port.UNIT_NAME:
            rules = tuple(port.rules(asked.ollama))
            return replace(box, enabled=box.enabled | {port.UNIT_NAME}, guarded=rules)
        case "volume":
            return replace(box, volumes=box.volumes | {*action.why})
        case "image":
            return replace(box, images=box.images | {asked.ollama.digest})
        case ollama.UNIT_NAME:
            return replace(box, enabled=box.enabled | {ollama.UNIT_NAME})
    started = {**(box.container or {}), "running": True, "status": "running"}
    return replace(box, container=started if action.how == "started" else _made(box), loaded={})


def _made(box: Box) -> dict[str, Any]:
    """The container that docker makes of the compose file."""
    project = yaml.safe_load(box.files[compose.PATH])
    service = project["services"]["ollama"]
    address, _, number = service["ports"][0].removesuffix(":11434").rpartition(":")
    return {
        "environment": service["environment"],
        "labels": {
            **stack.LABELS,
            "com.docker.compose.project": project["name"],
            **service["labels"],
        },
        "network_mode": f"{project['name']}_default",
        "name": f"/{service['container_name']}",
        "image": service["image"],
        "image_id": image_id(service["image"].partition("@")[2]),
        "restart_policy": service["restart"],
        "devices": [{"PathOnHost": device} for device in service["devices"]],
        "group_add": service.get("group_add", []),
        "mounts": [_mount(each) for each in service["volumes"]],
        **stack.at(address.strip("[]"), int(number)),
    }


def _mount(described: str | dict[str, Any]) -> dict[str, Any]:
    if not isinstance(described, str):
        source, target = described["source"], described["target"]
        return {"Type": described["type"], "Source": source, "Destination": target}
    source, target, *_ = described.replace("$$", "$").split(":")
    if source.startswith("/"):
        return {"Type": "bind", "Source": source, "Destination": target}
    return {"Type": "volume", "Name": source, "Source": stack.VOLUME, "Destination": target}


def _models(box: Box, action: Action, asked: Settings, registry: Registry) -> Box:
    if action.what == models.UNIT_NAME:
        wanted = {model.name for model in asked.models.models_list if model.preload}
        there = [model for model in box.stored if model.name in wanted]
        loaded = {model.name: stack.sha256(model.stored) for model in there}
        return replace(box, enabled=box.enabled | {models.UNIT_NAME}, loaded=loaded)
    if action.how == "manifest kept":
        return _kept(box, action.what)
    step = _set if action.how == "parameters set" else _pulled
    return step(box, registry[action.what], asked)


def _kept(box: Box, name: str) -> Box:
    """The store's own manifest, which nobody has changed."""
    held = next(model for model in box.stored if model.name == name)
    return replace(box, kept=_with(box.kept, replace(held, offered=held.parameters)))


def _pulled(box: Box, given: Model, _: Settings) -> Box:
    """What differs in parameters only is kept, not pulled."""
    held = _named(box.stored, given.name)
    here = held and (held.weights, held.projector) == (given.weights, given.projector)
    after = held if held and here else replace(given, parameters=given.offered)
    return replace(box, stored=_with(box.stored, after), kept=_with(box.kept, given))


def _set(box: Box, given: Model, asked: Settings) -> Box:
    """Ollama lays the given parameters over those that the model has."""
    pinned = next(each for each in asked.models.models_list if each.name == given.name)
    held = _named(box.stored, given.name) or given
    parameters = {**held.parameters, **models.wanted(pinned, box.facts())}
    return replace(box, stored=_with(box.stored, replace(held, parameters=parameters)))


def _named(stored: Iterable[Model], name: str) -> Model | None:
    return next((model for model in stored if model.name == name), None)


def _with(stored: Iterable[Model], model: Model) -> tuple[Model, ...]:
    return (*(each for each in stored if each.name != model.name), model)


def _boot(box: Box, action: Action, _: Settings, __: Registry) -> Box:
    return replace(box, enabled=box.enabled | {action.what})


Step = Callable[[Box, Action, Settings, Registry], Box]
STEPS: Mapping[str, Step] = {
    "vulkan": _vulkan,
    "docker": _docker,
    "ollama": _ollama,
    "models": _models,
    "boot": _boot,
}
