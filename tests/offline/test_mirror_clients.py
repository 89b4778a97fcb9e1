"""What a host of a site with a mirror is led by, refused for, and judged by."""

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest
from tests.support import mirrored, stack
from tests.support.hosts import host_facts, settings
from tests.support.mirrored import ADDRESS, CA, IMAGE, REGISTRY, asked, client, files, supplied
from tests.support.stack import framed
from tests.support.verdicts import also

from apuhost.changes import compose, docker, docker_ce, image, offer, ollama, store, supply, vulkan
from apuhost.changes.host import plan
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Blob
from apuhost.probes import ParseError, mirror, mirror_answers, model_blobs
from apuhost.probes.mirror import APT_KEY, CERTIFICATE, LOCK, NEWEST
from apuhost.round_trip import Reading
from apuhost.settings.models import PinnedModel
from apuhost.verdicts import Status, Verdict
from apuhost.verdicts import mirror as verdicts
from apuhost.verdicts.refusals import by_topic
from apuhost.verdicts.refusals.supply import SUPPLY

HOSTS_TOML = "/etc/docker/certs.d/docker.io/hosts.toml"
DRIVER = [["driver-type", "io.containerd.snapshotter.v1"]]
CONTAINERD_28 = stack.docker(DriverStatus=DRIVER, ServerVersion="28.5.2+dfsg4")
CONTAINERD_26 = stack.docker(DriverStatus=DRIVER)
AT_MIRROR = f"{REGISTRY}/{IMAGE}"


def written(facts: HostFacts, **data: object) -> dict[str, str]:
    return {change.path: change.after for change in supply.files(asked(facts, **data), facts)}


# --- what leads there


def test_apt_and_docker_are_led_to_the_mirror() -> None:
    found = written(client())
    assert f"URIs: https://{ADDRESS}:8443/apt\nSuites: trixie\n" in found[mirror.SOURCE]
    assert "Signed-By: /etc/apuhost/mirror/apt.asc\n" in found[mirror.SOURCE]
    assert f'::{ADDRESS}::CAInfo "{CERTIFICATE}";' in found[supply.APT_CONF]
    assert f'Acquire::https::Proxy::{ADDRESS} "DIRECT";' in found[supply.APT_CONF]
    for option in ("Verify-Peer", "Verify-Host"):
        assert f'Acquire::https::{ADDRESS}::{option} "true";' in found[supply.APT_CONF]
    assert found[f"/etc/docker/certs.d/{REGISTRY}/ca.crt"] == CA


def test_nobody_outside_is_the_last_server_of_a_registry() -> None:
    """A file that is no TOML would lead dockerd outside without a word."""
    told = tomllib.loads(written(client())[HOSTS_TOML])
    place = f"https://{REGISTRY}/v2/docker.io"
    assert told["server"] == place
    assert list(told["host"]) == [place]
    for each in (told, told["host"][place]):
        assert each["override_path"] is True
        assert set(each["capabilities"]) == {"pull", "resolve"}
        assert each["ca"] == CERTIFICATE


def test_each_registry_of_the_lock_is_led() -> None:
    one, lock = Blob(mirrored.digest("x"), 1), mirrored.lock()
    other = replace(lock.images[0], reference=f"ghcr.io/a/b:1@{one.digest}")
    found = written(client(files(replace(lock, images=(other, *lock.images)))))
    assert {path for path in found if path.endswith("hosts.toml")} == {
        HOSTS_TOML, "/etc/docker/certs.d/ghcr.io/hosts.toml",
    }  # fmt: skip


def test_a_host_that_was_led_has_nothing_due() -> None:
    facts = supplied()
    assert written(facts) == {}


def test_what_the_mirror_gives_no_more_goes() -> None:
    found = written(supplied(), mirror_parts=["models"])
    assert found == {mirror.SOURCE: "", HOSTS_TOML: "", CA_CRT: ""}


def test_without_a_lock_nothing_is_known() -> None:
    assert written(host_facts()) == {}


def test_a_host_whose_inventory_names_no_mirror_is_not_touched() -> None:
    found = plan(settings(), client())
    assert found.empty
    assert not any("mirror" in note for note in found.notes)


def left(facts: HostFacts, **data: object) -> dict[str, str]:
    """What a plan writes of the mirror role."""
    found = plan(settings(**data), facts)
    return {
        each.path: each.after
        for role in found.roles
        if role.role == "mirror"
        for each in role.files
    }


