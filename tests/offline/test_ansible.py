"""What Ansible takes: a task for every step, the same bytes of every template, the inventory."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.offline.test_roles import TEMPLATES, given
from tests.support import playing
from tests.support.hosts import host_facts, settings

from apuhost import evidence, inventory, roles
from apuhost.changes import FileChange
from apuhost.cli import verbs
from apuhost.commands import inventory as command
from apuhost.errors import ApuhostError
from apuhost.inventory import Host
from apuhost.report import ansible
from apuhost.roles import CHECKOUT
from apuhost.settings import as_data, resolve
from apuhost.steps.order import steps

EVERY = (*roles.names(), roles.HOST)
SITE = yaml.safe_load((CHECKOUT / "playbooks" / "site.yml").read_text())[0]
TASK_FILES = [
    pytest.param(path, id=str(path.relative_to(roles.folder())))
    for path in sorted(roles.folder().glob("*/tasks/*.yml"))
]


def tasks(path: Path) -> list[dict[str, Any]]:
    """The tasks of a file with those of the files that it takes in."""
    found: list[dict[str, Any]] = []
    for task in yaml.safe_load(path.read_text()):
        taken = task.get("ansible.builtin.import_tasks")
        found += tasks(path.parent / taken) if taken else [task]
    return found


def of_site() -> Iterator[dict[str, Any]]:
    """The tasks of playbooks/site.yml, in order; the role host comes before the first role."""
    yield from tasks(roles.folder() / roles.HOST / "tasks" / "main.yml")
    for each in SITE["tasks"]:
        role = each["ansible.builtin.import_role"]
        file = f"{role.get('tasks_from', 'main')}.yml"
        yield from tasks(roles.folder() / role["name"] / "tasks" / file)


def named(task: Mapping[str, Any]) -> str:
    """A task's name as its step has it: Ansible's linter wants a capital."""
    return str(task["name"]).lower()


def test_the_playbook_takes_every_step_in_order_under_its_name() -> None:
    taken: dict[str, Any] = {}  # two roles ask what Docker tells, whichever comes first
    for task in of_site():
        if "step" in task["apuhost"]:
            taken.setdefault(task["apuhost"]["step"], task)
    assert [*taken] == [label for label, _, _ in steps()]
    for task, (_, _, step) in zip(taken.values(), steps(), strict=True):
        assert named(task) == step.name.lower()


@pytest.mark.parametrize("role", ["ollama", "models"])
def test_before_a_container_is_touched_its_host_is_admitted(role: str) -> None:
    first, second, *_ = tasks(roles.folder() / role / "tasks" / "main.yml")
    assert first["apuhost"] == {"variables": role}
    assert second["apuhost"] == {"step": "admit, with Docker"}
    assert second["tags"] == [role]


@pytest.mark.parametrize("path", TASK_FILES)
def test_tasks_begin_with_their_roles_variables_and_have_its_tag(path: Path) -> None:
    role = path.parent.parent.name
    found = tasks(path)
    assert found[0]["apuhost"] == {"variables": role}
    tags = {tag for task in found for tag in task["tags"]}
    assert tags <= ({role} if role != roles.HOST else {"always", "reboot"})


@pytest.mark.parametrize("role", roles.names())
def test_every_role_stands_on_the_host(role: str) -> None:
    meta = yaml.safe_load((roles.folder() / role / "meta" / "main.yml").read_text())
    assert meta == {"dependencies": [{"role": roles.HOST}]}


Render = Callable[[Path, Mapping[str, object]], str]


@pytest.fixture(scope="module")
def by_ansible(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Render]:
    """Ansible's own template lookup, with a folder for what it writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANSIBLE_HOME", str(tmp_path_factory.mktemp("ansible")))
        yield rendering()


def rendering() -> Render:
    import ansible.plugins.loader as plugins  # noqa: PLC0415  (reads the variable)
    from ansible.parsing.dataloader import DataLoader  # noqa: PLC0415
    from ansible.template import Templar  # noqa: PLC0415

    plugins.init_plugin_loader([])

    def render(path: Path, values: Mapping[str, object]) -> str:
        loader = DataLoader()
        templar = Templar(loader, dict(values))
        kind = "ansible.builtin.template"
        lookup = plugins.lookup_loader.get(kind, loader=loader, templar=templar)
        (text,) = lookup.run([str(path)], dict(values), convert_data=False)
        return str(text)

    return render


