"""Docker's packages, data, proxy and certificates in the states that a host may be found in."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support import stack
from tests.support.box import Box
from tests.support.deploying import deploy as deployed
from tests.support.hosts import facts_of, host_facts, settings, unit_files
from tests.support.stack import framed
from tests.support.verdicts import failing, verdict

from apuhost.changes import FileChange, RolePlan, docker, docker_ce, site_ca, unproxied
from apuhost.changes.host import plan
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.probes import apt_sources
from apuhost.steps import docker as steps
from apuhost.steps.order import ORDER
from apuhost.verdicts import Layer, Status
from apuhost.verdicts.refusals import by_topic

STACK = ["vulkan", "docker", "ollama", "models"]
CE = ("docker-ce", "docker-ce-cli", "containerd.io", "docker-compose-plugin")
DISTRO = ("docker.io", "docker-cli", "docker-compose")
LIST = "/etc/apt/sources.list"
CA = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n"


def also(facts: HostFacts, **texts: str) -> HostFacts:
    """The same host with other texts of some probes."""
    known = {name: reading.text for name, reading in facts.readings.items()}
    return facts_of({**known, **texts})


def role(facts: HostFacts, name: str = "docker", /, **data: object) -> RolePlan:
    found = plan(settings(**{"host_roles": STACK, "kernel_gtt_gib": 48, **data}), facts)
    return next(each for each in found.roles if each.role == name)


def written(found: RolePlan) -> dict[str, str]:
    return {change.path: change.after for change in found.files}


def why(found: RolePlan, what: str, how: str = "") -> tuple[str, ...]:
    due = (each.why for each in found.actions if each.what == what and each.how.startswith(how))
    return next(due, ())


def refused(facts: HostFacts, topic: str, **data: object) -> tuple[str, ...]:
    asked = settings(**{"host_roles": STACK, **data})
    return by_topic(asked, derive(asked, facts), facts)[topic]


def packages(installed: Iterable[str], broken: Mapping[str, str] | None = None) -> str:
    """What dpkg lists: the stack's packages with these for an engine, and some left half-way."""
    others = stack.PACKAGES.keys() - {*DISTRO}
    lines = [f"ii |{name}|1|amd64" for name in (*sorted(others), *installed)]
    lines += [f"{state} |{name}|1|amd64" for name, state in (broken or {}).items()]
    return "\n".join(["native amd64", *lines, "end\n"])


# Data under a root that dockerd calls otherwise.

ROOT = "/srv/docker"
USERNS = {"SecurityOptions": ["name=seccomp,profile=builtin", "name=userns"]}


def rooted(found: str, linked: str = "", /, **info: Any) -> HostFacts:  # noqa: ANN401
    """A host whose daemon.json names ROOT, and whose dockerd says that its data are in `found`."""
    told = f"root={ROOT}\nlinked={linked or ROOT}\n"
    return host_facts(
        docker=told + stack.docker(DockerRootDir=found, **info),
        daemon_json=stack.daemon_json({**stack.DAEMON_JSON, "data-root": ROOT}),
    )


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(rooted(ROOT), id="as it is named"),
        pytest.param(rooted(f"{ROOT}/231072.231072", **USERNS), id="remapped users"),
        pytest.param(rooted("/mnt/big/docker", "/mnt/big/docker"), id="a link"),
        pytest.param(
            rooted("/mnt/big/docker/1000.1000", "/mnt/big/docker", **USERNS),
            id="a link, and remapped users",
        ),
    ],
)
def test_data_are_where_dockerd_puts_them_for_this_root(facts: HostFacts) -> None:
    found = verdict(facts, "docker.daemon_json", docker_data_root=ROOT)
    assert found.status is Status.PASS
    assert refused(facts, "data root", docker_data_root=ROOT) == ()
    assert role(facts, docker_data_root=ROOT).empty


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(rooted("/var/lib/docker"), id="the default"),
        pytest.param(rooted(f"{ROOT}/231072.231072"), id="remapped by nobody"),
        pytest.param(rooted("/var/lib/docker/231072.231072", **USERNS), id="remapped elsewhere"),
        pytest.param(rooted("/mnt/other", "/mnt/big/docker"), id="another link"),
    ],
)
def test_data_that_lie_elsewhere_are_told(facts: HostFacts) -> None:
    found = verdict(facts, "docker.daemon_json", docker_data_root=ROOT)
    assert failing(found) == (Status.FAIL, Layer.LIVE)
    assert refused(facts, "data root", docker_data_root=ROOT)


