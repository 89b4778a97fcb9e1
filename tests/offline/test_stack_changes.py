"""What a deploy would do to the stack of a host, and that doing it once is enough."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.support import stack
from tests.support.box import Box, image_id
from tests.support.deploying import ROLES, deploy
from tests.support.hosts import REFERENCE, facts_of, host_facts, rendered, settings
from tests.support.stack import QWEN, Model, framed

from apuhost import sizing
from apuhost.changes import (
    FIRMWARE,
    HostPlan,
    RolePlan,
    compose,
    container,
    docker,
    models,
    port,
    site_ca,
)
from apuhost.changes import ollama as ollama_changes
from apuhost.changes.host import plan
from apuhost.derived import derive
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes import containers

DOCKER_JSON = docker.DAEMON_JSON
CE = frozenset(
    {"docker-ce", "docker-ce-cli", "containerd.io", "docker-compose-plugin"}
    | (stack.PACKAGES.keys() - {"docker.io", "docker-cli", "docker-compose"})
)
OLD_DIGEST = f"sha256:{'0d' * 32}"
SOURCES = "/etc/apt/sources.list"
DEBIAN = "deb http://deb.example/debian trixie main\n"
BARE = Box(
    packages=frozenset(),
    candidate=False,
    driver=False,
    engine="none",
    files={SOURCES: DEBIAN},
    enabled=frozenset(),
    container=None,
    images=frozenset(),
    volumes=frozenset(),
    stored=(),
    kept=(),
    loaded={},
)
OTHER_PEM = "-----BEGIN CERTIFICATE-----\nMAMCAQI=\n-----END CERTIFICATE-----\n"
PEM = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n"
PROXY = "http://proxy.example:3128"


def planned(facts: HostFacts, **data: object) -> HostPlan:
    return plan(settings(kernel_gtt_gib=48, host_roles=list(ROLES), **data), facts)


def role(found: HostPlan, name: str) -> RolePlan:
    return next(each for each in found.roles if each.role == name)


def said(found: RolePlan) -> list[tuple[str, str]]:
    return [(action.what, action.how) for action in found.actions]


def paths(found: HostPlan) -> list[str]:
    return [change.path for change in found.files]


def only(facts: HostFacts, what: str, **data: object) -> tuple[str, ...]:
    """The reasons for the one action that is due; no file changes."""
    found = planned(facts, **data)
    assert not found.files
    actions = [action for each in found.roles for action in each.actions]
    (action,) = [action for action in actions if action.what != models.UNIT_NAME]
    assert action.what == what
    return action.why


# A healthy host, a bare one.


def test_a_healthy_host_has_nothing_to_do() -> None:
    assert planned(host_facts()).empty
    assert planned(Box().facts()).empty


def test_a_bare_host_gets_everything_in_its_order() -> None:
    found = planned(BARE.facts(), vulkan_users=["admin"], docker_users=["admin"])
    assert [each.role for each in found.roles] == list(ROLES)
    vulkan, engine, ollama, model, _ = found.roles
    assert [change.path for change in vulkan.files] == [SOURCES]
    assert said(vulkan) == [
        ("packages", "installed"),
        (FIRMWARE, "installed"),
        ("groups", "joined"),
    ]
    assert vulkan.actions[0].why == ("mesa-vulkan-drivers", "vulkan-tools")
    assert [change.path for change in engine.files] == [DOCKER_JSON]
    assert said(engine) == [("packages", "installed"), ("group docker", "joined")]
    assert engine.actions[0].why == ("docker.io", "docker-cli", "docker-compose")
    assert engine.kept == ()
    assert [change.path for change in ollama.files] == [compose.PATH, ollama_changes.UNIT]
    assert said(ollama) == [
        ("image", "pulled"),
        ("volume", "made"),
        ("container ollama", "made and started"),
        (ollama_changes.UNIT_NAME, "enabled and run"),
    ]
    assert [change.path for change in model.files] == [models.PROGRAM, models.UNIT]
    assert said(model) == [
        (QWEN.name, "pulled"),
        (QWEN.name, "parameters set"),
        (models.UNIT_NAME, "enabled and run"),
    ]
    assert "GPU firmware comes new" in found.reboot


def test_a_role_that_is_not_applied_plans_nothing() -> None:
    found = plan(settings(host_roles=["vulkan"]), BARE.facts())
    assert [each.role for each in found.roles] == ["vulkan"]


def test_what_an_engine_would_tell_is_planned_when_it_runs() -> None:
    found = planned(replace(Box(), engine="down").facts())
    assert said(role(found, "docker")) == [("engine", "started")]
    for name in ("ollama", "models"):
        assert role(found, name) == RolePlan(
            name, notes=("what changes here is seen when Docker runs",)
        )


# A host that its owner set up by hand, as field reports have it.

HOME = "/home/admin/ollama/docker-compose.yml"
BY_HAND_ENVIRONMENT = {
    "OLLAMA_VULKAN": "1",
    "OLLAMA_IGPU_ENABLE": "1",
    "OLLAMA_KEEP_ALIVE": "-1",
    "OLLAMA_NO_CLOUD": "true",
    "OLLAMA_CONTEXT_LENGTH": "262144",
}
BY_COMPOSE = {
    "com.docker.compose.project": "llm",
    "com.docker.compose.project.config_files": HOME,
    "com.docker.compose.service": "ollama",
}
PREFIXED = {"Type": "volume", "Name": "ollama_ollama", "Source": stack.VOLUME}
BIND = {"Type": "bind", "Source": "/srv/my $models"}
ANYWHERE = {
    "11434/tcp": [{"HostIp": "0.0.0.0", "HostPort": "11434"}, {"HostIp": "::", "HostPort": "11434"}]
}


def made_by_hand(digest: str, mount: dict[str, str], labels: dict[str, str]) -> dict[str, Any]:
    return {
        "environment": BY_HAND_ENVIRONMENT,
        "labels": labels,
        "image": "ollama/ollama:0.34.1",
        "image_id": image_id(digest),
        "group_add": [],
        "ports": ANYWHERE,
        "published": ANYWHERE,
        "mounts": [{**mount, "Destination": "/root/.ollama", "RW": True}],
    }


def by_hand(
    digest: str = OLD_DIGEST,
    mount: dict[str, str] = PREFIXED,
    labels: dict[str, str] = BY_COMPOSE,
) -> Box:
    """docker-ce, a container of somebody's own, parameters in the model, nothing of ours."""
    return Box(
        packages=CE,
        files={},
        enabled=frozenset(),
        container=made_by_hand(digest, mount, labels),
        images=frozenset({digest}),
        volumes=frozenset({"ollama_ollama"}),
        kept=(),
    )


