"""Facts that may be shown around are judged as the plain ones, and name nobody."""

import json
import time
from collections.abc import Mapping
from datetime import date
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support import mirrors, stack
from tests.support.examples import BROKEN, HEALTHY
from tests.support.hosts import GATHERED, LINE, PARAMETERS, PARTS, REFERENCE, host_facts
from tests.support.mirrors import ADDRESS
from tests.support.stack import framed
from tests.support.verdicts import also

from apuhost import evidence, inventory
from apuhost.changes import compose
from apuhost.commands import facts as command
from apuhost.derived import derive
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.redaction import identifiers, redacted
from apuhost.settings import resolve
from apuhost.verdicts import Status
from apuhost.verdicts.host import report

KEY = b"of this run"
TODAY = date(2026, 11, 30)
"""Any day: none of the hosts has waivers."""


def judged(host: Host, facts: HostFacts) -> list[tuple[object, ...]]:
    asked, problems = resolve(host.name, host.data)
    assert asked, problems
    found = report(host.name, asked, facts, TODAY).verdicts
    return [(each.id, each.status, each.layer, each.severity) for each in found]


def written(folder: Path, *read: tuple[Host, HostFacts]) -> str:
    """Every name and text under the folder where they are saved."""
    for host, facts in read:
        evidence.save(folder, host, facts)
    paths = sorted(folder.rglob("*"))
    return "\n".join(
        f"{path}\n{path.read_text(errors='surrogateescape') if path.is_file() else ''}"
        for path in paths
    )


SITE = {
    "kernel_gtt_gib": 48,
    "models_list": [REFERENCE],
    "ollama_image": f"registry.corp.example:5000/ollama/{stack.IMAGE.rpartition('/')[2]}",
    "ollama_listen": "192.168.7.20:11434",
    "ollama_allow_from": ["192.168.7.0/24", "203.0.113.64/26"],
    "docker_proxy": "http://proxy.corp.example:3128",
    "docker_no_proxy": ["localhost", ".corp.example", "192.168.0.0/16"],
    "docker_users": ["mwinter"],
    "kernel_extra_args": ["resume=UUID=11111111-2222-4333-8444-555555555555"],
    "ssh_user": "mwinter",
}
URIS = "Types: deb\nURIs: https://mirror.corp.example/debian\nSuites: trixie\n"
TEXTS: Mapping[str, Any] = {
    "machine": "hostname=lab-box7.corp.example\nvirtualization=none\nsys_vendor=GMKtec\n",
    "accounts": stack.accounts(members="mwinter", docker="mwinter").replace("admin", "mwinter"),
    "cmdline": (
        f"{LINE} root=/dev/mapper/lab--box7--vg-root ip=192.168.7.20::192.168.7.1 "
        f"resume=UUID=11111111-2222-4333-8444-555555555555 quiet {PARAMETERS}\n"
    ),
    "apt_sources": f"candidate firmware-amd-graphics 1\n{framed({'/etc/apt/sources.list': URIS})}",
    "daemon_json": stack.daemon_json(
        {
            **stack.DAEMON_JSON,
            "registry-mirrors": ["https://mirror.corp.example"],
            "insecure-registries": ["registry.corp.example:5000"],
            "data-root": "/home/mwinter/docker",
        }
    ),
    "docker": stack.docker(
        Name="lab-box7",
        ID="AAAA:BBBB:CCCC:DDDD:EEEE:FFFF:GGGG:HHHH:IIII:JJJJ:KKKK:LLLL",
        HttpProxy="http://proxy.corp.example:3128",
    ),
    "firewall": stack.firewall("192.168.7.20:11434", "[fd12:3456::7]:22", "0.0.0.0:22"),
    "kernel_log": (
        "[    3.0] r8169 0000:02:00.0 eth0: RTL8125B, 84:47:09:aa:bb:cc, XID 641\n"
        "[    3.1] usb 1-1: SerialNumber: S6Z2NX0W\n"
        "[    3.2] nvme /dev/disk/by-id/nvme-Samsung_SSD_990_PRO_S6Z2NX0W-part2\n"
    ),
    "ollama_log": stack.ollama_log(stack.COMPUTE) + "lab-box7 said to mwinter: hello\n",
}
SITE_HOST = (Host("lab-box7", ("lab",), SITE), host_facts(**TEXTS))
MIRROR = (
    Host("minipc", (), {**HEALTHY[0].data, "mirror_address": ADDRESS, "mirror_serve": True}),
    mirrors.served(),
)
SECRETS = (
    "lab-box7", "lab--box7", "corp", "mwinter", "192.168.7.", "203.0.113", "fd12:3456",
    "11111111-2222", "84:47:09", "S6Z2NX0W", "AAAA:BBBB", "2d50da51",
)  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
def test_it_is_there_before_and_gone_afterwards(secret: str, tmp_path: Path) -> None:
    assert secret in written(tmp_path / "plain", SITE_HOST)
    assert secret not in written(tmp_path / "masked", *redacted([SITE_HOST], KEY))


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(SITE_HOST, id="a site's"),
        pytest.param(HEALTHY, id="healthy"),
        pytest.param(MIRROR, id="a mirror's"),
        pytest.param(BROKEN, id="broken"),
        pytest.param((HEALTHY[0], HostFacts("minipc", GATHERED, {})), id="nothing read"),
    ],
)
def test_the_verdicts_stay_the_same(host: tuple[Host, HostFacts], tmp_path: Path) -> None:
    ((name, facts),) = redacted([host], KEY)
    assert judged(name, facts) == judged(*host)
    evidence.save(tmp_path, name, facts)
    ((asked, loaded),) = evidence.load(tmp_path).hosts.values()
    found = report(name.name, asked, loaded, TODAY).verdicts
    assert [(each.id, each.status, each.layer, each.severity) for each in found] == judged(*host)


