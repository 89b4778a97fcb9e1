"""What a mirror's host is made to serve, when it is left alone, and how it is judged."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import mirrors, stack
from tests.support.hosts import NOW, host_facts, settings
from tests.support.mirrors import ADDRESS, DAY_S, Kept
from tests.support.taking import Still
from tests.support.verdicts import also, failing, unread, verdict

from apuhost.changes import RolePlan, serving
from apuhost.changes.host import plan
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Image
from apuhost.oci import storage
from apuhost.oci.storage import Storage
from apuhost.probes import ParseError, mirror_serving
from apuhost.probes.mirror import LOCK
from apuhost.probes.mirror_serving import FILES, FILES_CONF, REGISTRY, REGISTRY_CONF
from apuhost.steps import Script, files
from apuhost.steps.mirror import LEAVING, STOP
from apuhost.steps.order import ORDER
from apuhost.verdicts import Layer, Status
from apuhost.verdicts.refusals import by_topic

END = LEAVING[0]
TREE = serving.tree(mirrors.lock())
BLOBS = "docker/registry/v2/blobs/sha256"
REPOSITORIES = "docker/registry/v2/repositories"
ASKED: dict[str, Any] = {"mirror_address": ADDRESS, "mirror_serve": True}
HOUR_S = 3600


def links(*images: Image) -> dict[str, str]:
    return dict(storage.storage(images).links)


def hexadecimal(text: str) -> str:
    return mirrors.digest(text).removeprefix("sha256:")


def test_a_registrys_tree_has_every_blob_and_every_pointer() -> None:
    found = storage.storage([mirrors.image()])
    for part in ("index", "manifest", "config", "layer 1", "layer 2"):
        name = hexadecimal(part)
        assert (f"{BLOBS}/{name[:2]}/{name}/data", f"sha256:{name}") in found.data
    assert len(found.data) == 5
    own = f"{REPOSITORIES}/docker.io/ollama/ollama"
    pointed = {path.removeprefix(f"{own}/"): digest for path, digest in found.links if own in path}
    assert pointed == {
        f"_manifests/revisions/sha256/{hexadecimal('index')}/link": mirrors.digest("index"),
        f"_manifests/revisions/sha256/{hexadecimal('manifest')}/link": mirrors.digest("manifest"),
        "_manifests/tags/1/current/link": mirrors.digest("index"),
        **{
            f"_layers/sha256/{hexadecimal(part)}/link": mirrors.digest(part)
            for part in ("config", "layer 1", "layer 2")
        },
    }
    assert f"{REPOSITORIES}/ollama/ollama/_manifests/tags/1/current/link" in dict(found.links)
    assert len(found.links) == 2 * len(pointed)


def test_a_path_of_two_registries_is_below_its_registry_only() -> None:
    two = (mirrors.image("quay.io/team/app:1"), mirrors.image("ghcr.io/team/app:1", of="other "))
    found = links(*two)
    tags = {path.removeprefix(f"{REPOSITORIES}/"): digest for path, digest in found.items()}
    assert tags["quay.io/team/app/_manifests/tags/1/current/link"] == mirrors.digest("index")
    assert tags["ghcr.io/team/app/_manifests/tags/1/current/link"] == mirrors.digest("other index")
    assert not [path for path in tags if path.startswith("team/")]


def test_two_tags_of_one_registry_share_a_repository() -> None:
    found = links(mirrors.image("quay.io/team/app:1"), mirrors.image("quay.io/team/app:2", of="b"))
    assert f"{REPOSITORIES}/team/app/_manifests/tags/1/current/link" in found
    assert f"{REPOSITORIES}/team/app/_manifests/tags/2/current/link" in found


def test_a_port_is_no_part_of_a_repositorys_path() -> None:
    found = links(mirrors.image("registry.lan:5000/team/app:1"))
    assert f"{REPOSITORIES}/registry.lan_5000/team/app/_manifests/tags/1/current/link" in found


def test_an_image_without_a_tag_has_none() -> None:
    pinned = mirrors.image("docker.io/ollama/ollama")
    assert not [path for path in links(pinned) if "/tags/" in path]
    assert storage.storage([]) == Storage((), ())


def test_a_tree_leads_to_the_bundles_own_files_and_has_another_name_for_others() -> None:
    lines = serving.listing(mirrors.lock()).splitlines()
    name = hexadecimal("config")
    up = "../" * 9
    data = f"data {BLOBS}/{name[:2]}/{name}/data {up}bundles/7/images/blobs/sha256/{name}"
    assert data in lines
    assert lines[-1] == "end"
    others = [mirrors.lock(serial=8), mirrors.lock(mirrors.image(of="other "))]
    assert len({TREE, *map(serving.tree, others)}) == 3


def planned(facts: HostFacts, **data: object) -> RolePlan:
    found = plan(mirrors.asked(kernel_gtt_gib=48, **data), facts)
    return next(role for role in found.roles if role.role == "mirror")


def bare() -> HostFacts:
    """A host to which a bundle was brought, and nothing else was done."""
    nothing = Kept(mirrors.lock(), current="", certified=False)
    off = {name: {"LoadState": "not-found", "UnitFileState": ""} for name in mirrors.UNITS}
    return mirrors.mirror(nothing, listening=(), changed=off, packages=stack.packages())


def test_a_bare_mirror_gets_all_of_it_in_order() -> None:
    found = planned(bare())
    paths = [change.path for change in found.files]
    units = [f"/etc/systemd/system/{name}" for name in (FILES, REGISTRY)]
    assert paths[:4] == [FILES_CONF, REGISTRY_CONF, *units], "then what leads to it"
    done = {action.what: action.why for action in found.actions}
    assert done["packages of the mirror"] == ("docker-registry", "nginx", "openssl")
    assert done["bundle 7"] == ("its images are not in the registry", "no bundle is")
    assert done["the mirror's certificate"] == ("there is none",)
    assert list(done)[-2:] == [REGISTRY, FILES]
    own = ("docker-registry.service", "nginx.service")
    assert list(done)[:2] == [*own], "before its package would start it"
    assert all("its package would start it" in done[name][0] for name in own)


def test_a_service_of_the_host_that_was_there_before_is_not_masked() -> None:
    found = mirrors.mirror(Kept(mirrors.lock()), lacking="nginx")
    masked = [each.what for each in planned(found).actions if each.how.startswith("masked")]
    assert masked == ["nginx.service"]


def test_the_ports_to_open_are_told_while_they_are_new() -> None:
    (note,) = planned(bare()).notes
    assert f"listens at {ADDRESS}: let the site's hosts reach its TCP ports 5000" in note
    assert "8443" in note
    assert planned(mirrors.served()).notes == ()


def test_a_mirror_after_a_deploy_has_nothing_to_do() -> None:
    facts = mirrors.served()
    assert serving.files(derive(mirrors.asked(), facts), facts) == ()
    assert planned(facts).actions == ()


def test_a_host_that_is_no_mirror_gets_nothing_of_it() -> None:
    asked, facts = settings(mirror_address=ADDRESS), host_facts()
    derived = derive(asked, facts)
    assert serving.files(derived, facts) == ()
    assert serving.actions(derived, facts) == ()
    assert serving.notes(derived, facts) == ()


def taken_back(facts: HostFacts, **data: object) -> RolePlan:
    found = plan(settings(**data), facts)
    return next(role for role in found.roles if role.role == "mirror")


OF_SERVING = {FILES_CONF, REGISTRY_CONF, *(f"/etc/systemd/system/{each}" for each in mirrors.UNITS)}


@pytest.mark.parametrize("data", [{}, {"mirror_address": ADDRESS}], ids=["none", "another's"])
def test_a_host_that_is_the_mirror_no_more_does_not_listen(data: dict[str, object]) -> None:
    found = taken_back(mirrors.served(), **data)
    gone = {each.path for each in found.files if each.after == "" and each.path in OF_SERVING}
    assert gone == OF_SERVING
    done = {each.what: (each.how, each.why) for each in found.actions}
    why = ("mirror_serve is off, and it is active and enabled",)
    assert done == dict.fromkeys(mirrors.UNITS, ("stopped and disabled", why))
    assert found.notes[0].startswith("bundles and the CA with its key stay: rm -r /var/lib/apuhost")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"ActiveState": "activating", "UnitFileState": ""}, "activating"),
        ({"ActiveState": "failed", "UnitFileState": "enabled"}, "enabled"),
        ({"ActiveState": "inactive", "UnitFileState": "disabled"}, None),
        ({"ActiveState": "inactive", "UnitFileState": "masked"}, None),
    ],
)
def test_what_is_left_of_a_unit_is_ended(changed: dict[str, str], why: str | None) -> None:
    off = {"ActiveState": "inactive", "UnitFileState": "disabled"}
    both = {REGISTRY: changed, FILES: off}
    facts = mirrors.mirror(Kept(mirrors.lock()), changed=both)
    done = {each.what: each.why for each in taken_back(facts).actions}
    assert done == ({REGISTRY: (f"mirror_serve is off, and it is {why}",)} if why else {})


def test_a_deploy_stops_both_before_their_files_go() -> None:
    first, *written, last = END.work(Still(settings(), mirrors.served()))
    assert isinstance(first, Script)
    assert isinstance(last, Script)
    assert (first.text, set(first.arguments)) == (STOP, set(mirrors.UNITS))
    gone = {each.change.path for each in written if isinstance(each, Script) and each.change}
    assert (gone, len(written)) == (OF_SERVING, len(OF_SERVING))
    assert "systemctl daemon-reload" in last.text
    idle = Still(settings(), host_facts())
    assert list(END.work(idle)) == []
    assert idle.said == ["nothing serves that must not"]


def test_what_a_mirror_left_is_taken_back_wherever_the_role_is_chosen() -> None:
    (part,) = [each for each in ORDER if each.leaving]
    assert END in part.steps
    for asked, taken in (
        (settings(), True),
        (mirrors.asked(), True),
        (settings(host_roles=["docker"]), False),
    ):
        assert part.of(asked) == taken
    others = [each for each in ORDER if each.role == "mirror" and not each.leaving]
    assert not any(each.of(settings()) for each in others)
    assert all(each.of(mirrors.asked()) for each in others)


def test_a_host_that_served_and_was_taken_back_has_nothing_due() -> None:
    off = {"ActiveState": "inactive", "UnitFileState": "", "LoadState": "not-found"}
    facts = mirrors.mirror(Kept(mirrors.lock()), changed=dict.fromkeys(mirrors.UNITS, off))
    assert taken_back(facts).empty
    assert taken_back(facts).notes == ()


def test_a_host_that_serves_though_another_is_asked_to_is_told() -> None:
    found = verdict(mirrors.served(), "mirror.serving", mirror_address=ADDRESS)
    assert failing(found) == (Status.FAIL, Layer.LIVE)
    assert FILES in found.observed


def kept(**changes: Any) -> HostFacts:  # noqa: ANN401  (parts of several types)
    """A mirror's host after a deploy, but for these parts of what it keeps."""
    made = replace(Kept(mirrors.lock(), trees=(TREE,)), **changes)
    return mirrors.mirror(made, files=mirrors.rendered(mirrors.asked(), made))