def test_adoption_keeps_engine_and_volume_and_says_what_it_closes() -> None:
    found = planned(by_hand().facts())
    engine, ollama = role(found, "docker"), role(found, "ollama")
    assert engine.kept == ("keeps docker-ce 26.1.5+dfsg1",)
    assert not [action for action in engine.actions if action.what == "packages"]
    assert ollama.kept == ("keeps volume ollama_ollama with its models",)
    assert "volume" not in [action.what for action in ollama.actions]
    assert ("container ollama", "made again; its models stay") in said(ollama)
    notes = " | ".join(ollama.notes)
    assert "11434 is open to every address today; after this to 127.0.0.1 only" in notes
    assert "compose project llm loses its container to ollama" in notes
    assert f"{HOME} stays, and no longer describes it: {compose.PATH} does" in notes


def test_adoption_pulls_nothing_twice() -> None:
    box = by_hand(stack.IMAGE_DIGEST)
    found = planned(box.facts())
    assert found.why("image") == ()
    assert role(found, "models").actions[0].why == ("its registry's manifest is not kept",)
    assert found.why(models.UNIT_NAME)
    after = deploy(box, settings(host_roles=list(ROLES)), [replace(QWEN, offered={"top_k": 7})])
    assert after.stored == box.stored  # its weights and its owner's parameters


def test_adoption_tells_an_image_of_another_digest() -> None:
    found = planned(by_hand().facts())
    assert found.why("image") == (stack.IMAGE,)
    assert f"its image is ollama/ollama@{OLD_DIGEST}" in found.why("container ollama")


def test_a_container_of_docker_run_is_taken_over() -> None:
    why = planned(by_hand(labels={}).facts()).why("container ollama")
    assert why[0] == "it was made by docker run, not by compose project ollama"


@pytest.mark.parametrize("labels", [BY_COMPOSE, {}])
def test_a_folder_with_models_is_kept_whatever_its_name(labels: dict[str, str]) -> None:
    box = by_hand(mount=BIND, labels=labels)
    found = role(planned(box.facts()), "ollama")
    assert found.kept == ("keeps folder /srv/my $models with its models",)
    assert "volume" not in [action.what for action in found.actions]
    (file,) = [change for change in found.files if change.path == compose.PATH]
    assert '"/srv/my $$models:/root/.ollama"' in file.after
    assert "external" not in file.after


def test_a_volume_with_a_projects_prefix_stays_nobodys_to_remove() -> None:
    (file,) = [change for change in planned(by_hand().facts()).files if change.path == compose.PATH]
    assert '- "ollama_ollama:/root/.ollama"' in file.after
    assert file.after.endswith(
        '  "ollama_ollama":\n    # Not compose\'s to remove: `docker compose down --volumes` would '
        "take the models along.\n    external: true\n# End of what apuhost wrote.\n"
    )


@pytest.mark.parametrize(
    ("facts", "data", "told"),
    [
        pytest.param(host_facts(), {"ollama_volume": "models"}, ("ollama", "models"), id="changed"),
        pytest.param(
            replace(Box(), container=None).facts(),
            {"ollama_volume": "models"},
            ("ollama", "models"),
            id="changed, known by the compose file alone",
        ),
        pytest.param(by_hand().facts(), {}, ("ollama_ollama", "ollama"), id="taken over"),
        pytest.param(
            by_hand().facts(), {"ollama_volume": "ollama_ollama"}, None, id="taken over and named"
        ),
        pytest.param(by_hand(mount=BIND).facts(), {}, None, id="a folder"),
        pytest.param(BARE.facts(), {"ollama_volume": "models"}, None, id="bare"),
        pytest.param(host_facts(), {}, None, id="as asked"),
    ],
)
def test_models_that_are_not_in_the_volume_that_is_asked_for_are_told(
    facts: HostFacts, data: dict[str, object], told: tuple[str, str] | None
) -> None:
    notes = [note for note in planned(facts, **data).notes if "the models stay" in note]
    assert notes == [
        f'the models stay in volume {store}, not {asked}: write ollama_volume = "{store}", or copy '
        f"them there and remove the container and {compose.PATH}, then deploy"
        for store, asked in ([told] if told else [])
    ]


def test_a_note_on_the_volume_changes_nothing() -> None:
    found = planned(host_facts(), ollama_volume="models")
    assert found.empty
    assert found.notes


def test_models_that_were_copied_are_found_where_they_were_copied_to() -> None:
    box = replace(Box(), container=None, files={}, volumes=frozenset({"ollama", "models"}))
    asked = settings(host_roles=list(ROLES), ollama_volume="models")
    found = role(plan(asked, deploy(box, asked, [QWEN]).facts()), "ollama")
    assert (found.kept, found.notes) == (("keeps volume models with its models",), ())


# Every way in which a container can differ.