def test_a_name_has_one_mask_in_all_hosts() -> None:
    other = (Host("box8", (), SITE), host_facts(**{**TEXTS, "machine": "hostname=box8\n"}))
    (_, first), (host, second) = redacted([SITE_HOST, other], KEY)
    for name in TEXTS.keys() - {"machine"}:
        assert first.readings[name] == second.readings[name]
    assert host.name == second.machine.hostname != first.machine.hostname


def test_what_says_nothing_of_a_site_stays() -> None:
    ((host, facts),) = redacted([HEALTHY], KEY)
    assert facts.docker == HEALTHY[1].docker
    assert facts.containers.images == HEALTHY[1].containers.images
    assert facts.model_store == HEALTHY[1].model_store
    assert facts.grub == HEALTHY[1].grub
    assert host.data == {k: v for k, v in HEALTHY[0].data.items() if not k.startswith("ssh")}


def test_digests_are_those_of_the_masked_texts() -> None:
    """A manifest names its registry, and the container the digest of the file it was made from."""
    model = stack.Model(name="models.corp.example/team/qwen:1")
    wanted = {"name": model.name, "digest": model.digest, "parameters": REFERENCE["parameters"]}
    host = Host("lab-box7", (), {**SITE, "models_list": [wanted]})
    texts: dict[str, Any] = {
        **TEXTS,
        "ollama_api": stack.ollama_api(stack.loaded(model), models=(model,)),
        "model_store": stack.model_store(model),
    }
    label = json.dumps(made_from(host, host_facts(**texts)))
    texts["containers"] = PARTS["containers"].replace(json.dumps(stack.MADE_FROM), label)
    facts = host_facts(**texts)
    ((masked, shown),) = redacted([(host, facts)], KEY)
    assert judged(masked, shown) == judged(host, facts)
    assert stack.sha256(model.stored) not in shown.readings["ollama_api"].text
    assert "models.corp" not in shown.readings["model_store"].text
    assert shown.containers.containers[0].labels["apuhost.made-from"] == made_from(masked, shown)
    assert ("models.pinned", Status.PASS) in [each[:2] for each in judged(masked, shown)]