# Docker's own packages.

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQIN\n-----END PGP PUBLIC KEY BLOCK-----\n"
OURS = stack.rendered(
    "docker", docker_ce.SOURCE, {"docker_distribution": "debian", "docker_suite": "trixie"}
)


def sourced(*engine: str, **files: str) -> HostFacts:
    """A host with an engine of these packages and these files of apt."""
    named = {"source": docker_ce.SOURCE, "key": docker_ce.KEYRING, "other": LIST}
    texts = {named[name]: text for name, text in files.items()}
    known = "candidate firmware-amd-graphics 1\n"
    return host_facts(packages=packages(engine), apt_sources=known + framed(texts))


def test_the_key_comes_with_the_source() -> None:
    found = role(sourced(*DISTRO), docker_source="docker-ce")
    assert written(found) == {docker_ce.SOURCE: OURS}
    assert why(found, "Docker's key") == (f"{docker_ce.KEYRING} is not there",)
    assert why(found, "packages", "removed") == DISTRO[:3]


@pytest.mark.parametrize(
    ("files", "source", "key"),
    [
        pytest.param({}, True, True, id="broken off before the key"),
        pytest.param({"key": KEY}, True, False, id="between key and source"),
        pytest.param({"source": OURS, "key": KEY}, False, False, id="behind the source"),
        pytest.param({"source": OURS}, False, True, id="a source without its key"),
        pytest.param(
            {"other": "deb https://download.docker.com/linux/debian trixie stable\n"},
            False,
            False,
            id="somebody else's source",
        ),
    ],
)
@pytest.mark.parametrize("engine", [DISTRO, CE])
def test_a_run_that_broke_off_is_taken_up(
    engine: tuple[str, ...], files: dict[str, str], source: bool, key: bool
) -> None:
    found = role(sourced(*engine, **files), docker_source="docker-ce")
    assert (docker_ce.SOURCE in written(found)) == source
    assert bool(why(found, "Docker's key")) == key


def test_the_key_is_there_before_apt_reads_the_source() -> None:
    names = [step.name for step in steps.STEPS]
    assert names.index("Docker's key") < names.index("Docker's package source")


@pytest.mark.parametrize("source", ["auto", "distro"])
def test_a_source_that_nobody_asks_for_goes_with_its_key(source: str) -> None:
    found = role(sourced(*DISTRO, source=OURS, key=KEY), docker_source=source)
    assert written(found) == {docker_ce.SOURCE: "", docker_ce.KEYRING: ""}
    assert not any(change.operators for change in found.files)
    assert role(sourced(*DISTRO), docker_source=source).empty


@pytest.mark.parametrize("state", ["installed", "broken"])
def test_an_engine_of_dockers_own_keeps_its_source(state: str) -> None:
    facts = sourced(*CE, source=OURS, key=KEY)
    if state == "broken":
        facts = also(facts, packages=packages(CE[1:], {"docker-ce": "iF"}))
    assert written(role(facts)) == {}


DOCKERS_OWN = {"docker_source": "docker-ce"}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param({}, DOCKERS_OWN, id="docker-ce"),
        pytest.param(DOCKERS_OWN, {}, id="docker-ce that stays"),
        pytest.param({"docker_proxy": "http://p:1", "docker_site_ca": CA}, {}, id="nothing more"),
        pytest.param(
            {"docker_proxy": "http://p:1"},
            {"docker_proxy": "http://p:1", "docker_no_proxy": [".docker.com"], **DOCKERS_OWN},
            id="a domain with Docker's own",
        ),
    ],
)
def test_one_deploy_is_enough(first: dict[str, object], then: dict[str, object]) -> None:
    asked = settings(host_roles=STACK, kernel_gtt_gib=48, **then)
    box = deployed(Box(), settings(host_roles=STACK, kernel_gtt_gib=48, **first))
    assert plan(asked, deployed(box, asked).facts()).empty


def test_a_key_that_another_source_names_stays() -> None:
    other = f"deb [signed-by={docker_ce.KEYRING}] https://mirror.example/docker trixie stable\n"
    found = role(sourced(*DISTRO, source=OURS, key=KEY, other=other))
    assert written(found) == {docker_ce.SOURCE: ""}


# Engines that are not whole.