DRI = {"PathOnHost": "/dev/dri"}
SITE = {"Type": "bind", "Source": site_ca.PATH, "Destination": compose.SITE_CA}
STORE = stack.CONTAINER["mounts"][0]
OVERRIDDEN = f"{compose.PATH},/root/override.yaml"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"running": False, "status": "exited"}, "it is exited", id="stopped"),
        pytest.param(
            {"image_id": "sha256:other"}, f"its image is {stack.IMAGE}", id="an image that is gone"
        ),
        pytest.param(
            stack.at("0.0.0.0"), "its port is every address:11434", id="open to everybody"
        ),
        pytest.param(stack.at("192.0.2.10"), "its port is 192.0.2.10:11434", id="another address"),
        pytest.param(stack.at("127.0.0.1", 8080), "its port is 127.0.0.1:8080", id="another port"),
        pytest.param({"ports": {}}, "its port is not published", id="no port"),
        pytest.param(
            {
                "ports": {
                    **stack.at("127.0.0.1")["ports"],
                    "80/tcp": [{"HostIp": "", "HostPort": "80"}],
                }
            },
            "its port is 127.0.0.1:11434, every address:80",
            id="a port more",
        ),
        pytest.param({"devices": []}, "it lacks the device /dev/dri", id="no device"),
        pytest.param({"privileged": True, "devices": []}, "it is privileged", id="privileged"),
        pytest.param(
            {"network_mode": "host"}, "its network is host, not ollama_default", id="the host's net"
        ),
        pytest.param(
            {"mounts": [STORE, {"Type": "bind", "Source": "/", "Destination": "/host"}]},
            "it has / of the host at /host",
            id="a folder of the host",
        ),
        pytest.param(
            {"labels": {**stack.LABELS, "com.docker.compose.project.config_files": OVERRIDDEN}},
            f"it was made from {compose.PATH} and /root/override.yaml",
            id="a second file",
        ),
        pytest.param(
            {"labels": {**stack.LABELS, "apuhost.made-from": "before"}},
            f"{compose.PATH}, or the site's certificates, changed since it was made",
            id="an older file",
        ),
        pytest.param(
            {"group_add": ["44"]}, "its groups are 44, not 992, 44", id="a group that is missing"
        ),
        pytest.param(
            {"group_add": ["109", "44"]}, "its groups are 109, 44, not 992, 44", id="an old number"
        ),
        pytest.param({"restart_policy": "no"}, "its restart policy is no", id="no restart"),
        pytest.param({"restart_policy": ""}, "its restart policy is no", id="no word of restart"),
        pytest.param(
            {"restart_policy": "always"}, "its restart policy is always", id="always restarted"
        ),
        pytest.param(
            {"environment": {**stack.ENVIRONMENT, "OLLAMA_NO_CLOUD": "true"}},
            "OLLAMA_NO_CLOUD is true, not 1",
            id="a variable that is another",
        ),
        pytest.param(
            {"environment": stack.without(stack.ENVIRONMENT, "OLLAMA_IGPU_ENABLE")},
            "OLLAMA_IGPU_ENABLE is not set, not 1",
            id="a variable that is missing",
        ),
        pytest.param(
            {"environment": {**stack.ENVIRONMENT, "GGML_VK_VISIBLE_DEVICES": "-1"}},
            "GGML_VK_VISIBLE_DEVICES is -1, and nobody asked for it",
            id="a variable too many",
        ),
        pytest.param(
            {"mounts": [STORE, SITE]},
            "it knows certificates of a site that nobody asked for",
            id="certificates too many",
        ),
        pytest.param(
            {"labels": {**stack.LABELS, "com.docker.compose.project": "llm"}},
            "it was made by compose project llm, not by compose project ollama",
            id="another project",
        ),
        pytest.param(
            {"labels": {**stack.LABELS, "com.docker.compose.service": "llm"}},
            "it was made by compose project ollama, not by compose project ollama",
            id="another service",
        ),
    ],
)
def test_a_container_that_differs_is_made_again(changes: dict[str, Any], why: str) -> None:
    facts = host_facts(containers=stack.containers(stack.container(**changes), stack.image()))
    assert only(facts, "container ollama") == (why,)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"group_add": ["44", "992"]}, id="groups in another order"),
        pytest.param({"devices": [DRI, {"PathOnHost": "/dev/kfd"}]}, id="a device more"),
        pytest.param(
            {"environment": {**stack.ENVIRONMENT, "TZ": "UTC", "OLLAMA_HOST": "0.0.0.0:11434"}},
            id="variables that are not ours",
        ),
        pytest.param({"image": "ollama/ollama:latest"}, id="its image by another name"),
        pytest.param({"image_id": stack.IMAGE_DIGEST}, id="an id that is the digest"),
        pytest.param({"health": "unhealthy"}, id="unhealthy"),
        pytest.param({"restart_count": 7}, id="restarted"),
    ],
)
def test_what_is_no_difference(changes: dict[str, Any]) -> None:
    image = stack.image(image_id=changes.get("image_id", stack.IMAGE_ID))
    assert planned(host_facts(containers=stack.containers(stack.container(**changes), image))).empty


@pytest.mark.parametrize(("written", "same"), [("0.0.0.0", True), ("", False)])
def test_an_address_that_is_left_out_opens_ipv6_too(written: str, same: bool) -> None:
    made = stack.container(**stack.at(written))
    facts = host_facts(containers=stack.containers(made, stack.image()))
    found = planned(facts, ollama_listen="0.0.0.0:11434")
    assert ("port" not in " ".join(found.why("container ollama"))) == same


def test_a_container_that_only_stopped_is_started() -> None:
    stopped = stack.container(running=False, status="exited")
    found = planned(host_facts(containers=stack.containers(stopped, stack.image())))
    assert said(role(found, "ollama")) == [("container ollama", "started")]


def test_compose_is_told_the_files_of_one_that_it_may_have_to_make_again() -> None:
    labels = {
        **stack.LABELS,
        "com.docker.compose.project.config_files": "/home/admin/a.yaml,/home/admin/b.yaml",
        "com.docker.compose.project.working_dir": "/home/admin",
    }
    asked = settings().ollama
    theirs, ours = (
        containers.parse(stack.containers(stack.container(labels=each))).containers[0]
        for each in (labels, stack.LABELS)
    )
    files = ("-f", "/home/admin/a.yaml", "-f", "/home/admin/b.yaml")
    back = ("-p", "ollama", "--project-directory", "/home/admin", *files)
    assert container.by_compose(asked, theirs) == back
    assert container.by_compose(asked, ours) == ()


def test_one_that_was_put_aside_goes() -> None:
    left = stack.container(name="/ollama-before-apuhost", running=False, labels={})
    found = planned(host_facts(containers=stack.containers(stack.container(), left, stack.image())))
    assert said(role(found, "ollama")) == [("container ollama", "ollama-before-apuhost removed")]


@pytest.mark.parametrize("before", ["", OTHER_PEM])
def test_certificates_that_changed_reach_the_container(before: str) -> None:
    """A mounted file that is replaced stays the old one in the container."""
    box = deploy(Box(), settings(host_roles=list(ROLES), docker_site_ca=before))
    why = planned(box.facts(), docker_site_ca=PEM).why("container ollama")
    assert len(why) == 1
    assert "certificates" in why[0]


def test_who_found_ollama_by_its_name_is_told() -> None:
    labels = {**BY_COMPOSE, "com.docker.compose.service": "web"}
    web = stack.container(id="b" * 64, name="/llm-web-1", image="web", labels=labels)
    theirs = stack.container(**made_by_hand(OLD_DIGEST, PREFIXED, BY_COMPOSE))
    old = stack.image(OLD_DIGEST, image_id(OLD_DIGEST))
    found = planned(host_facts(containers=stack.containers(web, theirs, old)))
    assert "llm-web-1 of llm no longer find it by its service's name" in role(found, "ollama").notes


def test_no_container_is_made() -> None:
    found = planned(host_facts(containers=stack.containers(stack.image())))
    assert said(role(found, "ollama")) == [("container ollama", "made and started")]
    assert found.why("container ollama") == ("there is none",)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(
            {"ollama_environment": {"OLLAMA_NOPRUNE": True}},
            "OLLAMA_NOPRUNE is not set, not 1",
            id="a further variable",
        ),
        pytest.param(
            {"docker_proxy": PROXY, "docker_no_proxy": ["::1", ".lan"]},
            "NO_PROXY is not set, not ::1,.lan",
            id="a proxy",
        ),
        pytest.param(
            {"docker_site_ca": PEM}, "it does not know the site's certificates", id="certificates"
        ),
        pytest.param(
            {"ollama_flash_attention": "off"},
            "OLLAMA_FLASH_ATTENTION is not set, not 0",
            id="no flash attention",
        ),
        pytest.param(
            {"ollama_kv_cache_type": "q8_0"},
            "OLLAMA_KV_CACHE_TYPE is not set, not q8_0",
            id="a type of the cache",
        ),
        pytest.param(
            {"ollama_listen": "192.0.2.10:80"}, "its port is 127.0.0.1:11434", id="an address"
        ),
        pytest.param(
            {"ollama_image": stack.IMAGE.replace(stack.IMAGE_DIGEST, OLD_DIGEST)},
            f"its image is ollama/ollama@{stack.IMAGE_DIGEST}",
            id="an image",
        ),
        pytest.param(
            {"ollama_project": "llm"},
            "it was made by compose project ollama, not by compose project llm",
            id="a project",
        ),
    ],
)
def test_another_setting_makes_the_container_again(data: dict[str, object], why: str) -> None:
    found = planned(host_facts(), **data)
    assert why in found.why("container ollama")
    assert compose.PATH in paths(found)


