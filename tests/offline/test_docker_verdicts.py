"""Docker's verdicts: each fault at the first layer that differs, with evidence and what to type."""

import pytest
from tests.support import stack
from tests.support.hosts import host_facts, unit_files
from tests.support.verdicts import HEALTHY, assert_named, failing, unread, verdict

from apuhost.changes import site_ca
from apuhost.changes.docker import APT_PROXY, PROXY_DROP_IN
from apuhost.host_facts import HostFacts
from apuhost.verdicts import Layer, Severity, Status, docker

DEPLOY = "apuhost deploy INVENTORY"
DAEMON_JSON = "/etc/docker/daemon.json"
PROXY = "http://proxy.lan:3128"
CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
DOWN = host_facts(docker=stack.docker_down(), containers=f"refused {stack.DOCKER_DOWN}\n")


@pytest.mark.parametrize("verdict_id", docker.IDS)
def test_a_healthy_host_passes(verdict_id: str) -> None:
    found = verdict(HEALTHY, verdict_id)
    assert (found.status, found.severity) == (Status.PASS, Severity.REQUIRED)


def without_compose() -> str:
    return stack.docker(ClientInfo={"Plugins": []})


def daemon(**changes: object) -> HostFacts:
    """A host whose daemon.json has other values; None takes a key out."""
    values = {key: value for key, value in {**stack.DAEMON_JSON, **changes}.items() if value}
    return host_facts(daemon_json=stack.daemon_json(values))


def newer(*paths: str) -> HostFacts:
    """A host where files changed since dockerd read them."""
    return host_facts(units=stack.units(unit_files(), newer="\n".join(paths)))


FAULTS = [
    pytest.param(
        "docker.engine",
        host_facts(docker=stack.NO_DOCKER, containers="absent\n"),
        Layer.CONFIGURED,
        "docker is not installed",
        DEPLOY,
        id="no docker",
    ),
    pytest.param(
        "docker.engine",
        host_facts(docker=stack.docker().replace("=/usr/bin/docker", "=/snap/bin/docker")),
        Layer.CONFIGURED,
        "is a snap",
        "snap remove",
        id="a snap",
    ),
    pytest.param(
        "docker.engine",
        host_facts(docker=stack.docker().replace("Docker version 26.1.5", "podman version 5.4")),
        Layer.CONFIGURED,
        "is podman",
        "remove podman-docker",
        id="podman",
    ),
    pytest.param(
        "docker.engine",
        host_facts(docker=stack.docker(SecurityOptions=["name=rootless"])),
        Layer.CONFIGURED,
        "runs without root",
        "uninstall",
        id="rootless",
    ),
    pytest.param(
        "docker.engine",
        host_facts(docker=without_compose(), packages=stack.packages("docker-compose")),
        Layer.CONFIGURED,
        "docker-compose is not installed",
        DEPLOY,
        id="compose's package is missing",
    ),
    pytest.param(
        "docker.engine",
        host_facts(docker=without_compose()),
        Layer.CONFIGURED,
        "docker has no compose",
        DEPLOY,
        id="compose's plugin does not answer",
    ),
    pytest.param(
        "docker.engine",
        host_facts(docker=stack.docker(enabled="disabled")),
        Layer.CONFIGURED,
        "does not start at boot",
        DEPLOY,
        id="disabled",
    ),
    pytest.param(
        "docker.engine", DOWN, Layer.LIVE, "dockerd does not answer", "journalctl", id="down"
    ),
    pytest.param(
        "docker.daemon_json",
        host_facts(daemon_json=""),
        Layer.CONFIGURED,
        "no daemon.json",
        DEPLOY,
        id="no file",
    ),
    pytest.param(
        "docker.daemon_json",
        daemon(**{"live-restore": None}),
        Layer.CONFIGURED,
        "live-restore is not as asked",
        DEPLOY,
        id="key removed",
    ),
    pytest.param(
        "docker.daemon_json",
        daemon(**{"log-opts": {"max-size": "1g", "max-file": "3"}}),
        Layer.CONFIGURED,
        "log-opts.max-size is not as asked",
        DEPLOY,
        id="another size of logs",
    ),
    pytest.param(
        "docker.daemon_json",
        daemon(**{"log-opts": "10m"}),
        Layer.CONFIGURED,
        "log-opts.max-size is not as asked",
        DEPLOY,
        id="of another type",
    ),
    pytest.param(
        "docker.daemon_json",
        host_facts(daemon_json=stack.framed({DAEMON_JSON: '{\n  "a": 1,\n}\n'})),
        Layer.CONFIGURED,
        "no JSON",
        DAEMON_JSON,
        id="broken by hand",
    ),
    pytest.param(
        "docker.daemon_json",
        host_facts(docker=stack.docker(LiveRestoreEnabled=False)),
        Layer.LIVE,
        "live-restore is not in force",
        "systemctl reload",
        id="not taken up",
    ),
    pytest.param(
        "docker.daemon_json",
        newer(DAEMON_JSON),
        Layer.LIVE,
        f"dockerd has not read {DAEMON_JSON}",
        DEPLOY,
        id="newer than dockerd",
    ),
    pytest.param(
        "docker.network",
        newer(PROXY_DROP_IN.rpartition("/")[0]),
        Layer.LIVE,
        "dockerd has not read /etc/systemd",
        DEPLOY,
        id="a drop-in newer than dockerd",
    ),
]