def engine(installed: Iterable[str], broken: Mapping[str, str], text: str = "") -> HostFacts:
    return host_facts(packages=packages(installed, broken), docker=text or stack.docker())


NO_DAEMON = stack.docker_down().replace("tool_dockerd=/usr/sbin/dockerd\n", "")


@pytest.mark.parametrize("state", ["iF", "iU", "iH", "it", "iW"])
@pytest.mark.parametrize("text", [stack.docker(), stack.docker_down()])
def test_packages_that_dpkg_left_half_way_are_finished(state: str, text: str) -> None:
    facts = engine(DISTRO[1:], {"docker.io": state}, text)
    assert why(role(facts), "packages", "installed") == ("docker.io",)
    assert refused(facts, "engine") == ()
    assert "docker.io is not installed" in verdict(facts, "docker.engine").observed


def test_dockers_own_packages_are_finished_as_such() -> None:
    facts = engine(CE[1:], {"docker-ce": "iF"}, stack.NO_DOCKER)
    assert why(role(facts), "packages", "installed") == ("docker-ce",)
    assert refused(facts, "engine") == ()


def test_what_is_broken_goes_for_dockers_own_too() -> None:
    facts = engine(DISTRO[1:], {"docker.io": "iF"})
    found = role(facts, docker_source="docker-ce")
    assert why(found, "packages", "removed") == ("docker.io", *DISTRO[1:])


@pytest.mark.parametrize(
    ("facts", "data", "told"),
    [
        pytest.param(
            engine((), {"docker.io": "iU", "docker-ce": "iF"}, stack.NO_DOCKER),
            {},
            "docker-ce and docker.io are both there, not whole",
            id="two engines half-way",
        ),
        pytest.param(
            engine((), {"docker-ce": "iF"}, stack.NO_DOCKER),
            {"docker_source": "distro"},
            "docker_source is distro, and docker-ce is installed",
            id="the other source, half-way",
        ),
        pytest.param(
            engine(("docker-ce-cli",), {}, NO_DAEMON),
            {},
            "docker-ce-cli of Docker's own packages is there without docker-ce",
            id="Docker's own client alone",
        ),
        pytest.param(
            engine(DISTRO, {}, NO_DAEMON),
            {},
            "docker.io is installed, and there is no dockerd: apt-get",
            id="packages without a daemon",
        ),
        pytest.param(
            engine(DISTRO, {}, stack.NO_DOCKER),
            {},
            "docker.io is installed, and there is no docker and no dockerd: apt-get",
            id="packages without a program",
        ),
    ],
)
def test_an_engine_that_apt_cannot_make_whole_is_left_alone(
    facts: HostFacts, data: dict[str, object], told: str
) -> None:
    (said,) = refused(facts, "engine", **data)
    assert told in said
    assert "\n" not in said


def test_a_client_of_the_distribution_gets_its_daemon() -> None:
    facts = engine(("docker-cli",), {}, NO_DAEMON)
    assert why(role(facts), "packages", "installed") == ("docker.io", "docker-compose")
    assert refused(facts, "engine") == ()


@pytest.mark.parametrize("kind", ["directory", "character special file", "socket"])
def test_what_is_no_file_is_not_taken_for_a_new_daemon_json(kind: str) -> None:
    facts = host_facts(daemon_json=framed({"kind": kind}))
    assert refused(facts, "daemon.json") == (
        f"/etc/docker/daemon.json is a {kind}: remove it, or put a file in its place",
    )
    found = verdict(facts, "docker.daemon_json")
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    assert kind in found.evidence
    assert role(facts).files == ()


@pytest.mark.parametrize("text", ["", "\n", "{}"])
def test_an_empty_daemon_json_gets_our_keys(text: str) -> None:
    facts = host_facts(daemon_json=framed({docker.DAEMON_JSON: text}))
    assert refused(facts, "daemon.json") == ()
    assert '"live-restore": true' in written(role(facts))[docker.DAEMON_JSON]