def test_another_name_is_another_container() -> None:
    found = planned(host_facts(), ollama_container_name="llm")
    assert found.why("container llm") == ("there is none",)


ROCM_IMAGE = stack.IMAGE.replace(stack.VERSION, f"{stack.VERSION}-rocm")


def test_rocm_has_its_own_device_and_target() -> None:
    found = planned(host_facts(), ollama_image=ROCM_IMAGE, ollama_backend="rocm")
    why = found.why("container ollama")
    assert "it lacks the device /dev/kfd" in why
    assert "HSA_OVERRIDE_GFX_VERSION is not set, not 11.0.0" in why
    assert "OLLAMA_VULKAN is 1, and nobody asked for it" in why


def test_a_render_group_of_another_number_is_followed() -> None:
    found = planned(host_facts(accounts=stack.accounts(render=105)))
    assert found.why("container ollama") == ("its groups are 992, 44, not 105, 44",)
    assert paths(found) == [compose.PATH]


def test_a_host_without_those_groups_adds_none() -> None:
    facts = host_facts(accounts="user root\nend\n")
    text = compose.rendered(compose.PATH, derive(settings(), facts), facts)
    assert "group_add" not in text


def test_user_namespaces_are_left_for_the_device_nodes() -> None:
    facts = host_facts(docker=stack.docker(SecurityOptions=["name=userns"]))
    assert "userns_mode: host" in compose.rendered(compose.PATH, derive(settings(), facts), facts)


def test_an_engine_that_is_silent_is_not_taken_for_one_without_user_namespaces() -> None:
    facts = host_facts(docker=stack.docker_down())
    with pytest.raises(Unreadable, match="whether it remaps users"):
        compose.rendered(compose.PATH, derive(settings(), facts), facts)


def test_a_compose_file_that_was_edited_is_set_right() -> None:
    edited = framed({compose.PATH: rendered()[compose.PATH].replace("127.0.0.1:", "")})
    found = planned(host_facts(compose=edited))
    assert paths(found) == [compose.PATH]
    assert found.files[0].after == rendered()[compose.PATH]
    assert found.files[0].why == "brought up to date"


# daemon.json.

OURS = stack.DAEMON_JSON


def daemon(text: str | None) -> HostFacts:
    return host_facts(daemon_json=framed({} if text is None else {DOCKER_JSON: text}))


def merged(text: str | None, **data: object) -> dict[str, Any]:
    (change,) = role(planned(daemon(text), **data), "docker").files
    assert (change.path, change.operators) == (DOCKER_JSON, True)
    found: dict[str, Any] = json.loads(change.after)
    return found


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param(None, OURS, id="no file"),
        pytest.param("", OURS, id="an empty file"),
        pytest.param("{}", OURS, id="no keys"),
        pytest.param(
            '{"dns": ["192.0.2.53"], "features": {"a": true}}',
            {"dns": ["192.0.2.53"], "features": {"a": True}, **OURS},
            id="the operator's keys stay",
        ),
        pytest.param(
            json.dumps({**OURS, "live-restore": False}), OURS, id="our key with another value"
        ),
        pytest.param(
            json.dumps(
                {**OURS, "log-opts": {"max-size": "10m", "max-file": "3", "labels": "a"}}
            ).replace('"10m"', '"1g"'),
            {**OURS, "log-opts": {**OURS["log-opts"], "labels": "a"}},
            id="an option of the same log driver stays",
        ),
        pytest.param(
            '{"log-driver": "journald", "log-opts": {"tag": "x"}, "dns": []}',
            {"dns": [], **OURS},
            id="options of another log driver go",
        ),
        pytest.param('{"log-opts": "all"}', OURS, id="options that are none"),
    ],
)
def test_our_keys_are_laid_over_the_operators(text: str | None, after: dict[str, Any]) -> None:
    assert merged(text) == after


def test_settings_of_the_log_and_the_data_root_are_written() -> None:
    found = merged(None, docker_log_max_mb=5, docker_log_files=1, docker_data_root="/srv/d")
    assert found["log-opts"] == {"max-size": "5m", "max-file": "1"}
    assert found["data-root"] == "/srv/d"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(OURS), id="in one line"),
        pytest.param(json.dumps({**OURS, "dns": []}, indent=8), id="with more, indented"),
        pytest.param(
            json.dumps({**OURS, "log-opts": {**OURS["log-opts"], "labels": "a"}}), id="more options"
        ),
    ],
)
def test_a_daemon_json_that_has_our_keys_is_not_touched(text: str) -> None:
    assert planned(daemon(text)).empty


@pytest.mark.parametrize("text", ['{"a": 1,}', "// x\n{}", "[]", '{"a": 1'])
def test_a_broken_daemon_json_is_never_written(text: str) -> None:
    assert role(planned(daemon(text)), "docker").files == ()


@pytest.mark.parametrize(
    ("before", "restarts"),
    [
        pytest.param({**OURS, "live-restore": False}, False, id="live-restore is taken up"),
        pytest.param({**OURS, "log-driver": "local"}, True, id="a log driver is not"),
        pytest.param({}, True, id="no keys of ours yet"),
    ],
)
def test_a_restart_of_dockerd_is_planned_where_a_reload_is_not_enough(
    before: dict[str, Any], restarts: bool
) -> None:
    why = planned(daemon(json.dumps(before))).why("engine")
    assert bool(why) == restarts


# The engine, its packages, users, proxy and certificates.


@pytest.mark.parametrize(
    ("packages", "info", "data", "why"),
    [
        pytest.param(frozenset(stack.PACKAGES), {}, {}, (), id="the distribution's, whole"),
        pytest.param(CE, {}, {}, (), id="Docker's own, whole"),
        pytest.param(
            frozenset(stack.PACKAGES) - {"docker-compose"},
            {"ClientInfo": {"Plugins": []}},
            {},
            ("docker-compose",),
            id="the distribution's without compose",
        ),
        pytest.param(
            CE - {"docker-compose-plugin"},
            {"ClientInfo": {"Plugins": []}},
            {},
            ("docker-compose-plugin",),
            id="Docker's own without compose",
        ),
        pytest.param(
            frozenset(stack.PACKAGES) - {"docker-cli"},
            {},
            {"docker_source": "distro"},
            ("docker-cli",),
            id="the distribution's, asked for by name",
        ),
    ],
)
def test_an_engine_gets_what_it_lacks(
    packages: frozenset[str], info: dict[str, Any], data: dict[str, Any], why: tuple[str, ...]
) -> None:
    listed = "".join(f"ii |{name}|1|amd64\n" for name in packages)
    facts = host_facts(packages=f"native amd64\n{listed}end\n", docker=stack.docker(**info))
    assert planned(facts, **data).why("packages") == why