CA_CRT = f"/etc/docker/certs.d/{REGISTRY}/ca.crt"
FOREIGN_CA = "/etc/docker/certs.d/registry.lan/ca.crt"
ALL_OF_IT = {mirror.SOURCE: "", supply.APT_CONF: "", HOSTS_TOML: "", CA_CRT: ""}


def beside(facts: HostFacts, **changed: str | None) -> HostFacts:
    """The same host with other files that the probe of the mirror reads; None: without one."""
    parts = {each.path: each.text for each in facts.mirror.files} | changed
    text = framed({path: text for path, text in parts.items() if text is not None})
    return HostFacts(facts.host, facts.gathered, {**facts.readings, "mirror": Reading(text, 0)})


def test_a_host_that_leaves_its_mirror_keeps_nothing_that_leads_there() -> None:
    facts = beside(supplied(), **{FOREIGN_CA: "another's\n"})
    assert left(facts) == ALL_OF_IT
    (note,) = [each for each in plan(settings(), facts).notes if "/etc/apuhost/mirror" in each]
    assert note.startswith("/etc/apuhost/mirror stays")
    gone = beside(host_facts(), **{FOREIGN_CA: "another's\n"})
    assert left(gone) == {}


@pytest.mark.parametrize("lost", [(LOCK,), tuple(files())])
def test_what_leads_there_goes_without_the_lock_too(lost: tuple[str, ...]) -> None:
    """Our own file that leads to a registry tells whose certificate it is, where the CA is gone."""
    assert left(beside(supplied(), **dict.fromkeys(lost))) == ALL_OF_IT


def test_a_role_that_is_not_the_hosts_takes_nothing_back() -> None:
    assert left(supplied(), host_roles=["vulkan", "docker"]) == {}


def test_files_of_our_names_that_are_not_ours_stay() -> None:
    facts = supplied()
    texts = {
        name: facts.readings[name].text.replace("Written by apuhost;", "Written by another.")
        for name in ("apt_sources", "units")
    }
    assert left(also(facts, **texts)) == {HOSTS_TOML: "", CA_CRT: ""}


def test_another_address_leaves_no_certificate_of_the_mirror_before() -> None:
    """The CA that the host knows may be the new mirror's by then."""
    other = "192.0.2.9"
    for ca in (CA, CA.replace("MIIB", "MIIC")):
        facts = beside(supplied(), **{CERTIFICATE: ca, FOREIGN_CA: "another's\n"})
        found = written(facts, mirror_address=other)
        assert found[CA_CRT] == ""
        assert found[f"/etc/docker/certs.d/{other}:5000/ca.crt"] == ca
        assert f"https://{other}:5000/" in found[HOSTS_TOML]
        assert f"https://{other}:8443/apt" in found[mirror.SOURCE]
        assert FOREIGN_CA not in found
        assert written(facts, mirror_registry_port=5001)[CA_CRT] == ""


def test_the_highest_serial_is_kept() -> None:
    facts = client()
    (change,) = supply.newest(asked(facts), facts)
    assert (change.path, change.after) == (NEWEST, "5\n")
    for serial, due in ((4, 1), (5, 0), (6, 0)):
        facts = client(files(newest=f"{serial}\n"))
        assert len(supply.newest(asked(facts), facts)) == due


# --- whom Docker asks


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(stack.docker(), AT_MIRROR, id="its own store"),
        pytest.param(stack.docker(ServerVersion="29.1.0"), AT_MIRROR, id="its own store, 29"),
        pytest.param(CONTAINERD_26, AT_MIRROR, id="containerd's, which reads no hosts.toml yet"),
        pytest.param(CONTAINERD_28, IMAGE, id="containerd's"),
        pytest.param(stack.NO_DOCKER, AT_MIRROR, id="none yet"),
    ],
)
def test_by_which_name_docker_asks(engine: str, name: str) -> None:
    facts = client(docker=engine)
    assert image.reference(asked(facts), facts) == name
    assert image.reference(asked(facts, mirror_parts=["apt"]), facts) == IMAGE
    assert len(tuple(image.notes(asked(facts), facts))) == 1