@pytest.mark.parametrize(
    ("box", "text", "reloads"),
    [
        pytest.param(Box(), "live-restore", True, id="a reload is enough"),
        pytest.param(Box(), "log-driver", False, id="a restart is needed"),
        pytest.param(Box(engine="down"), "live-restore", False, id="an engine that is stopped"),
        pytest.param(
            Box(newer=frozenset({docker.DAEMON_JSON})),
            "live-restore",
            False,
            id="a reload would hide what the operator changed before",
        ),
    ],
)
def test_dockerd_is_told_to_read_again_where_that_is_enough(
    box: Box, text: str, reloads: bool
) -> None:
    facts = box.facts()
    after = facts.daemon_json.daemon_json or ""
    kept = {key: value for key, value in json.loads(after).items() if key != text}
    change = FileChange(docker.DAEMON_JSON, json.dumps(kept), after, "our keys set", operators=True)
    assert docker.reloads(change, facts) == reloads


# The proxy, and who is reached without it.

PROXY = "http://proxy.example:3128"
SOURCES = """deb http://deb.lan/debian trixie main
deb [arch=amd64] https://mirror.site.example:8443/debian trixie-updates main
deb "http://10.1.2.3/debian" trixie main
deb http://[2001:db8::5]/debian trixie main
deb cdrom:[Debian 13]/ trixie main
deb http://[::1 trixie main
deb file:/srv/debian trixie main
deb mirror+file:/etc/apt/mirrors/site.list trixie main
# deb http://off.lan/debian trixie main
"""
MIRRORS = {"/etc/apt/mirrors/site.list": "# ours\nhttps://listed.lan/debian\tpriority:1\n\n"}
APT = host_facts(
    apt_sources="candidate firmware-amd-graphics 1\n" + framed({LIST: SOURCES, **MIRRORS})
)


@pytest.mark.parametrize(
    ("places", "direct"),
    [
        pytest.param(["localhost", "::1"], ["localhost"], id="the default"),
        pytest.param([".lan"], ["deb.lan", "listed.lan"], id="a domain"),
        pytest.param(["*.LAN"], ["deb.lan", "listed.lan"], id="with a star, in capitals"),
        pytest.param([".an"], [], id="the end of a word is no domain"),
        pytest.param(
            ["site.example"], ["site.example", "mirror.site.example"], id="a name and those below"
        ),
        pytest.param(["10.0.0.0/8"], ["10.1.2.3"], id="a network"),
        pytest.param(["2001:db8::/32"], [], id="a network that apt cannot name"),
        pytest.param(["mirror.site.example:8443"], ["mirror.site.example"], id="a port"),
        pytest.param(["mirror.site.example:443"], [], id="another port"),
        pytest.param([".docker.com"], ["download.docker.com"], id="Docker's, before it is asked"),
        pytest.param(
            ["*"],
            [
                "10.1.2.3",
                "deb.lan",
                "download.docker.com",
                "listed.lan",
                "mirror.site.example",
                "registry.ollama.ai",
            ],
            id="everything",
        ),
    ],
)
def test_a_domain_stands_for_the_hosts_of_apts_sources(
    places: list[str], direct: list[str]
) -> None:
    asked = settings(docker_proxy=PROXY, docker_no_proxy=places)
    assert unproxied.hosts(derive(asked, APT), APT) == direct
    text = written(role(APT, docker_proxy=PROXY, docker_no_proxy=places))[docker.APT_PROXY]
    lines = [line for line in text.splitlines() if "DIRECT" in line]
    assert lines == [
        f'Acquire::{scheme}::Proxy::{host} "DIRECT";'
        for host in direct
        for scheme in ("http", "https")
    ]


@pytest.mark.parametrize(
    ("model", "places", "direct"),
    [
        pytest.param("models.example/library/qwen", [".example"], "models.example", id="a domain"),
        pytest.param("Models.example/x/qwen", [".EXAMPLE"], "models.example", id="in capitals"),
        pytest.param("own_models.lan/x/qwen", ["*.lan"], "own_models.lan", id="no host of the DNS"),
        pytest.param("10.1.9.9:5000/x/qwen", ["10.1.0.0/16"], "10.1.9.9", id="a network"),
        pytest.param("m.example:5000/x/qwen", [".example:5000"], "m.example", id="its port"),
        pytest.param("m.example/x/qwen", [".example:443"], "m.example", id="the port of https"),
        pytest.param("m.example:5000/x/qwen", [".example:443"], "", id="another port"),
        pytest.param("models.other/x/qwen", [".example"], "", id="not covered"),
        pytest.param("qwen", [".ollama.ai"], "registry.ollama.ai", id="Ollama's own"),
        pytest.param("qwen", ["*"], "registry.ollama.ai", id="Ollama's own, as everything"),
    ],
)
def test_a_domain_stands_for_the_models_registries(
    model: str, places: list[str], direct: str
) -> None:
    """A deploy asks them with apt's downloader."""
    data = {"docker_proxy": PROXY, "docker_no_proxy": places, "models_list": [{"name": model}]}
    text = written(role(host_facts(), **data))[docker.APT_PROXY]
    found = re.findall(r'https::Proxy::(\S+) "DIRECT";', text)
    assert [host for host in found if host != unproxied.DOCKERS and "debian" not in host] == [
        host for host in [direct] if host
    ]