UBUNTU = 'ID=ubuntu\nID_LIKE=debian\nNAME="Ubuntu"\nVERSION_CODENAME=noble\n'
DERIVATIVE = 'ID=linuxmint\nID_LIKE="ubuntu debian"\nNAME="Linux Mint"\nVERSION_CODENAME=zara\n'


@pytest.mark.parametrize("os_release", [UBUNTU, DERIVATIVE])
def test_ubuntus_packages_have_other_names(os_release: str) -> None:
    texts = {name: reading.text for name, reading in BARE.facts().readings.items()}
    found = planned(facts_of({**texts, "os_release": os_release}))
    assert role(found, "docker").actions[0].why == ("docker.io", "docker-compose-v2")
    assert found.why(FIRMWARE) == ("linux-firmware",)
    assert SOURCES not in paths(found)


def test_users_join_the_engines_group_and_are_told_what_that_means() -> None:
    found = planned(host_facts(), docker_users=["admin"])
    assert found.why("group docker") == ("admin",)
    assert "in the group docker, admin can become root" in role(found, "docker").notes
    joined = host_facts(accounts=stack.accounts(docker="admin"))
    assert planned(joined, docker_users=["admin"]).empty


def test_an_engine_that_is_not_started_at_boot_is() -> None:
    facts = host_facts(
        docker=stack.docker(enabled="disabled"),
        units=stack.units(
            {path: text for path, text in rendered().items() if path != compose.PATH},
            changed={"docker": {"UnitFileState": "disabled"}},
        ),
    )
    assert only(facts, "engine") == ("docker.service is disabled",)


def test_an_engine_that_has_not_read_its_files_is_restarted() -> None:
    facts = replace(Box(), newer=frozenset({DOCKER_JSON})).facts()
    assert only(facts, "engine") == (f"{DOCKER_JSON} is newer than dockerd",)


def test_a_proxy_goes_to_apt_and_dockerd_and_the_container() -> None:
    found = planned(host_facts(), docker_proxy=PROXY)
    engine = role(found, "docker")
    assert [change.path for change in engine.files] == [docker.APT_PROXY, docker.PROXY_DROP_IN]
    assert found.why("engine") == (f"{docker.PROXY_DROP_IN} changes",)
    assert "HTTPS_PROXY is not set" in " ".join(found.why("container ollama"))


def test_certificates_are_written_and_made_known() -> None:
    found = planned(host_facts(), docker_site_ca=PEM)
    assert role(found, "docker").files[0].after == PEM
    assert found.why("certificates") == (f"{site_ca.PATH} changes",)
    assert found.why("engine") == (f"{site_ca.PATH} changes",)


def test_certificates_that_are_not_trusted_yet_are_made_known() -> None:
    facts = replace(Box(), untrusted="x.crt is not in y").facts()
    assert only(facts, "certificates") == ("x.crt is not in y",)


def test_what_is_no_longer_asked_for_goes() -> None:
    box = deploy(Box(), settings(docker_proxy=PROXY, docker_site_ca=PEM))
    found = role(planned(box.facts()), "docker")
    assert {(change.path, change.after) for change in found.files} == {
        (path, "") for path in (site_ca.PATH, docker.APT_PROXY, docker.PROXY_DROP_IN)
    }
    assert all("emptied" in change.why for change in found.files)


# Vulkan.


@pytest.mark.parametrize(
    ("lacking", "what", "why"),
    [
        ("vulkan-tools", "packages", ("vulkan-tools",)),
        ("firmware-amd-graphics", FIRMWARE, ("firmware-amd-graphics",)),
    ],
)
def test_a_package_that_is_missing_is_installed(
    lacking: str, what: str, why: tuple[str, ...]
) -> None:
    assert only(host_facts(packages=stack.packages(lacking)), what) == why


def test_a_package_that_dpkg_left_half_way_is_installed_again() -> None:
    facts = host_facts(packages=stack.packages(broken="vulkan-tools"))
    assert only(facts, "packages") == ("vulkan-tools",)
    assert "dpkg was broken off in vulkan-tools" in " ".join(planned(facts).notes)


OURS_AND_THEIRS = f"{DEBIAN}deb http://deb.example/debian-security trixie-security main\n"
BACKPORTS = "deb http://deb.example/debian trixie-backports main\n"
THIRD = "deb http://other.example/apt trixie main\n"
DEB822 = "Types: deb\nURIs: http://deb.example/debian/\nSuites: trixie\nComponents: main\n"


def sourced(files: dict[str, str], candidate: str = "") -> HostFacts:
    return host_facts(
        packages=stack.packages("firmware-amd-graphics"), apt_sources=candidate + framed(files)
    )


@pytest.mark.parametrize(
    ("path", "text", "after"),
    [
        pytest.param(
            SOURCES, DEBIAN, DEBIAN.replace(" main", " main non-free-firmware"), id="one line"
        ),
        pytest.param(
            "/etc/apt/sources.list.d/debian.sources",
            DEB822,
            DEB822.replace("main", "main non-free-firmware"),
            id="deb822",
        ),
    ],
)
def test_the_firmwares_component_is_added_to_debians_own_source(
    path: str, text: str, after: str
) -> None:
    found = planned(sourced({path: text, "/etc/apt/sources.list.d/third.list": THIRD}))
    (change,) = found.files
    assert (change.path, change.after, change.operators) == (path, after, True)
    assert found.why(FIRMWARE) == ("firmware-amd-graphics",)


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(sourced({SOURCES: THIRD}), id="a third party's source"),
        pytest.param(sourced({SOURCES: BACKPORTS}), id="backports alone"),
        pytest.param(sourced({SOURCES: f"# {DEBIAN}"}), id="a comment"),
        pytest.param(
            sourced({SOURCES: DEBIAN}, "candidate firmware-amd-graphics 1\n"), id="it is known"
        ),
        pytest.param(
            sourced({SOURCES: DEBIAN.replace("main", "main non-free-firmware")}), id="it is there"
        ),
    ],
)
def test_no_other_source_is_touched(facts: HostFacts) -> None:
    assert planned(facts).files == ()


def test_users_join_the_groups_of_the_gpu() -> None:
    facts = host_facts(accounts=stack.accounts(members=""))
    why = only(facts, "groups", vulkan_users=["admin"])
    assert why == ("admin: render", "admin: video")
    assert any("next login" in note for note in planned(facts, vulkan_users=["admin"]).notes)
    assert planned(host_facts(), vulkan_users=["admin"]).empty