def done(facts: HostFacts, what: str, **data: object) -> tuple[str, ...]:
    return next((each.why for each in planned(facts, **data).actions if each.what == what), ())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"trees": ("0123456789abcdef",)}, ("its images are not in the registry",)),
        ({"current": "bundles/6"}, ("bundle 6 is",)),
        ({"current": ""}, ("no bundle is",)),
    ],
)
def test_why_a_bundle_is_not_served(changes: dict[str, Any], why: tuple[str, ...]) -> None:
    assert done(kept(**changes), "bundle 7") == why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"certified": False}, "there is none"),
        ({"days": 89}, "it ends within 90 days"),
        ({"days": -1}, "it ends within 90 days"),
        ({"signed": False}, "it is not of the CA here"),
        ({"names": "DNS:mirror.lan"}, f"it is for DNS:mirror.lan, not for IP Address:{ADDRESS}"),
    ],
)
def test_why_a_certificate_is_made(changes: dict[str, Any], why: str) -> None:
    facts = kept(**changes)
    assert done(facts, "the mirror's certificate") == (why,)
    for name in mirrors.UNITS:
        assert "its certificate is made" in done(facts, name)


def test_a_mirror_that_is_told_by_its_name_listens_everywhere() -> None:
    facts = mirrors.served()
    changed = {each.path: each.after for each in planned(facts, mirror_address="mirror.lan").files}
    assert "addr: 0.0.0.0:5000" in changed[REGISTRY_CONF]
    assert "listen 0.0.0.0:8443 ssl;" in changed[FILES_CONF]
    assert "server_name mirror.lan;" in changed[FILES_CONF]
    named = derive(mirrors.asked(mirror_address="mirror.lan"), facts)
    assert serving.answers(REGISTRY, named) == (
        *("5000", "127.0.0.1", "-verify_hostname", "mirror.lan"),
    )