@pytest.mark.parametrize(("places", "told"), [(["2001:db8::/32"], True), ([".lan"], False)])
def test_what_apts_file_cannot_say_is_told(places: list[str], told: bool) -> None:
    notes = role(APT, docker_proxy=PROXY, docker_no_proxy=places).notes
    assert any("apt asks the proxy for 2001:db8::5, too" in note for note in notes) == told


def test_a_source_that_comes_later_is_named_by_the_next_deploy() -> None:
    asked = {"docker_proxy": PROXY, "docker_no_proxy": [".lan"]}
    before = written(role(host_facts(), **asked))[docker.APT_PROXY]
    files = {**unit_files(), docker.APT_PROXY: before}
    found = role(also(APT, units=stack.units(files)), **asked)
    assert 'Proxy::deb.lan "DIRECT"' in written(found)[docker.APT_PROXY]


# Debian's sources in other forms.

TRIXIE = "deb http://deb.example/debian trixie main\n"
ARCHIVE = "/usr/share/keyrings/debian-archive-keyring.gpg"
CLOUD = """Types: deb deb-src
URIs: mirror+file:///etc/apt/mirrors/debian.list
Suites: trixie trixie-updates
Components: main
"""
DEBIAN_LIST = {"/etc/apt/mirrors/debian.list": "https://deb.example/debian\n"}
PART = "main non-free-firmware"


def lacking(files: Mapping[str, str]) -> HostFacts:
    """A host without the firmware, which no source of it has."""
    missing = stack.packages("firmware-amd-graphics")
    return host_facts(packages=missing, apt_sources=framed(files))


@pytest.mark.parametrize(
    ("path", "text", "lists"),
    [
        pytest.param("a.sources", CLOUD, DEBIAN_LIST, id="a list of mirrors"),
        pytest.param(
            "a.sources",
            f"{CLOUD}Signed-By: {ARCHIVE}\n",
            {},
            id="a list that was not read, signed by Debian",
        ),
        pytest.param(
            "a.list",
            f"deb [signed-by={ARCHIVE}] mirror+https://m.example/list trixie main\n",
            {},
            id="a list on the network, signed by Debian",
        ),
        pytest.param("a.list", TRIXIE.replace("trixie", "stable"), {}, id="stable"),
        pytest.param("a.list", TRIXIE.replace("trixie", "oldstable"), {}, id="oldstable"),
        pytest.param("a.list", TRIXIE.replace("trixie", "testing"), {}, id="testing"),
    ],
)
def test_debians_source_is_known_by_what_it_says(
    path: str, text: str, lists: dict[str, str]
) -> None:
    full = f"/etc/apt/sources.list.d/{path}"
    facts = lacking({full: text, **lists})
    assert written(role(facts, "vulkan")) == {full: text.replace("main", PART)}
    assert refused(facts, "firmware") == ()


UNKNOWN = [
    pytest.param(CLOUD, {}, id="a list that was not read"),
    pytest.param(
        CLOUD,
        {"/etc/apt/mirrors/debian.list": "https://deb.example/debian\nhttps://x.example/apt\n"},
        id="a list with something else in it",
    ),
    pytest.param(CLOUD, {"/etc/apt/mirrors/debian.list": "# none\n"}, id="an empty list"),
    pytest.param(
        CLOUD.replace("mirror+file:///etc/apt/mirrors/debian.list", "https://x.example/debian")
        + "Signed-By: /etc/apt/keyrings/x.gpg\n",
        {},
        id="another's key",
    ),
    pytest.param(
        CLOUD.replace("mirror+file:///etc/apt/mirrors/debian.list", "https://x.example/apt"),
        {},
        id="another folder",
    ),
]