@pytest.mark.parametrize(("role", "template"), TEMPLATES)
def test_ansible_renders_the_same_bytes(role: str, template: Path, by_ansible: Render) -> None:
    target = f"/{template.relative_to(roles.folder() / role / 'templates').with_suffix('')}"
    values = given(role)
    assert by_ansible(template, values) == roles.render(role, target, values)


def test_a_diff_that_ansible_shows_has_no_login(by_ansible: Render) -> None:
    before = "http-proxy=http://admin:horse@proxy\n"
    change = FileChange("/etc/x", before, f"{before}keep=5\n", "changed", operators=True)
    shown = playing.plugin().difference(change)
    assert "horse" not in json.dumps(shown)
    assert (shown["before_header"], shown["after"].splitlines()[1]) == ("/etc/x", "keep=5")


# The inventory.

BOX = {
    "ssh_hostname": "192.0.2.10", "ssh_port": 2222, "ssh_user": "admin", "ssh_key": "~/key",
    "ssh_known_hosts_file": "/known hosts", "ssh_config_file": "/config", "_sudo": True,
}  # fmt: skip


def listed(*hosts: Host) -> dict[str, Any]:
    found = {}
    for host in hosts:
        found[host.name], problems = resolve(host.name, host.data)
        assert not problems
    return ansible.ansible(hosts, {name: each for name, each in found.items() if each}, {})


def variables(**data: object) -> dict[str, Any]:
    hostvars = listed(Host("box", ("site",), {**BOX, **data}))["_meta"]["hostvars"]
    return dict(hostvars["box"])


def test_the_way_to_a_host_is_told_in_ansibles_words() -> None:
    found = variables()
    assert found["ansible_host"] == "192.0.2.10"
    assert (found["ansible_port"], found["ansible_user"]) == (2222, "admin")
    assert found["ansible_ssh_private_key_file"] == str(Path("~/key").expanduser())
    assert found["ansible_become"] is True
    assert found["ansible_ssh_common_args"] == (
        "-F /config -o StrictHostKeyChecking=yes "
        "-o 'UserKnownHostsFile=\"/known hosts\"' -o IdentitiesOnly=yes"
    )


@pytest.mark.parametrize("key", ["ssh_config_file", "ssh_key", "ssh_known_hosts_file"])
def test_a_home_of_nobody_stays_as_it_is(key: str) -> None:
    assert "~nobody-here/c" in json.dumps(variables(**{key: "~nobody-here/c"}))


def test_no_configuration_of_ssh_is_ssh_s_own_word() -> None:
    told = variables(ssh_config_file="none")["ansible_ssh_common_args"]
    assert told.startswith("-F none -o StrictHostKeyChecking=yes")


def test_every_setting_is_told_and_read_back_as_it_was() -> None:
    asked = settings(kernel_gtt_gib=48, models_list=[{"name": "qwen3:8b", "preload": True}])
    found = variables(kernel_gtt_gib=48, models_list=[{"name": "qwen3:8b", "preload": True}])
    told = {key: value for key, value in found.items() if not key.startswith("ansible_")}
    assert told == as_data(asked)
    assert resolve("box", json.loads(json.dumps(told))) == (asked, ())


def test_a_secret_is_not_told_and_how_to_give_it_is() -> None:
    secrets = {"_sudo_password": "right horse", "ssh_key_password": "right horse"}
    host = Host("box", (), {**BOX, **secrets})
    assert "right horse" not in json.dumps(listed(host))
    told = list(ansible.kept_back([host]))
    assert [line.split(" is not printed")[0] for line in told] == [
        "box: _sudo_password",
        "box: ssh_key_password",
    ]