# Models.

TINY = Model(name="tiny:latest", offered={}, parameters={}, weights="tiny", projector="")


def store(
    *stored: Model, kept: Iterable[Model] | None = None, missing: Iterable[str] = ()
) -> HostFacts:
    found = stack.model_store(*stored, kept=kept, missing=missing)
    held = [{**stack.loaded(model)} for model in stored]
    return host_facts(model_store=found, ollama_api=stack.ollama_api(*held, models=stored))


def reasons(facts: HostFacts, how: str, **data: object) -> tuple[str, ...]:
    found = role(planned(facts, **data), "models")
    return next((each.why for each in found.actions if each.how == how), ())


OTHER = replace(QWEN, offered={"temperature": 1, "top_k": 40})


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        pytest.param(store(), "it is not here", id="absent"),
        pytest.param(
            store(QWEN, missing=[f"sha256-{stack.sha256('weights')}"]),
            "a part of it is missing",
            id="partial",
        ),
        pytest.param(store(QWEN, kept=()), "its registry's manifest is not kept", id="adopted"),
        pytest.param(
            store(QWEN, kept=[OTHER]),
            f"it is {OTHER.digest[:12]}, pinned is {QWEN.digest[:12]}",
            id="another digest",
        ),
        pytest.param(
            store(replace(QWEN, weights="others"), kept=[QWEN]),
            "another model lies under its name",
            id="another model under the name",
        ),
        pytest.param(
            store(replace(QWEN, parameters={**QWEN.parameters, "seed": 1})),
            "it has parameters that nobody asks for: seed",
            id="an operator's extra parameter",
        ),
    ],
)
def test_a_model_that_is_not_as_pinned_is_pulled(facts: HostFacts, why: str) -> None:
    compared = reasons(facts, "compared with its registry")
    assert (*reasons(facts, "pulled"), *compared) == (why,)
    assert bool(compared) == ("is not kept" in why)


def test_a_model_that_is_as_pinned_is_not_pulled() -> None:
    assert planned(store(QWEN)).empty


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        pytest.param(
            QWEN.offered, ("num_batch 512", "draft_num_predict 2"), id="lost by a pull of the tag"
        ),
        pytest.param(
            {**QWEN.parameters, "num_batch": 2048},
            ("num_batch 512 instead of 2048",),
            id="another value",
        ),
        pytest.param(
            {**QWEN.parameters, "top_k": 5}, ("top_k 20 instead of 5",), id="the registry's own"
        ),
    ],
)
def test_parameters_that_differ_are_set(parameters: dict[str, Any], why: tuple[str, ...]) -> None:
    facts = store(replace(QWEN, parameters=parameters))
    assert reasons(facts, "parameters set") == why
    assert reasons(facts, "pulled") == ()
    assert reasons(facts, "enabled and run") == (f"{QWEN.name} changes",)


def test_all_that_a_model_should_have_is_set_at_once() -> None:
    """Ollama lays what it is given over what the model has."""
    facts = store(replace(QWEN, parameters={"top_k": 5}))
    (pinned,) = settings().models.models_list
    assert models.wanted(pinned, facts) == {
        "temperature": 1,
        "top_k": 20,
        "num_batch": 512,
        "draft_num_predict": 2,
    }


def test_a_pull_brings_the_registrys_parameters_back_and_ours_are_set_after_it() -> None:
    facts = store(QWEN, missing=[f"sha256-{stack.sha256('weights')}"])
    assert reasons(facts, "parameters set") == ("num_batch 512", "draft_num_predict 2")


UNPINNED = {**REFERENCE, "digest": ""}


def test_a_model_without_a_digest_is_told_with_the_line_to_paste() -> None:
    found = planned(host_facts(), models_list=[UNPINNED])
    assert found.empty
    assert f'{QWEN.name} is not pinned: "digest": "{QWEN.digest}"' in found.notes


def test_a_model_that_is_not_here_yet_has_no_digest_to_print() -> None:
    notes = planned(store(), models_list=[UNPINNED]).notes
    assert f"{QWEN.name} is not pinned: the plan prints its digest once it is here" in notes


def test_models_that_nobody_lists_stay() -> None:
    assert planned(store(QWEN, TINY)).empty


def test_two_models_are_planned_each() -> None:
    asked = [REFERENCE, {"name": "tiny", "digest": TINY.digest}]
    found = planned(host_facts(), models_list=asked)
    assert said(role(found, "models")) == [("tiny:latest", "pulled")]


# Loaded after boot.

UNITS = {path: text for path, text in rendered().items() if path != compose.PATH}


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        pytest.param(
            host_facts(ollama_api=stack.ollama_api()),
            f"{QWEN.name} is not loaded",
            id="nothing is loaded",
        ),
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(stack.loaded(digest="0" * 64))),
            f"{QWEN.name} is loaded as it was before it was changed",
            id="loaded before its parameters were set",
        ),
        pytest.param(
            host_facts(
                units=stack.units(UNITS, changed={"apuhost-models": {"UnitFileState": "disabled"}})
            ),
            "it is disabled, not enabled",
            id="disabled",
        ),
        pytest.param(
            host_facts(
                units=stack.units(UNITS, changed={"apuhost-models": {"UnitFileState": "masked"}})
            ),
            "it is masked, not enabled",
            id="masked",
        ),
        pytest.param(
            host_facts(
                units=stack.units(UNITS, changed={"apuhost-models": {"ActiveState": "failed"}})
            ),
            "it is failed",
            id="failed",
        ),
        pytest.param(
            host_facts(
                units=stack.units(UNITS, changed={"apuhost-models": {"NeedDaemonReload": "yes"}})
            ),
            "its file was changed since",
            id="not read again by systemd",
        ),
    ],
)
def test_models_are_loaded_again(facts: HostFacts, why: str) -> None:
    found = planned(facts)
    assert not found.files
    assert said(role(found, "models")) == [(models.UNIT_NAME, "enabled and run")]
    assert found.why(models.UNIT_NAME) == (why,)


def test_a_model_whose_runner_another_tag_started_is_not_loaded_again() -> None:
    copy = replace(QWEN, name="copy:1")
    found = host_facts(
        model_store=stack.model_store(QWEN, copy),
        ollama_api=stack.ollama_api(stack.loaded(copy), models=[QWEN, copy]),
    )
    assert planned(found).empty


def test_a_container_that_is_made_again_forgets_its_models() -> None:
    made = stack.container(restart_policy="no")
    found = planned(host_facts(containers=stack.containers(made, stack.image())))
    assert found.why(models.UNIT_NAME) == ("the container is made again",)


def test_without_a_model_to_load_there_is_no_unit() -> None:
    found = planned(BARE.facts(), models_list=[{**REFERENCE, "preload": False}])
    assert role(found, "models").files == ()