def test_a_registrys_port_is_no_colon_in_the_mirrors_path() -> None:
    name = f"registry.lan:5001/ollama/ollama:0.34.4@{stack.IMAGE_DIGEST}"
    facts = client()
    found = image.reference(asked(facts, ollama_image=name), facts)
    assert found == f"{REGISTRY}/registry.lan_5001/ollama/ollama:0.34.4@{stack.IMAGE_DIGEST}"


def test_the_compose_file_names_what_is_pulled() -> None:
    facts = client()
    (change,) = compose.file(asked(facts), facts)
    assert f'image: "{AT_MIRROR}"' in change.after
    assert ollama.image(asked(facts), facts) == (AT_MIRROR,)


@pytest.mark.parametrize(
    ("engine", "here", "due"),
    [
        pytest.param(stack.docker(), "ollama/ollama", True, id="by another name"),
        pytest.param(stack.docker(), f"{REGISTRY}/docker.io/ollama/ollama", False, id="there"),
        pytest.param(CONTAINERD_28, "ollama/ollama", False, id="led, by its own name"),
        pytest.param(CONTAINERD_28, "elsewhere.example/ollama", True, id="led, by another"),
    ],
)
def test_an_image_is_here_by_the_name_that_docker_asks(engine: str, here: str, due: bool) -> None:
    """Docker finds an image by its repository and digest, and compose pulls none."""
    text = stack.containers(stack.container(), stack.image()).replace("ollama/ollama@", f"{here}@")
    facts = client(docker=engine, containers=text)
    assert bool(ollama.image(asked(facts), facts)) is due


def test_dockerd_reaches_the_mirror_without_the_proxy() -> None:
    facts, proxy = client(), {"docker_proxy": "http://proxy.example:3128"}
    files = {change.path: change.after for change in docker.network(asked(facts, **proxy), facts)}
    assert f"{ADDRESS}" in files[docker.PROXY_DROP_IN].partition("NO_PROXY=")[2]
    without = asked(facts, **proxy, mirror_parts=["apt"])
    assert (
        ADDRESS
        not in {c.path: c.after for c in docker.network(without, facts)}[docker.PROXY_DROP_IN]
    )


# --- whom apt asks


def test_no_source_of_the_hosts_own_is_edited_or_added() -> None:
    bare: dict[str, Any] = {
        "packages": "native amd64\nend\n",
        "apt_sources": framed(
            {"/etc/apt/sources.list": "deb http://deb.debian.org/debian trixie main\n"}
        ),
    }
    facts, outside = client(**bare), host_facts(**bare)
    assert vulkan.sources(derive(settings(), outside), outside)
    assert vulkan.sources(asked(facts), facts) == ()
    ours = asked(facts, docker_source="docker-ce")
    assert docker_ce.repository(ours, facts) == ()
    assert docker_ce.key(ours, facts) == ()
    assert docker_ce.key(asked(facts, docker_source="docker-ce", mirror_parts=["images"]), facts)


# --- models


def test_a_model_is_asked_of_the_mirror_by_its_place_in_a_store() -> None:
    facts = client()
    manifest, blobs = offer.source("qwen3.6:35b-a3b", asked(facts), facts)
    place = f"https://{ADDRESS}:8443/models"
    assert manifest == f"{place}/manifests/registry.ollama.ai/library/qwen3.6/35b-a3b"
    assert blobs == f"{place}/blobs/sha256-"
    outside = derive(settings(), facts)
    assert offer.source("qwen3.6:35b-a3b", outside, facts)[1].startswith("https://registry.ollama")


def test_the_colon_of_a_registrys_port_is_as_the_bundle_writes_it() -> None:
    facts = client()
    manifest, _ = offer.source("models.lan:5001/me/tiny:1", asked(facts), facts)
    assert manifest.endswith("/manifests/models.lan%253A5001/me/tiny/1")


def test_a_model_that_nobody_pins_is_the_locks() -> None:
    facts = client()
    loose = PinnedModel(name="QWEN3.6:35b-a3b")
    assert store.pinned(loose, asked(facts), facts).digest == stack.QWEN.digest
    assert store.pinned(loose, derive(settings(), facts), facts).digest == ""
    pinned = PinnedModel(name="qwen3.6:35b-a3b", digest="a" * 64)
    assert store.pinned(pinned, asked(facts), facts).digest == "a" * 64


# --- refusals


def refused(facts: HostFacts, **data: object) -> dict[str, tuple[str, ...]]:
    derived = asked(facts, **data)
    found = by_topic(derived.settings, derived, facts)
    return {topic: found[topic] for topic in SUPPLY if found[topic]}