@pytest.mark.parametrize(("port", "needs"), [(443, True), (8443, False)])
def test_a_low_port_is_the_one_thing_that_needs_a_capability(port: int, needs: bool) -> None:
    changed = {each.path: each.after for each in planned(bare(), mirror_files_port=port).files}
    for name in mirrors.UNITS:
        unit = changed[f"/etc/systemd/system/{name}"]
        assert ("AmbientCapabilities=CAP_NET_BIND_SERVICE" in unit) == needs


@pytest.mark.parametrize("name", mirrors.UNITS)
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"UnitFileState": "disabled"}, "it is disabled, not enabled"),
        ({"ActiveState": "activating"}, "it is activating"),
        ({"ActiveState": "failed"}, "it is failed"),
    ],
)
def test_why_a_unit_is_started(name: str, changed: dict[str, str], why: str) -> None:
    made = Kept(mirrors.lock(), trees=(TREE,))
    files = mirrors.rendered(mirrors.asked(), made)
    facts = mirrors.mirror(made, files=files, changed={name: changed})
    assert done(facts, name) == (why,)


def test_a_unit_that_has_not_read_its_files_is_started_anew() -> None:
    facts = kept(newer=f"newer {REGISTRY} ca/server.crt\n")
    assert done(facts, REGISTRY) == ("ca/server.crt is newer",)
    assert done(facts, FILES) == ()