def made_from(host: Host, facts: HostFacts) -> str:
    asked, _ = resolve(host.name, host.data)
    assert asked is not None
    return compose.made_from(derive(asked, facts), facts)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory of a host that is reached and one that is not."""
    hosts = (SITE_HOST[0], Host("minipc", (), {}))
    found = {"lab-box7": SITE_HOST[1], "minipc": Unreachable("no route to host")}
    monkeypatch.setattr(inventory, "load", lambda path, limits: hosts)
    monkeypatch.setattr(command, "gather", lambda hosts, probes: found)
    return Path("site.py")


def test_facts_are_saved_as_they_are_or_masked(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, masked = tmp_path / "plain", tmp_path / "masked"
    assert command.run(site, [], plain, command.as_read) == 2
    assert command.run(site, [], masked, command.redacted) == 2
    printed = capsys.readouterr()
    assert printed.out == f"lab-box7  {plain}/lab-box7\nlab-box7  {masked}/host01\n"
    assert printed.err.splitlines() == ["minipc  not reached: no route to host"] * 2
    assert "mwinter" in written(plain)
    assert not [secret for secret in SECRETS if secret in written(masked)]


def test_a_mask_that_changes_a_verdict_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A host whose name is a word of its own files."""
    facts = host_facts(machine="hostname=json-file\nvirtualization=none\n")
    command.redacted([(Host("box1", (), {"kernel_gtt_gib": 48}), facts)])
    assert capsys.readouterr().err.startswith("box1  judged differently with masks: docker.")


def turned(text: str, key: bytes = KEY) -> str:
    return identifiers.without_addresses(text, identifiers.turning(key))


ADDRESSES = st.ip_addresses()


@given(ADDRESSES, st.integers(20, 128))
def test_an_address_stays_in_its_network(address: Any, length: int) -> None:  # noqa: ANN401
    network = ip_network(f"{address}/{min(length, address.max_prefixlen)}", strict=False)
    assume(str(address) != "255.255.255.255" and str(network.network_address) != "::")
    shown = turned(f"{address} {network}").split()
    assert ip_address(shown[0]) in ip_network(shown[1])


@given(ADDRESSES)
def test_an_address_keeps_its_kind(address: Any) -> None:  # noqa: ANN401
    masked = ip_address(turned(str(address)))
    for kind in ("is_loopback", "is_unspecified", "is_multicast", "is_link_local"):
        assert getattr(masked, kind) == getattr(address, kind)
    assert masked.version == address.version


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1:11434", "[::1]:11434", "[::]:11434", "0.0.0.0/0", "::/0", "0.0.0.0:*",
        "2.26.1.4-1", "v1.2.3.4", "0000:c6:00.0", "09:14:00", "999.1.1.1", "a::b::c",
        "255.255.255.255", "sha256:ab",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_site_stays(text: str) -> None:
    assert turned(text) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [("n1", "host01"), ("N1.corp.example", "host01.name01.example"), ("ubuntu", "ubuntu")],
)
def test_a_name_of_a_host(name: str, shown: str) -> None:
    facts = also(HEALTHY[1], machine=f"hostname={name}\nvirtualization=none\n")
    ((host, masked),) = redacted([(Host(name, (), {}), facts)], KEY)
    assert (host.name, masked.machine.hostname) == (shown, shown)


def test_another_run_has_other_masks() -> None:
    assert turned("192.168.7.20") != "192.168.7.20"
    assert turned("192.168.7.20", b"a") != turned("192.168.7.20", b"b")


@given(st.text(), st.sampled_from(["accounts", "docker", "firewall", "machine", "model_store"]))
def test_any_text_is_masked(text: str, name: str) -> None:
    read = (HEALTHY[0], also(HEALTHY[1], **{name: text}))
    ((_, facts),) = redacted([read], KEY)
    assert json.dumps(facts.readings[name].text)


@pytest.mark.parametrize("part", ["a.", "a-", "a:", "a/", " ", "--fs-uuid --a ", "serial "])
def test_long_text_is_masked_at_once(part: str) -> None:
    started = time.process_time()
    redacted([(HEALTHY[0], also(HEALTHY[1], ollama_log=part * 50_000))], KEY)
    assert time.process_time() - started < 5


def test_earlier_boots_are_left_out_and_this_one_is_still_reported() -> None:
    facts = host_facts(boots=stack.boots(stack.saved(host_facts().readings)))
    ((_, masked),) = redacted([(Host("minipc", (), {}), facts)], b"k" * 32)
    assert [each.text for each in masked.boots.kept] == [None, None]
    assert masked.boots.of(masked.boot.boot_id) is not None