@pytest.mark.parametrize(("verdict_id", "facts", "layer", "observed", "fix"), FAULTS)
def test_a_fault_is_named(
    verdict_id: str, facts: HostFacts, layer: Layer, observed: str, fix: str
) -> None:
    assert_named(verdict(facts, verdict_id), layer, observed, fix)


def test_a_broken_file_is_told_with_its_place() -> None:
    facts = host_facts(daemon_json=stack.framed({DAEMON_JSON: '{\n  "a": 1,\n}\n'}))
    assert verdict(facts, "docker.daemon_json").evidence.startswith(f"{DAEMON_JSON}:3:1: ")


def test_the_evidence_is_what_the_file_has_for_a_key() -> None:
    facts = daemon(**{"log-driver": "journald"})
    assert verdict(facts, "docker.daemon_json").evidence == (
        f'{DAEMON_JSON} has log-driver "journald"'
    )


def test_the_operators_own_keys_are_no_fault() -> None:
    facts = daemon(dns=["192.0.2.1"], **{"log-opts": {"max-size": "10m", "max-file": "3", "x": 1}})
    assert verdict(facts, "docker.daemon_json").status is Status.PASS


def test_data_that_lie_elsewhere_are_named() -> None:
    facts = daemon(**{"data-root": "/srv/docker"})
    found = verdict(facts, "docker.daemon_json", docker_data_root="/srv/docker")
    assert failing(found) == (Status.FAIL, Layer.LIVE)
    assert "DockerRootDir is /var/lib/docker" in found.evidence


def test_an_engine_of_another_source_than_asked_is_named() -> None:
    found = verdict(HEALTHY, "docker.engine", docker_source="docker-ce")
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    assert "docker-ce is not installed" in found.observed


def test_a_user_who_is_not_in_dockers_group_is_named() -> None:
    found = verdict(HEALTHY, "docker.engine", docker_users=["admin"])
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    assert found.observed == "admin is not in group docker"
    joined = host_facts(accounts=stack.accounts(docker="admin"))
    assert verdict(joined, "docker.engine", docker_users=["admin"]).status is Status.PASS


def networked(proxy: str = PROXY, **files: str) -> HostFacts:
    """A host with the proxy's and the certificates' files; dockerd says that it uses `proxy`."""
    direct = ["localhost"]
    asked = {"docker_proxy": PROXY, "docker_no_proxy": direct, "docker_site_ca": CA}
    rendered = {
        APT_PROXY: stack.rendered("docker", APT_PROXY, {**asked, "docker_direct_hosts": direct}),
        site_ca.PATH: CA,
        **files,
    }
    drop_in = stack.rendered("docker", PROXY_DROP_IN, asked)
    return host_facts(
        docker=stack.docker(HttpProxy=proxy, HttpsProxy=proxy),
        daemon_json=stack.daemon_json(**{PROXY_DROP_IN: drop_in}),
        units=stack.units({**unit_files(), **rendered}),
    )


ASKED = {"docker_proxy": PROXY, "docker_no_proxy": ["localhost"], "docker_site_ca": CA}


def test_a_proxy_and_certificates_at_work() -> None:
    assert verdict(networked(), "docker.network", **ASKED).status is Status.PASS


@pytest.mark.parametrize(
    ("facts", "layer", "evidence"),
    [
        pytest.param(
            HEALTHY, Layer.CONFIGURED, f"{site_ca.PATH} is not there", id="nothing set up"
        ),
        pytest.param(
            networked(**{APT_PROXY: 'Acquire::http::Proxy "http://x:1";\n'}),
            Layer.CONFIGURED,
            f"{APT_PROXY} is not as asked",
            id="apt's proxy edited",
        ),
        pytest.param(networked(""), Layer.LIVE, "HttpProxy is not set", id="not taken up"),
        pytest.param(
            networked("http://old:3128"), Layer.LIVE, "HttpProxy is http://old:3128", id="an older"
        ),
    ],
)
def test_a_network_that_is_not_as_asked(facts: HostFacts, layer: Layer, evidence: str) -> None:
    found = verdict(facts, "docker.network", **ASKED)
    assert failing(found) == (Status.FAIL, layer)
    assert evidence in found.evidence


def test_certificates_that_nothing_trusts_are_named() -> None:
    said = f"{site_ca.PATH} is not in /etc/ssl/certs/ca-certificates.crt"
    files = {**unit_files(), site_ca.PATH: CA}
    facts = host_facts(units=stack.units(files, untrusted=said))
    found = verdict(facts, "docker.network", docker_site_ca=CA)
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    assert found.evidence == said


def test_what_is_left_of_a_proxy_that_nobody_asks_for_any_more() -> None:
    assert failing(verdict(networked(), "docker.network")) == (Status.FAIL, Layer.CONFIGURED)


@pytest.mark.parametrize(
    ("verdict_id", "missing"),
    [
        ("docker.engine", "docker"),
        ("docker.daemon_json", "daemon_json"),
        ("docker.daemon_json", "docker"),
        ("docker.daemon_json", "units"),
        ("docker.network", "units"),
    ],
)
def test_what_could_not_be_read_is_unknown(verdict_id: str, missing: str) -> None:
    found = verdict(unread(HEALTHY, missing), verdict_id)
    assert (found.status, missing in found.reason) == (Status.UNKNOWN, True)


def test_what_dockerd_alone_could_tell_is_unknown_while_it_is_down() -> None:
    found = verdict(DOWN, "docker.daemon_json")
    assert (found.status, found.layer) == (Status.UNKNOWN, Layer.LIVE)
    assert "docker does not answer" in found.reason