def test_what_looks_like_a_template_is_marked() -> None:
    waiver = {"id": "gpu.driver", "reason": "{{ 1 }}"}
    (found,) = variables(host_waivers=[waiver])["host_waivers"]
    assert found["reason"] == {"__ansible_unsafe": "{{ 1 }}"}


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An inventory of two hosts, without starting pyinfra to read one."""
    hosts = [Host(name, (), BOX) for name in ("box", "other")]
    monkeypatch.setattr(inventory, "load", lambda _, limits: hosts[: len(limits) or 2])
    monkeypatch.setattr(inventory, "settings", lambda _, asked: {h.name: settings() for h in asked})


def test_what_the_settings_come_to_is_told_by_saved_facts(
    boxes: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evidence.save(tmp_path, Host("box", (), {}), host_facts())
    assert command.run(Path("site.py"), ["box"], "box", tmp_path) == 0
    found = json.loads(capsys.readouterr().out)["apuhost_derived"]
    assert found["pages_limit"] == found["gtt_gib"] * 1024**3 // 4096
    assert f"ttm.pages_limit={found['pages_limit']}" in found["parameters"]


def test_a_host_of_which_nothing_is_saved_is_named(boxes: None, tmp_path: Path) -> None:
    evidence.save(tmp_path, Host("box", (), {}), host_facts())
    with pytest.raises(ApuhostError, match="no facts of other: apuhost facts INVENTORY -o "):
        command.run(Path("site.py"), [], None, tmp_path)


def test_groups_are_the_inventorys_and_one_has_all_hosts() -> None:
    hosts = Host("a1", ("site_a", "all"), {}), Host("b1", ("b-site", "9", "all"), {})
    found = listed(*hosts)
    assert {name: group["hosts"] for name, group in found.items() if name != "_meta"} == {
        "apuhost": ["a1", "b1"],
        "site_a": ["a1"],
        "b-site": ["b1"],
        "9": ["b1"],
    }
    assert not [*ansible.left_out(hosts)]


@pytest.mark.parametrize("name", ["all", "apuhost", "ungrouped", "_meta", "b1"])
def test_a_group_that_ansible_takes_for_other_hosts_is_told(name: str) -> None:
    hosts = Host("a1", (name,), {}), Host("b1", (), {})
    assert listed(*hosts) == listed(*(Host(each.name, (), {}) for each in hosts))
    (told,) = ansible.left_out(hosts)
    assert told.startswith(f"the group {name} is left out: Ansible calls ")


def test_a_group_that_means_what_its_name_does_anyway_is_not_told() -> None:
    host = Host("minipc", ("minipc", "all", "apuhost"), {})
    assert not [*ansible.left_out([host])]
    assert listed(host)["apuhost"] == {"hosts": ["minipc"]}


def test_what_is_left_out_is_said_beside_the_json(
    boxes: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inventory, "load", lambda *_: [Host("box", ("ungrouped",), BOX)])
    assert command.run(Path("site.py"), [], None, None) == 0
    said = capsys.readouterr()
    assert said.err.startswith("the group ungrouped is left out")
    assert json.loads(said.out)["apuhost"] == {"hosts": ["box"]}


def test_no_group_is_printed_that_only_the_files_name_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host("a1", ("lab", "site"), {})
    monkeypatch.setattr(inventory, "load", lambda *_: [host])
    for name, text in (
        ("site.ini", "[lab]\na1\n"),
        ("lab.ini", "[site:children]\nlab\n[lab]\na1\n"),
    ):
        (tmp_path / name).write_text(text)
        assert command.run(tmp_path / name, [], None, None) == 0
        found = json.loads(capsys.readouterr().out)
        assert ("lab" in found, "site" in found) == (True, name == "lab.ini")


def test_this_machine_is_ansibles_localhost() -> None:
    found = listed(Host("@local", (), {}))
    assert found["apuhost"]["hosts"] == ["localhost"]
    assert found["_meta"]["hostvars"]["localhost"]["ansible_connection"] == "local"


def test_one_hosts_variables_are_printed_alone(
    boxes: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run(Path("site.py"), [], "box", None) == 0
    assert json.loads(capsys.readouterr().out)["ansible_host"] == "192.0.2.10"
    with pytest.raises(ApuhostError, match="no host bx; there are: box, other"):
        command.run(Path("site.py"), [], "bx", None)


def test_the_form_must_be_named() -> None:
    with pytest.raises(ApuhostError, match="--ansible"):
        verbs.inventory(Path("site.py"))