def test_a_model_that_is_no_longer_loaded_leaves_the_unit_without_it() -> None:
    found = planned(host_facts(), models_list=[{**REFERENCE, "preload": False}])
    assert paths(found) == [models.PROGRAM]
    assert QWEN.name not in found.files[0].after


# Who reaches the port.

NETWORKS = ["192.0.2.0/24", "198.51.100.7"]
OPEN = {"ollama_listen": "192.0.2.10:11434", "ollama_allow_from": NETWORKS}


def test_the_rules_let_networks_through_and_stop_the_rest() -> None:
    asked = settings(**OPEN).ollama
    match = "-p tcp -m conntrack --ctstate DNAT --ctorigdstport 11434 --ctdir ORIGINAL"
    assert port.rules(asked) == [
        f"-A APUHOST-OLLAMA -s 192.0.2.0/24 {match} -j RETURN",
        f"-A APUHOST-OLLAMA -s 198.51.100.7/32 {match} -j RETURN",
        f"-A APUHOST-OLLAMA {match} -j DROP",
    ]
    assert port.rules(settings().ollama) == []


def test_an_open_port_is_guarded_before_the_container_listens() -> None:
    found = role(planned(host_facts(), **OPEN), "ollama")
    assert [change.path for change in found.files][:2] == [port.PROGRAM, port.UNIT]
    assert said(found)[0] == (port.UNIT_NAME, "enabled and run")
    assert "no login at 192.0.2.10:11434: 192.0.2.0/24, 198.51.100.7 may use" in " ".join(
        found.notes
    )


def test_an_open_port_without_networks_is_said() -> None:
    notes = " ".join(planned(host_facts(), ollama_listen="0.0.0.0:11434").notes)
    assert "no login at 0.0.0.0:11434: whoever reaches it may use" in notes


@pytest.mark.parametrize("networks", [["0.0.0.0/0"], ["0.0.0.0/1", "128.0.0.0/1"]])
def test_networks_that_are_all_of_ipv4_are_said_to_keep_nobody_away(networks: list[str]) -> None:
    asked = {"ollama_listen": "192.0.2.10:11434", "ollama_allow_from": networks}
    notes = role(planned(host_facts(), **asked), "ollama").notes
    assert (
        "no login at 192.0.2.10:11434: whoever reaches it may use, load and delete models" in notes
    )
    assert "ollama_allow_from has all of IPv4: it keeps nobody away" in notes


def test_networks_for_loopback_do_nothing_and_that_is_said() -> None:
    found = planned(host_facts(), ollama_allow_from=NETWORKS)
    assert found.empty
    assert "does nothing: only the host itself reaches 127.0.0.1" in " ".join(found.notes)
    assert port.rules(settings(ollama_allow_from=NETWORKS).ollama) == []


@pytest.mark.parametrize("networks", [NETWORKS, []])
def test_a_port_that_is_closed_again_loses_its_rules(networks: list[str]) -> None:
    found = planned(GUARDED.facts(), ollama_allow_from=networks)
    (change,) = [change for change in found.files if change.path == port.PROGRAM]
    assert not [line for line in change.after.splitlines() if line.startswith("-A ")]
    assert found.why(port.UNIT_NAME) == (f"{port.PROGRAM} changes",)
    asked = settings(host_roles=list(ROLES), ollama_allow_from=networks)
    assert deploy(GUARDED, asked).guarded == ()


GUARDED = deploy(Box(), settings(host_roles=list(ROLES), **OPEN))


@pytest.mark.parametrize(
    ("box", "why"),
    [
        pytest.param(GUARDED, None, id="guarded"),
        pytest.param(replace(GUARDED, guarded=()), "not in force", id="rules flushed"),
        pytest.param(
            replace(GUARDED, guarded=GUARDED.guarded[:-1]), "not in force", id="without its end"
        ),
        pytest.param(
            replace(GUARDED, enabled=GUARDED.enabled - {port.UNIT_NAME}),
            "not enabled",
            id="not after a boot",
        ),
    ],
)
def test_rules_that_are_not_in_force_are_set_again(box: Box, why: str | None) -> None:
    found = planned(box.facts(), **OPEN).why(port.UNIT_NAME)
    assert len(found) == bool(why)
    assert all(why in reason for reason in found if why)


def test_a_rule_of_the_operators_that_comes_first_is_seen() -> None:
    jump = f"-A DOCKER-USER -j {port.CHAIN}"
    first = "-A DOCKER-USER -s 203.0.113.0/24 -j ACCEPT"
    rules = (f"-N {port.CHAIN}", first, jump, *GUARDED.guarded)
    texts = {name: reading.text for name, reading in GUARDED.facts().readings.items()}
    facts = facts_of({**texts, "firewall": stack.firewall(rules=rules)})
    assert planned(facts, **OPEN).why(port.UNIT_NAME) == (
        f"{port.CHAIN} is not in force: {first} comes before {port.CHAIN}",
    )


# Whether it fits.


def fit(**data: object) -> list[str]:
    """What is said of the reference model; loopback, so nothing else of the roles is."""
    asked = {
        **REFERENCE,
        **{key: data.pop(key) for key in list(data) if key in ("parameters", "kv_bytes_per_token")},
    }
    return [
        note
        for note in planned(host_facts(), models_list=[asked], **data).notes
        if QWEN.name in note
    ]


@pytest.mark.parametrize(
    ("batch", "context", "told"),
    [
        pytest.param(2048, 46_000, "a batch of 2048 takes 2.3 s", id="what the watchdog reset"),
        pytest.param(512, 262_144, "a batch of 512 takes 3.3 s", id="the ceiling"),
        pytest.param(2048, 262_144, "a batch of 2048 takes 13.1 s", id="both"),
        pytest.param(512, 160_000, None, id="just under two seconds"),
        pytest.param(512, 46_000, None, id="a quarter of it"),
    ],
)
def test_a_step_that_outlasts_the_watchdog_is_told(
    batch: int, context: int, told: str | None
) -> None:
    parameters = {"num_batch": batch, "num_ctx": context}
    found = fit(parameters=parameters, kernel_lockup_timeout_ms="2000,2000,2000,2000")
    notes = [note for note in found if "watchdog" in note]
    assert len(notes) == bool(told)
    assert all(told in note and "after 2 s" in note for note in notes if told)


@pytest.mark.parametrize(("batch", "told"), [(512, False), (2048, True)])
def test_ten_seconds_hold_512_at_full_context_and_not_2048(batch: int, told: bool) -> None:
    ten = "10000,10000,10000,10000"
    found = fit(parameters={"num_batch": batch}, kernel_lockup_timeout_ms=ten)
    assert any("13.1 s" in note for note in found) == told


@pytest.mark.parametrize(
    ("context", "batch"), [(262_144, 2048), (32_768, 1024), (4096, 512), (4097, 1024)]
)
def test_a_batch_that_nobody_names_is_ollamas_own(context: int, batch: int) -> None:
    assert sizing.automatic_batch(context) == batch


