"""What a bundle brings along is what a deploy asks a bare host to install."""

import pytest
from tests.support import stack
from tests.support.hosts import host_facts, settings
from tests.support.verdicts import also

from apuhost.changes import docker, needed, vulkan
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.settings import ROLES


def bare(distribution: str) -> HostFacts:
    """A host of the distribution that has no package at all."""
    return also(
        host_facts(),
        os_release=f"ID={distribution}\nVERSION_CODENAME=some\n",
        packages="native amd64\nend\n",
        docker=stack.NO_DOCKER,
    )


@pytest.mark.parametrize("family", ["debian", "ubuntu"])
@pytest.mark.parametrize("source", ["auto", "distro", "docker-ce"])
def test_a_deploy_installs_what_is_told_as_needed(family: str, source: str) -> None:
    asked, facts = settings(docker_source=source), bare(family)
    derived = derive(asked, facts)
    installed = {
        name
        for missing in (vulkan.packages, vulkan.firmware, docker.packages)
        for name in missing(derived, facts)
    }
    by_scripts = {needed.CERTIFICATES, *((needed.KEY_READER,) if source == "docker-ce" else ())}
    assert set(needed.on_bare_host(asked, family)) == installed | by_scripts


def test_what_serves_is_needed_of_the_host_that_is_the_mirror() -> None:
    mirror = settings(mirror_address="192.0.2.2", mirror_serve=True)
    others = settings(mirror_address="192.0.2.2")
    added = set(needed.on_bare_host(mirror, "debian")) - set(needed.on_bare_host(others, "debian"))
    assert added == set(needed.MIRROR)
    without = settings(mirror_address="192.0.2.2", mirror_serve=True, host_roles=["vulkan"])
    assert not added & set(needed.on_bare_host(without, "debian"))


@pytest.mark.parametrize(
    ("role", "package"), [("vulkan", "mesa-vulkan-drivers"), ("docker", "docker.io")]
)
def test_a_role_that_is_not_applied_needs_nothing(role: str, package: str) -> None:
    others = settings(host_roles=[name for name in ROLES if name != role])
    assert package in needed.on_bare_host(settings(), "debian")
    assert package not in needed.on_bare_host(others, "debian")