def test_whether_a_unit_has_read_its_files_is_asked_anew_when_one_was_written() -> None:
    assert {"mirror", "mirror_serving", "units"} <= {*files.CHANGING}


def retired(facts: HostFacts) -> tuple[str, ...]:
    return serving.outdated_trees(derive(mirrors.asked(), facts), facts)


def test_another_bundles_tree_goes_when_nobody_reads_it() -> None:
    both = ("0123456789abcdef", TREE)
    assert retired(kept(trees=both)) == both[:1]
    assert retired(kept(trees=both, newer=f"newer {REGISTRY} registry.yml\n")) == ()
    assert retired(kept()) == ()


def refused(facts: HostFacts, **data: object) -> dict[str, tuple[str, ...]]:
    asked = mirrors.asked(**data)
    found = by_topic(asked, derive(asked, facts), facts)
    return {topic: why for topic, why in found.items() if why and topic in SERVING}


SERVING = {
    *("bundle to serve", "packages to serve by", "ports to serve at"),
    "room for the mirror's packages",
}


def test_a_mirror_that_can_be_made_is_not_refused() -> None:
    assert refused(bare()) == {}
    assert refused(mirrors.served()) == {}


INSTALL = "apuhost bundle install BUNDLE INVENTORY --signers FILE"


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        pytest.param(
            host_facts(), f"it is to be the mirror, and has no bundle to serve: {INSTALL}",
            id="no lock",
        ),
        pytest.param(
            kept(whole=False),
            f"bundle 7 is not whole in /var/lib/apuhost/mirror/bundles: {INSTALL}",
            id="half a bundle",
        ),
        pytest.param(
            also(kept(), mirror_serving=Kept(mirrors.lock(mirrors.image(of="b"))).text()),
            f"{LOCK} is not that of the bundle 7 in /var/lib/apuhost/mirror/bundles: {INSTALL}",
            id="another lock",
        ),
    ],
)  # fmt: skip
def test_a_mirror_without_its_bundle_is_refused(facts: HostFacts, why: str) -> None:
    assert refused(facts)["bundle to serve"] == (why,)