@pytest.mark.parametrize(
    ("gtt", "context"), [(48, 262_144), (46.9, 32_768), (23, 32_768), (22.9, 4096)]
)
def test_a_context_that_nobody_names_is_ollamas_own(gtt: float, context: int) -> None:
    assert sizing.automatic_context(gtt) == context


def test_without_a_watchdog_there_is_nothing_to_tell() -> None:
    found = fit(parameters={"num_batch": 2048}, kernel_lockup_timeout_ms="-1,-1,-1,-1")
    assert not [note for note in found if "watchdog" in note]


KV_BYTES = 20_200
"""2.4 GB of KV cache at 119,000 tokens, as measured."""


def test_the_measured_cache_is_2_4_gb_at_119000_tokens() -> None:
    found = sizing.fit(0, 119_000, KV_BYTES, 48)
    assert round(found.kv_cache / 1e9, 1) == 2.4


def test_a_model_that_fits_is_not_told() -> None:
    assert fit(kv_bytes_per_token=KV_BYTES) == []


def test_a_model_that_does_not_fit_is_told_with_its_numbers() -> None:
    (note,) = [note for note in fit(kv_bytes_per_token=200_000) if "GTT" in note]
    assert note == (
        f"{QWEN.name}: weights 22.0 GiB and KV cache 48.8 GiB do not fit into 48.0 GiB of GTT "
        "(262144 tokens)"
    )


def test_each_request_at_once_has_a_context_of_its_own() -> None:
    found = fit(kv_bytes_per_token=KV_BYTES, ollama_num_parallel=8)
    assert any("2097152 tokens" in note for note in found)


def test_the_kernels_default_of_the_gtt_is_half_of_the_memory() -> None:
    facts = host_facts(meminfo="MemTotal: 29360128 kB\n")
    asked = [{**REFERENCE, "kv_bytes_per_token": 1}]
    notes = plan(settings(models_list=asked), facts).notes
    assert any("14.0 GiB of GTT" in note for note in notes)


def test_a_prompt_cache_that_holds_no_full_context_is_told() -> None:
    (note,) = fit(kv_bytes_per_token=KV_BYTES, ollama_prompt_cache_mib=1000)
    assert note == f"{QWEN.name}: ollama_prompt_cache_mib 1000 holds no full context (5050 MiB)"


# Once is enough.

TWICE = [
    pytest.param(BARE, {}, id="bare"),
    pytest.param(BARE, {"vulkan_users": ["admin"], "docker_users": ["admin"]}, id="bare, users"),
    pytest.param(BARE, OPEN, id="bare, open to networks"),
    pytest.param(BARE, {"docker_proxy": PROXY, "docker_site_ca": PEM}, id="bare, behind a proxy"),
    pytest.param(BARE, {"docker_data_root": "/srv/docker"}, id="bare, data elsewhere"),
    pytest.param(BARE, {"ollama_volume": "models", "ollama_project": "llm"}, id="bare, own names"),
    pytest.param(by_hand(), {}, id="by hand"),
    pytest.param(by_hand(stack.IMAGE_DIGEST), {}, id="by hand, the same image"),
    pytest.param(by_hand(labels={}), {}, id="by hand, docker run"),
    pytest.param(by_hand(mount=BIND), {}, id="by hand, a folder"),
    pytest.param(by_hand(), OPEN, id="by hand, open to networks"),
    pytest.param(Box(), OPEN, id="opened"),
    pytest.param(GUARDED, {}, id="closed again"),
    pytest.param(GUARDED, {"ollama_allow_from": NETWORKS}, id="closed again, networks left"),
    pytest.param(BARE, {"ollama_allow_from": NETWORKS}, id="bare, networks for loopback"),
    pytest.param(GUARDED, {**OPEN, "ollama_allow_from": ["10.0.0.0/8"]}, id="other networks"),
    pytest.param(Box(), {"ollama_environment": {"OLLAMA_DEBUG": 1}}, id="a variable"),
    pytest.param(Box(), {"docker_log_max_mb": 50}, id="another log"),
    pytest.param(
        Box(), {"ollama_image": ROCM_IMAGE, "ollama_backend": "rocm"}, id="another backend"
    ),
    pytest.param(Box(), {"models_list": []}, id="no model any more"),
    pytest.param(
        replace(Box(), container={"running": False, "status": "exited"}), {}, id="stopped"
    ),
    pytest.param(replace(Box(), engine="down"), {}, id="an engine that is down"),
    pytest.param(replace(Box(), newer=frozenset({DOCKER_JSON})), {}, id="a restart that is due"),
    pytest.param(replace(Box(), loaded={}), {}, id="unloaded"),
    pytest.param(replace(Box(), enabled=frozenset()), {}, id="units that were disabled"),
    pytest.param(replace(Box(), stored=(), kept=(), loaded={}), {}, id="models that are gone"),
    pytest.param(
        replace(Box(), stored=(replace(QWEN, parameters=QWEN.offered),)), {}, id="pulled by hand"
    ),
    pytest.param(
        replace(Box(), stored=(replace(QWEN, parameters={**QWEN.parameters, "top_k": 1}),)),
        {},
        id="the registry's parameter changed by hand",
    ),
    pytest.param(
        replace(Box(), stored=(replace(QWEN, weights="x"),)), {}, id="another model by its name"
    ),
    pytest.param(replace(Box(), kept=()), {}, id="the kept manifest is gone"),
]


@pytest.mark.parametrize(("box", "data"), TWICE)
def test_one_deploy_is_enough(box: Box, data: dict[str, object]) -> None:
    asked = settings(kernel_gtt_gib=48, host_roles=list(ROLES), **data)
    assert not plan(asked, box.facts()).empty
    again = plan(asked, deploy(box, asked, [QWEN]).facts())
    assert again.roles == tuple(replace(each, files=(), actions=()) for each in again.roles)
    assert again.reboot == ()


@pytest.mark.parametrize("mount", [PREFIXED, BIND])
def test_a_deploy_that_ended_between_two_containers_still_knows_the_models(
    mount: dict[str, str],
) -> None:
    box = by_hand(mount=mount)
    (file,) = [change for change in planned(box.facts()).files if change.path == compose.PATH]
    ended = replace(box, container=None, files={compose.PATH: file.after})
    assert compose.PATH not in paths(planned(ended.facts()))


@pytest.mark.parametrize(("box", "data"), TWICE)
def test_no_deploy_loses_a_volume_a_model_or_an_engine(box: Box, data: dict[str, object]) -> None:
    after = deploy(box, settings(host_roles=list(ROLES), **data), [QWEN])
    assert box.volumes <= after.volumes
    assert {model.name for model in box.stored} <= {model.name for model in after.stored}
    assert box.packages <= after.packages