BARE = {
    "packages": "native amd64\nend\n",
    "docker": stack.NO_DOCKER,
    "containers": "absent\n",
    "model_store": framed({"end": ""}),
}


def test_a_bare_host_whose_bundle_has_everything_may_be_deployed() -> None:
    assert refused(client(**BARE)) == {}


@pytest.mark.parametrize("lacking", [CERTIFICATE, LOCK, "/etc/apuhost/mirror/apt.asc"])
def test_a_host_without_a_site_file_is_told_what_to_type(lacking: str) -> None:
    facts = client({path: text for path, text in files().items() if path != lacking})
    (said,) = refused(facts)["mirror"]
    assert lacking in said
    assert "apuhost bundle install" in said


def test_a_lock_that_is_none_is_refused() -> None:
    assert LOCK in refused(client({**files(), LOCK: "{"}))["mirror"][0]


@pytest.mark.parametrize(
    ("topic", "changed", "words"),
    [
        ("bundle's packages", {"debs": mirrored.lock().debs[2:]}, "docker-cli"),
        ("bundle's packages", {"debs": ()}, "has no packages: take apt out of mirror_parts, or"),
        ("bundle's image", {"images": ()}, "ollama/ollama"),
        ("bundle's models", {"models": ()}, "qwen3.6:35b-a3b"),
        (
            "bundle's models",
            {"models": (replace(mirrored.model(), manifest=Blob(mirrored.digest("y"), 1)),)},
            "qwen3.6:35b-a3b",
        ),
        (
            "bundle's target",
            {"target": replace(mirrored.lock().target, suite="bookworm")},
            "trixie",
        ),
        ("clock", {"created": "2099-01-01T00:00:00+00:00"}, "timedatectl"),
    ],
)
def test_a_bundle_that_lacks_something_is_refused_with_what_it_lacks(
    topic: str, changed: dict[str, object], words: str
) -> None:
    facts = client(files(mirrored.lock(**changed)), **BARE)
    found = refused(facts)
    assert list(found) == [topic]
    assert words in found[topic][0]
    assert refused(facts, mirror_parts=[]).keys() <= {"clock"}


def test_what_is_here_already_need_not_be_in_the_bundle() -> None:
    image_here = stack.containers(stack.container(), stack.image()).replace(
        "ollama/ollama@", f"{REGISTRY}/docker.io/ollama/ollama@"
    )
    lock = mirrored.lock(debs=mirrored.lock().debs[:1], images=(), models=())
    assert refused(client(files(lock), containers=image_here)) == {}


def test_the_key_of_a_bundle_without_packages_is_not_asked_for() -> None:
    """It has none, and installing it again would bring none."""
    lock = mirrored.lock(debs=())
    facts = client({path: text for path, text in files(lock).items() if path != APT_KEY})
    (topic, (said,)) = refused(facts).popitem()
    assert topic == "bundle's packages"
    assert said.startswith("bundle 5 has no packages: take apt out of mirror_parts")
    found = judged(facts)["mirror.apt"]
    assert "bundle 5 has no packages" in found.observed
    assert "mirror_parts" in found.fix
    assert refused(facts, mirror_parts=["images", "models"]) == {}


def test_a_hosts_toml_of_somebody_else_is_not_written_over() -> None:
    text = framed(files()) + f"==> 0 foreign {HOSTS_TOML}\n\n"
    assert HOSTS_TOML in refused(host_facts(mirror=text))["registries"][0]


# --- verdicts


def judged(facts: HostFacts, **data: object) -> dict[str, Verdict]:
    derived = asked(facts, **data)
    return {each.id: each for each in verdicts.verdicts(derived.settings, derived, facts)}


def healthy(**found: str) -> HostFacts:
    """Deployed from the mirror, to the compose file and the models' sizes."""
    facts = supplied(**found)
    (change,) = compose.file(asked(facts), facts)
    return supplied(**{"compose": framed({compose.PATH: change.after}), **found})


def test_a_host_that_was_deployed_from_the_mirror_is_good() -> None:
    found = judged(healthy())
    assert {name: each.status for name, each in found.items() if name != "mirror.serving"} == {
        name: Status.PASS for name in found if name != "mirror.serving"
    }