@pytest.mark.parametrize(("text", "lists"), UNKNOWN)
def test_a_source_that_is_not_understood_is_not_edited_and_named(
    text: str, lists: dict[str, str]
) -> None:
    path = "/etc/apt/sources.list.d/x.sources"
    (said,) = refused(lacking({path: text, **lists}), "firmware")
    assert said.endswith(f"add non-free-firmware to Debian's by hand (is it {path}?)")
    found = role(lacking({path: text, LIST: TRIXIE, **lists}), "vulkan")
    assert written(found) == {LIST: TRIXIE.replace("main", PART)}
    assert f"{path} is not known as Debian's: non-free-firmware is not added to it" in found.notes


def test_anothers_entry_in_the_same_file_stays_as_it_is() -> None:
    third = "deb http://x.example/apt trixie main\n"
    security = "deb http://deb.example/debian-security trixie-security main\n"
    found = role(lacking({LIST: TRIXIE + third + security}), "vulkan")
    assert written(found) == {
        LIST: TRIXIE.replace("main", PART) + third + security.replace("main", PART)
    }


def test_the_releases_own_name_comes_before_names_that_move() -> None:
    path = "/etc/apt/sources.list.d/testing.list"
    facts = lacking({LIST: TRIXIE, path: TRIXIE.replace("trixie", "testing")})
    assert set(written(role(facts, "vulkan"))) == {LIST}


def test_lists_of_mirrors_and_keys_are_no_sources() -> None:
    text = framed({**DEBIAN_LIST, docker_ce.KEYRING: "deb http://x trixie main\n"})
    read = apt_sources.parse(text)
    assert read.sources == ()
    assert len(read.files) == 2


# A site's certificates that nobody asks for any more.

MOUNT = {"Type": "bind", "Source": site_ca.PATH, "Destination": "/etc/ssl/certs/apuhost-site.crt"}
WEB = {"name": "/web", "image": "web:1", "mounts": [MOUNT]}


def mounted(*containers: str) -> HostFacts:
    """A host that has the file, and these containers."""
    files = {**unit_files(), site_ca.PATH: CA}
    return host_facts(
        units=stack.units(files), containers=stack.containers(*containers, stack.image())
    )


OURS_MOUNTS = stack.container(mounts=[stack.CONTAINER["mounts"][0], MOUNT])
OTHERS_MOUNTS = stack.container({}, {}, **WEB)


def test_certificates_go_although_our_container_still_mounts_them() -> None:
    facts = mounted(OURS_MOUNTS)
    found = role(facts)
    assert written(found) == {site_ca.PATH: ""}
    assert why(found, "certificates") == (f"{site_ca.PATH} goes",)
    assert why(found, "engine") == (f"{site_ca.PATH} changes",)
    assert site_ca.mounting(facts) == ("ollama",)


def test_the_first_step_never_takes_them_away() -> None:
    facts = mounted(stack.container())
    derived = derive(settings(), facts)
    assert docker.network(derived, facts) == ()
    assert site_ca.mounting(facts) == ()
    assert [change.after for change in site_ca.leaving(derived, facts)] == [""]


@pytest.mark.parametrize(
    ("facts", "data", "told"),
    [
        pytest.param(
            mounted(stack.container(), OTHERS_MOUNTS), {}, "web mounts it", id="another container"
        ),
        pytest.param(
            mounted(OURS_MOUNTS),
            {"host_roles": ["docker"]},
            "ollama mounts it",
            id="ours, which nobody makes again",
        ),
        pytest.param(
            also(replace(Box(), engine="down").facts(), units=stack.units({site_ca.PATH: CA})),
            {},
            "goes when Docker tells",
            id="an engine that does not answer",
        ),
    ],
)
def test_certificates_stay_while_somebody_may_mount_them(
    facts: HostFacts, data: dict[str, object], told: str
) -> None:
    found = role(facts, **data)
    assert site_ca.PATH not in written(found)
    assert any(note.startswith(site_ca.PATH) and told in note for note in found.notes)


def test_certificates_that_are_left_over_are_judged() -> None:
    found = verdict(mounted(stack.container()), "docker.network")
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    kept = verdict(mounted(stack.container(), OTHERS_MOUNTS), "docker.network")
    assert kept.status is Status.PASS


def test_certificates_go_after_the_container_was_made_again() -> None:
    parts = [part.name for part in ORDER]
    assert parts.index("ollama") < parts.index("certificates that go") < parts.index("models")
    assert ORDER[0].steps[0].name == "admit"
    assert parts.index("mirror") < parts.index("network")
    assert parts[-2:] == ["boot", "bundle"]
