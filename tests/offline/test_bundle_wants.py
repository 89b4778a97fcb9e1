"""What hosts want and a lock lacks, and a lock of which one kind is asked for anew."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.offline.test_bundle_lock import LOCK, blob
from tests.support.hosts import settings

from apuhost.bundle import locking, wants
from apuhost.bundle.item import BundleError
from apuhost.bundle.locking import Asked
from apuhost.bundle.wants import Lack
from apuhost.changes import needed
from apuhost.lockfile import File, Lock
from apuhost.settings import Settings

SHA256 = "8" * 64
FILE = File("tool", "https://files.example/tool", blob("8"))
PINNED = {"url": FILE.url, "sha256": SHA256}


def lock(**changed: object) -> Lock:
    """A lock that has all that the hosts of `asking` want."""
    debs = tuple(replace(LOCK.debs[0], name=name) for name in needed.CONTROLLER)
    return replace(LOCK, **{"debs": debs, "files": (FILE,), **changed})  # type: ignore[arg-type]


def asking(**data: object) -> Settings:
    return settings(
        **{
            "host_roles": ["ollama", "models"],
            "ollama_image": f"ollama/ollama:0.34.4@sha256:{'a' * 64}",
            "models_list": [{"name": "qwen3:8b"}],
            "mirror_files": [PINNED],
            **data,
        }
    )


def test_a_lock_that_has_everything_lacks_nothing() -> None:
    assert not list(wants.lacking([asking()], lock()))
    pinned = [{"name": "qwen3:8b", "digest": "1" * 64}]
    assert not list(wants.lacking([asking(models_list=pinned)], lock()))


@pytest.mark.parametrize(
    ("data", "lack"),
    [
        ({"ollama_image": f"ollama/ollama:1@sha256:{'b' * 64}"},
         Lack("images", f"ollama/ollama:1@sha256:{'b' * 64}")),
        ({"ollama_image": f"x.example/ollama:0.34.4@sha256:{'a' * 64}"},
         Lack("images", f"x.example/ollama:0.34.4@sha256:{'a' * 64}")),
        ({"models_list": [{"name": "tiny"}]}, Lack("models", "tiny:latest")),
        ({"models_list": [{"name": "qwen3:8b", "digest": "2" * 64}]},
         Lack("models", f"qwen3:8b of the pinned digest {'2' * 64}")),
        ({"host_roles": ["vulkan"], "vulkan_packages": ["vulkan-tools"]},
         Lack("debs", "firmware-amd-graphics")),
        ({"mirror_files": [{**PINNED, "sha256": "9" * 64}]},
         Lack("files", f"tool of the SHA-256 {'9' * 64}")),
    ],
)  # fmt: skip
def test_what_a_lock_lacks_is_named(data: dict[str, object], lack: Lack) -> None:
    assert next(wants.lacking([asking(**data)], lock())) == lack


def asked(**data: object) -> Asked:
    return Asked((asking(**data),), LOCK.target, Path("/nowhere"), Path("/nowhere"))


def test_of_one_kind_alone_is_asked_and_the_rest_stays() -> None:
    before = lock(serial=7)
    after = locking.updated(asked(mirror_files=[]), before, ["files"])
    assert after == replace(before, serial=8, created=after.created, files=())
    assert after.created > before.created


@pytest.mark.parametrize(
    ("data", "kinds", "told"),
    [
        ({}, ["rpms"], "--update rpms: not one of wheels, images, models, debs, files"),
        (
            {"models_list": [{"name": "tiny"}]},
            ["files"],
            "has no tiny:latest: --update models, too",
        ),
    ],
)
def test_what_would_not_be_the_inventorys_is_refused(
    data: dict[str, object], kinds: list[str], told: str
) -> None:
    with pytest.raises(BundleError, match=told):
        locking.updated(asked(**data), lock(), kinds)
