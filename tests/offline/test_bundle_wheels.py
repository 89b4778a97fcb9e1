"""Wheels of a bundle: what runs on the target, and the lines by which pip takes no other."""

from dataclasses import replace

from tests.offline.test_bundle_lock import LOCK

from apuhost.bundle import wheels
from apuhost.bundle.item import Item, Text
from apuhost.lockfile import Blob, Wheel
from apuhost.roles import CHECKOUT


def test_every_name_of_a_platform_is_accepted_the_newest_first() -> None:
    found = wheels.platforms("amd64")
    assert found[0] == "manylinux_2_36_x86_64"
    assert found[-3:] == ("manylinux_2_5_x86_64", "manylinux1_x86_64", "linux_x86_64")
    assert found.index("manylinux2014_x86_64") == found.index("manylinux_2_17_x86_64") + 1
    assert "manylinux_2_28_aarch64" in wheels.platforms("arm64")


def test_the_locked_requirements_are_read_whole() -> None:
    text = (CHECKOUT / "requirements.lock").read_text()
    lines = wheels.plain(text).splitlines()
    assert len(lines) == sum("==" in line for line in text.splitlines())
    assert not [line for line in lines if "--hash" in line or "\\" in line or " " in line]


def test_a_wheel_and_its_line() -> None:
    file = Blob(f"sha256:{'3' * 64}", 7)
    wheel = Wheel("a_b-1.0+local-py3-none-any.whl", "https://i.example/a%2Bb.whl", file)
    lock = replace(LOCK, wheels=(wheel,))
    assert tuple(wheels.items(lock)) == (Item(f"wheels/{wheel.name}", file, wheel.url),)
    line = f"a_b==1.0+local --hash=sha256:{'3' * 64}\n"
    assert tuple(wheels.texts(lock)) == (Text("wheels/requirements.txt", line.encode()),)
    assert not tuple(wheels.texts(replace(LOCK, wheels=())))