def test_a_part_that_the_mirror_does_not_give_is_not_judged() -> None:
    found = judged(healthy(), mirror_parts=[])
    skipped = {name for name, each in found.items() if each.status is Status.SKIP}
    assert {f"mirror.{each}" for each in ("registry", "fallback", "apt", "models")} <= skipped


def changed_file(path: str, text: str) -> HostFacts:
    facts = healthy()
    parts = {file.path: file.text for file in facts.mirror.files}
    changed = Reading(framed({**parts, path: text}), 0)
    return HostFacts(facts.host, facts.gathered, {**facts.readings, "mirror": changed})


ENGINE = stack.docker(
    RegistryConfig={"InsecureRegistryCIDRs": ["192.0.2.0/24"], "IndexConfigs": {}, "Mirrors": None}
)


@pytest.mark.parametrize(
    ("name", "facts", "words"),
    [
        ("registry", healthy(mirror_answers=mirrored.answers("no such manifest")), "no such"),
        ("registry", healthy(mirror_answers="end\n"), "no such image"),
        ("fallback", changed_file(HOSTS_TOML, "# Written by apuhost;\nserver = 'x'"), "rendered"),
        ("fallback", supplied(), "leads elsewhere"),
        ("fallback", healthy(docker=ENGINE), "certificate"),
        ("apt", client(), "is not there"),
        ("apt", healthy(mirror_answers="end\n"), "nothing of it"),
        ("apt", healthy(mirror_answers=mirrored.answers(version="0")), "would install 0"),
        (
            "apt",
            healthy(mirror_answers=f"source http://deb.debian.org/debian x\n{mirrored.answers()}"),
            "another source",
        ),
        ("apt", healthy(mirror_answers=mirrored.answers(tls="")), "another certificate"),
        (
            "apt",
            healthy(mirror_answers=mirrored.answers(tls=f"{mirrored.TLS}tls verify-host 0\n")),
            "Verify-Host",
        ),
        (
            "apt",
            healthy(mirror_answers=mirrored.answers(tls=mirrored.TLS.replace("true", "false"))),
            'Verify-Peer "false"',
        ),
        ("clock", supplied(files(mirrored.lock(created="2099-01-01T00:00:00+00:00"))), "it is"),
        ("serial", supplied(files(newest="7\n")), "older than 7"),
        ("models", supplied(files(mirrored.lock(models=()))), "does not have it"),
    ],
)
def test_what_differs_is_named(name: str, facts: HostFacts, words: str) -> None:
    found = judged(facts)[f"mirror.{name}"]
    assert found.status is Status.FAIL
    assert words in f"{found.observed} {found.evidence}"
    assert found.fix


def test_a_host_that_checks_nobody_else_checks_the_mirror() -> None:
    loose = (
        f"{mirrored.TLS}tls {ADDRESS}::Verify-Host true\ntls Verify-Host no\ntls Verify-Peer no\n"
    )
    found = judged(healthy(mirror_answers=mirrored.answers(tls=loose)))["mirror.apt"]
    assert found.status is Status.PASS


def test_every_byte_of_a_model_is_judged_only_where_it_was_read() -> None:
    weights = f"sha256-{stack.sha256(stack.QWEN.weights)}"
    names = [each for each in stack.QWEN.blobs if each != weights]
    good = "".join(f"{each} {each.removeprefix('sha256-')}\n" for each in names)
    for line, status in (
        (f"{weights} {weights.removeprefix('sha256-')}\n", Status.PASS),
        (f"{weights} {'0' * 64}\n", Status.FAIL),
        ("", Status.UNKNOWN),
    ):
        found = judged(healthy(model_blobs=f"{good}{line}end\n"))["mirror.models"]
        assert found.status is status
    assert (
        "rm "
        in judged(healthy(model_blobs=f"{good}{weights} {'0' * 64}\nend\n"))["mirror.models"].fix
    )


# --- probes


def test_a_probe_that_was_cut_is_unreadable() -> None:
    for parse in (mirror_answers.parse, model_blobs.parse):
        with pytest.raises(ParseError):
            parse("source x\n")


def test_the_newest_serial_is_a_number_or_nothing() -> None:
    for text, found in (("7\n", 7), ("x", None), ("", None)):
        assert mirror.parse(framed({NEWEST: text})).newest == found
    assert json.loads(mirror.parse(framed(files())).text(LOCK) or "")["serial"] == 5