def test_a_bundle_without_what_serves_is_refused() -> None:
    lacking = mirrors.mirror(Kept(mirrors.lock(lacking="nginx")), packages=stack.packages())
    (why,) = refused(lacking)["packages to serve by"]
    assert why.startswith("bundle 7 has no nginx, by which it would serve: lock and build it anew")
    there = mirrors.mirror(Kept(mirrors.lock(lacking="nginx")), listening=())
    assert refused(there) == {}


def test_packages_of_another_release_are_not_installed() -> None:
    facts = also(bare(), os_release="ID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n")
    (why,) = refused(facts)["packages to serve by"]
    assert "the bundle, which is for debian/trixie, and it is debian/bookworm: install" in why


@pytest.mark.parametrize("at", ["0.0.0.0:5000", "[::]:5000", f"{ADDRESS}:5000", "*:5000"])
def test_a_port_that_somebody_else_has_is_told(at: str) -> None:
    facts = also(bare(), firewall=stack.firewall(at))
    (why,) = refused(facts)["ports to serve at"]
    assert why == "something else listens on port 5000: end it, or set another mirror_registry_port"


def test_a_port_of_another_address_is_no_obstacle_and_neither_is_ours() -> None:
    assert refused(also(bare(), firewall=stack.firewall("127.0.0.1:5000"))) == {}
    (why,) = refused(
        also(bare(), firewall=stack.firewall("127.0.0.1:5000")), mirror_address="mirror.lan"
    )["ports to serve at"]
    assert "port 5000" in why


OWN_PORTS = (f"{ADDRESS}:5000", f"{ADDRESS}:8443")


@pytest.mark.parametrize(
    ("data", "port"),
    [({"mirror_registry_port": 5001}, 5001), ({"mirror_files_port": 8444}, 8444)],
)
def test_a_new_port_that_somebody_else_has_is_told_while_ours_runs_at_the_old_one(
    data: dict[str, int], port: int
) -> None:
    (key,) = data
    facts = mirrors.served(firewall=stack.firewall(*OWN_PORTS, f"0.0.0.0:{port}"))
    (why,) = refused(facts, **data)["ports to serve at"]
    assert why == f"something else listens on port {port}: end it, or set another {key}"
    assert refused(mirrors.served(firewall=stack.firewall(*OWN_PORTS)), **data) == {}


def test_a_port_of_the_mirrors_other_service_is_not_taken_before_that_has_moved() -> None:
    """They are started anew one after the other: what runs still has its port."""
    facts = mirrors.served(firewall=stack.firewall(*OWN_PORTS))
    swapped = refused(facts, mirror_registry_port=8443, mirror_files_port=5000)
    assert swapped["ports to serve at"] == (
        "the mirror's other service still has port 8443: deploy another mirror_registry_port first",
        "the mirror's other service still has port 5000: deploy another mirror_files_port first",
    )


def test_without_room_its_packages_are_not_begun() -> None:
    full = "/dev/nvme0n1p2 2000000000000 1 90000000 1% /\n"
    assert "100 are needed" in refused(also(bare(), disk=full))["room for the mirror's packages"][0]
    assert refused(also(mirrors.served(), disk=full)) == {}


def judged(facts: HostFacts, **data: object) -> tuple[Status, Layer | None, str]:
    found = verdict(facts, "mirror.serving", **{**ASKED, **data})
    return (*failing(found), found.observed)


def test_a_mirror_that_serves_is_good() -> None:
    assert judged(mirrors.served()) == (Status.PASS, None, "bundle 7, certificate for 3000 days")


def test_a_host_that_is_no_mirror_is_not_judged_as_one() -> None:
    found = verdict(host_facts(), "mirror.serving", mirror_address=ADDRESS)
    assert (found.status, found.reason) == (Status.SKIP, "another host is the mirror")


def running(**changed: str) -> HostFacts:
    made = Kept(mirrors.lock(), trees=(TREE,))
    files = mirrors.rendered(mirrors.asked(), made)
    return mirrors.mirror(made, files=files, changed={REGISTRY: changed})


@pytest.mark.parametrize(
    ("facts", "layer", "observed"),
    [
        (host_facts(), Layer.CONFIGURED, "it has no bundle to serve"),
        (kept(whole=False), Layer.CONFIGURED, "bundle 7 is not whole"),
        (kept(current="bundles/6"), Layer.CONFIGURED, "bundle 7 is not served: bundle 6 is"),
        (kept(trees=()), Layer.CONFIGURED, "its images are not in the registry"),
        (mirrors.served(packages=stack.packages()), Layer.CONFIGURED, "docker-registry is not"),
        (mirrors.served(units=stack.units({})), Layer.CONFIGURED, "is not there"),
        (running(UnitFileState="disabled"), Layer.LIVE, f"{REGISTRY} is disabled"),
        (running(ActiveState="activating"), Layer.LIVE, f"{REGISTRY} is activating"),
        (kept(newer=f"newer {FILES} ca/server.crt\n"), Layer.LIVE, "has not read ca/server.crt"),
        (
            mirrors.served(firewall=stack.firewall("0.0.0.0:5000", f"{ADDRESS}:8443")),
            Layer.LIVE,
            f"port 5000 is listened on at 0.0.0.0, not at {ADDRESS}",
        ),
        (
            mirrors.served(firewall=stack.firewall(f"{ADDRESS}:5000")),
            Layer.LIVE,
            "port 8443 is listened on at nowhere",
        ),
        (kept(days=-1), Layer.EFFECTIVE, "its certificate: it ends within 90 days"),
        (kept(days=80), Layer.EFFECTIVE, "its certificate: it ends within 90 days"),
        (kept(since=NOW + 2 * DAY_S), Layer.EFFECTIVE, "and the clock says 2026-11-29"),
        (kept(authority="another"), Layer.EFFECTIVE, "its own hosts know another CA"),
    ],
)
def test_what_a_mirror_lacks_is_named(facts: HostFacts, layer: Layer, observed: str) -> None:
    status, found, said = judged(facts)
    assert (status, found) == (Status.FAIL, layer)
    assert observed in said


@pytest.mark.parametrize("name", ["mirror", "mirror_serving", "units", "firewall"])
def test_what_could_not_be_read_is_unknown(name: str) -> None:
    assert judged(unread(mirrors.served(), name))[0] is Status.UNKNOWN


def test_a_probe_that_was_cut_is_told() -> None:
    with pytest.raises(ParseError, match="in the middle"):
        mirror_serving.parse("bundle 7 ab\n")


def test_a_certificate_that_cannot_be_read_is_none() -> None:
    found = mirror_serving.parse("certificate ca  \ncertificate server 1 x\nend\n")
    assert (found.authority, found.server, found.signed) == (None, None, False)
