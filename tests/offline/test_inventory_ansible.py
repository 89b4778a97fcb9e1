"""Hosts from an existing Ansible inventory: merged as Ansible does, in apuhost's words, or told."""

from pathlib import Path

import pytest

from apuhost.inventory import ansible, handover
from apuhost.inventory.syntax import InventoryError

INI = """\
# comment
lone ansible_host=192.0.2.9
[lab]
box[01:02] ansible_host=192.0.2.1 ansible_user=1000 ; no comment of a line
box03:2222 vulkan_users="['ann']" kernel_amd_iommu=off # a comment
[lab:vars]
kernel_gtt_gib = 48  # GiB
ansible_become=yes
kube_version=1.31
[site:children]
lab
"""

YAML = """\
all:
  hosts:
    lone: {ansible_host: 192.0.2.9}
  children:
    site:
      children:
        lab:
          hosts:
            box[01:02]: {ansible_host: 192.0.2.1, ansible_user: "1000"}
            box03:
              ansible_port: "2222"
              vulkan_users: [ann]
              kernel_amd_iommu: "off"
          vars:
            kernel_gtt_gib: 48
            ansible_become: true
            kube_version: "{{ of_others }}"
"""

LAB = {"kernel_gtt_gib": 48, "_sudo": True}
ADDRESS = {"ssh_hostname": "192.0.2.1", "ssh_user": "1000"}
FOUND = {
    "lone": {"ssh_hostname": "192.0.2.9"},
    "box01": {**LAB, **ADDRESS},
    "box02": {**LAB, **ADDRESS},
    "box03": {**LAB, "ssh_port": 2222, "vulkan_users": ["ann"], "kernel_amd_iommu": "off"},
}


def hosts(folder: Path, name: str, text: str) -> dict[str, dict[str, object]]:
    file = folder / name
    file.write_text(text)
    return {
        each.name: {key: found.value for key, found in each.values.items()}
        for each in ansible.read(file).hosts
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hosts.ini", INI.replace(" ; no comment of a line", "")),
        ("hosts", INI.replace(" ; no comment of a line", "")),
        ("hosts.yml", YAML),
        ("hosts.yaml", YAML),
        ("hosts", f"---\n{YAML}"),
        ("hosts", YAML),
    ],
)
def test_both_forms_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    assert hosts(tmp_path, name, text) == FOUND


def test_a_host_is_in_its_groups_and_in_those_above(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text(YAML)
    assert {each.name: each.groups for each in ansible.read(file).hosts} == {
        "lone": (),
        "box01": ("site", "lab"),
        "box02": ("site", "lab"),
        "box03": ("site", "lab"),
    }


LAYERS = {
    "the group in the file": "",
    "group_vars/all.yml": "kernel_gtt_gib: 2",
    "group_vars/site.yaml": "kernel_gtt_gib: 3",
    "group_vars/lab/b.yml": "kernel_gtt_gib: 4",
    "the host in the file": "",
    "host_vars/box1.json": '{"kernel_gtt_gib": 6}',
}
"""From what counts least; as `ansible-inventory --list` of ansible-core 2.19 has it."""


@pytest.mark.parametrize("last", range(len(LAYERS)), ids=list(LAYERS))
def test_of_two_values_the_one_that_ansible_takes_counts(tmp_path: Path, last: int) -> None:
    written = list(LAYERS.items())[: last + 1]
    own = " kernel_gtt_gib=5" if "the host in the file" in dict(written) else ""
    for path, text in written:
        if text:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(f"{text}\n")
    text = f"[lab]\nbox1{own}\n[lab:vars]\nkernel_gtt_gib=1\n[site:children]\nlab\n"
    assert hosts(tmp_path, "hosts.ini", text) == {"box1": {"kernel_gtt_gib": last + 1}}


@pytest.mark.parametrize(
    ("priority", "value"), [("", 2), ("ansible_group_priority=10\n", 1)], ids=["name", "priority"]
)
def test_of_groups_side_by_side_the_last_name_wins_unless_one_has_priority(
    tmp_path: Path, priority: str, value: int
) -> None:
    text = f"[a]\nbox\n[b]\nbox\n[a:vars]\n{priority}kernel_gtt_gib=1\n[b:vars]\nkernel_gtt_gib=2\n"
    assert hosts(tmp_path, "hosts.ini", text) == {"box": {"kernel_gtt_gib": value}}


def test_backups_and_hidden_files_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "group_vars" / "all"
    folder.mkdir(parents=True)
    for name in ("a.yml~", ".a.yml.swp", "notes.txt"):
        (folder / name).write_text("not: [yaml")
    assert hosts(tmp_path, "hosts.ini", "box\n") == {"box": {}}


def test_a_day_stays_a_text(tmp_path: Path) -> None:
    waiver = "host_waivers: [{id: a, reason: b, until: 2027-03-01}]"
    found = hosts(tmp_path, "hosts.yml", f"all:\n  hosts:\n    box:\n      {waiver}\n")
    told = [{"id": "a", "reason": "b", "until": "2027-03-01"}]
    assert found == {"box": {"host_waivers": told}}


@pytest.mark.parametrize(
    "key",
    [
        "ansible_python_interpreter=/usr/bin/python3",
        "ansible_become_method=sudo",
        "kube_x='{{ y }}'",
    ],
)
def test_what_is_ansibles_or_of_other_roles_is_not_for_apuhost(tmp_path: Path, key: str) -> None:
    assert hosts(tmp_path, "hosts.ini", f"box {key}\n") == {"box": {}}


def test_names_that_the_site_gives_to_others_are_theirs(tmp_path: Path) -> None:
    text = "box docker_version=27 docker_log_opts=x apuhost_foreign_variables="
    text += "\"['docker_version', 'docker_log_opts']\"\n"
    assert hosts(tmp_path, "hosts.ini", text) == {"box": {}}


IN_INI = [
    pytest.param("box ansible_hosst=a", ":1: ansible_hosst is nothing that", id="Ansible's key"),
    pytest.param(
        "box ansible_become_method=doas", "becomes root by sudo", id="another way to root"
    ),
    pytest.param("box ansible_become_user=ann", "apuhost becomes root", id="another user"),
    pytest.param("box ansible_connection=local", "apuhost uses ssh", id="no ssh"),
    pytest.param("box ansible_ssh_pass=x", "not used by apuhost", id="a password"),
    pytest.param("box ansible_ssh_common_args='-J a'", "~/.ssh/config", id="a jump host"),
    pytest.param("box ollama_image='{{ x }}'", ":1: ollama_image has Jinja2 in it", id="Jinja2"),
    pytest.param("box vulkan_users=\"['{{ x }}']\"", "has Jinja2", id="Jinja2 within"),
    pytest.param("box ansible_user=a ansible_ssh_user=b", "ssh_user has another", id="two words"),
    pytest.param("[lab]\nbox a=1\n[x]\nbox a=2", ":4: a stands twice", id="two values"),
    pytest.param("box[3:1]", ":1: box[3:1]: [3:1] counts down", id="a range"),
    pytest.param("box flag", ":1: flag is no KEY=VALUE", id="no value"),
    pytest.param("box a='b", ":1: no closing quotation", id="an open quote"),
    pytest.param("box\n[lab:var]\na=1", ":2: [lab:var] is no section (vars?)", id="a section"),
    pytest.param("box\n[lab]\n[labb:vars]\na=1", "no group is called labb (lab?)", id="no group"),
    pytest.param("box\n[site:children]\nlab", ":3: no group is called lab", id="no child"),
    pytest.param("[lab]\nbox\n[lab:vars]\nword", ":4: no = in it", id="no ="),
    *[
        pytest.param(f'box vulkan_users="{value}"', f":1: vulkan_users {told}", id=value)
        for value, told in (
            ("{'ann'}", "has a value of type set: write a list"),
            ("[{'ann'}]", "has a value of type set"),
            ("...", "has a value of type ellipsis"),
            ("b'ann'", "has a value of type bytes"),
            ("{'a': (1, 2j)}", "has a value of type complex"),
            ("{1: 'ann'}", "has 1 for a name: put it in quotes"),
            ("{(1, 2): 'ann'}", "has (1, 2) for a name"),
        )
    ],
    pytest.param(f"box ssh_port=0x{'f' * 9000}", ":1: ssh_port is too long a number", id="long"),
    pytest.param(
        'box apuhost_foreign_variables="[[1]]"', ":1: apuhost_foreign_variables is no list", id="["
    ),
    pytest.param("[a]\nbox\n[a:children]\nb\n[b:children]\na", "is below", id="a circle"),
]
IN_YAML = [
    pytest.param("- hosts: all\n", ":1: a list (a playbook?)", id="a playbook"),
    pytest.param("plugin: x\n", ":1: the settings of a plugin, no hosts: write it", id="a plugin"),
    pytest.param("{_meta: {hostvars: {}}}", "what a script prints", id="a script's"),
    pytest.param("all: {host: {a: }}", ":1: host is no part of the group all (hosts?)", id="key"),
    *[
        pytest.param(
            f"all:\n  hosts: {{box: {{vulkan_users: {value}}}}}",
            f":2: vulkan_users {told}",
            id=value,
        )
        for value, told in (
            ("!!set {ann}", "has a value of type set"),
            ("[!!set {ann}]", "has a value of type set"),
            ("!!timestamp 2027-03-01", "has a value of type date:"),
            ("!!timestamp 2027-03-01 10:00:00", "has a value of type datetime"),
            ("!!binary YW5u", "has a value of type bytes"),
            ("{yes: ann}", "has True for a name: put it in quotes"),
            ("&a [*a]", "cannot be read: found unconstructable recursive node"),
            *(
                (f"!!{tag} x", "cannot be read")
                for tag in ("int", "float", "bool", "timestamp", "set", "omap", "pairs", "python/x")
            ),
            ("!!int ''", "cannot be read"),
        )
    ],
    *[
        pytest.param(f"all:\n  vars: {{a: {text}}}", f":{line}{told}", id=repr(text))
        for text, line, told in (
            ("\x1b[0m", 2, ": no YAML: it may not have the character U+001B"),
            ("b\n\n\ufffe", 4, ": no YAML: it may not have the character U+FFFE"),
        )
    ],
    pytest.param('all: {vars: {a: "\\UFFFFFFFF"}}', ": no YAML:", id="no letter"),
    pytest.param("%YAML 1." + 5000 * "1" + "\n---\nall: ", ": no YAML:", id="no version"),
    pytest.param("all: {hosts: [a]}", ":1: a list", id="a list of hosts"),
    pytest.param("all: {hosts: box}", ":1: a text, where names", id="a text"),
    pytest.param("all:\n  hosts: {box: {a: 1, a: 2}}", ":2: a stands twice", id="a key twice"),
    pytest.param("all: [\n", ":2: no YAML:", id="no YAML"),
    pytest.param("all:\n  hosts: {<<: 5}", ":2: << names no mapping", id="no merging"),
    pytest.param(
        "all:\n  vars: {a: &a {x: 1}, b: {<<: [*a, 5]}}\n  hosts: {<<: [5]}", ":3: <<", id="5"
    ),
    pytest.param(
        "all:\n  vars: {a: &a {<<: 5}, b: &b {<<: *a}}\n  hosts:\n    x: *b",
        ":2: << names no mapping",
        id="no merging, used again",
    ),
    pytest.param("a: &a {x: }\nall:\n  hosts: {<<: *a, <<: *a}", ":3: << stands twice", id="<<"),
    pytest.param(
        "a: &a\n  children:\n    b: *a\n  hosts: {x: }", "no end", id="an anchor in itself"
    ),
    pytest.param(
        "all:\n  hosts:\n    box:\n      ollama_image: !vault |\n        $ANSIBLE_VAULT;1.1\n",
        ":4: ollama_image is encrypted by Ansible Vault",
        id="vault",
    ),
    pytest.param(
        "all:\n  hosts:\n    box: {vulkan_users: [!unsafe a]}",
        ":3: vulkan_users is !unsafe",
        id="tag",
    ),
    pytest.param("$ANSIBLE_VAULT;1.1;AES256\n6162\n", "encrypted by Ansible Vault", id="whole"),
]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        *(pytest.param("hosts.ini", *each.values, id=f"INI: {each.id}") for each in IN_INI),
        *(pytest.param("hosts.yml", *each.values, id=f"YAML: {each.id}") for each in IN_YAML),
    ],
)
def test_what_cannot_be_understood_is_told_with_its_line(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    with pytest.raises(InventoryError) as error:
        hosts(tmp_path, name, text)
    assert told in str(error.value)


def test_defaults_that_are_merged_in_give_way(tmp_path: Path) -> None:
    text = "all:\n  hosts:\n    a: &a {kernel_gtt_gib: 1, ansible_port: 22}\n"
    text += "    b: {<<: *a, kernel_gtt_gib: 2}\n"
    assert hosts(tmp_path, "hosts.yml", text)["b"] == {"kernel_gtt_gib": 2, "ssh_port": 22}


MERGED = {"kernel_gtt_gib": 48, "ssh_port": 22}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            """
all:
  vars: {base: &a {kernel_gtt_gib: 1, ansible_port: 22}}
  hosts:
    box1: &b {<<: *a, kernel_gtt_gib: 48}
    box2: *b
""",
            id="a host as another",
        ),
        pytest.param(
            """
all:
  vars:
    base: &a {kernel_gtt_gib: 1, ansible_port: 22}
    more: &b {<<: *a, kernel_gtt_gib: 48}
  hosts: {box1: *b, box2: {<<: *b}}
""",
            id="a variable that is read before",
        ),
        pytest.param(
            """
all:
  vars: {base: [&a {kernel_gtt_gib: 1, ansible_port: 22}, &b {kernel_gtt_gib: 48}]}
  hosts:
    box1: {<<: [*b, *a]}
    box2: {ansible_port: 22, <<: *b}
""",
            id="several at once",
        ),
        pytest.param(
            """
all:
  children:
    lab: &a {hosts: {box1: &b {kernel_gtt_gib: 48, ansible_port: 22}}}
    rack: {<<: *a, hosts: {box2: *b}}
""",
            id="a group's hosts instead of others",
        ),
    ],
)
def test_what_is_merged_in_may_be_used_again(tmp_path: Path, text: str) -> None:
    assert hosts(tmp_path, "hosts.yml", text) == {"box1": MERGED, "box2": MERGED}


def test_hosts_of_a_group_that_is_merged_in_give_way(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text("a: &a {hosts: {x: }}\nb: {<<: *a, hosts: {y: }}\n")
    assert [each.groups for each in ansible.read(file).hosts] == [("a",), ("b",)]


def test_what_stands_twice_below_an_alias_is_told_once(tmp_path: Path) -> None:
    text = "all:\n  hosts:\n    a: &a {x: 1, x: 2}\n    b: *a\n    c: {<<: *a, x: 3}\n"
    with pytest.raises(InventoryError) as error:
        hosts(tmp_path, "hosts.yml", text)
    first, count = str(error.value).splitlines()
    assert first.endswith("hosts.yml:3: x stands twice, first in line 3")
    assert count.startswith("1 problem,")


def test_vault_and_templates_of_others_are_theirs(tmp_path: Path) -> None:
    text = "all:\n  vars: {secret: !vault abc, x: !unsafe y, z: !custom q}\n  hosts: {box: }\n"
    assert hosts(tmp_path, "hosts.yml", text) == {"box": {}}


def test_a_file_that_ansible_passes_over_is_told(tmp_path: Path) -> None:
    (tmp_path / "group_vars" / "all").mkdir(parents=True)
    (tmp_path / "group_vars" / "all.yml").write_text("kernel_gtt_gib: 1\n")
    with pytest.raises(InventoryError, match=r"all\.yml: Ansible takes all and passes over it"):
        hosts(tmp_path, "hosts.ini", "box\n")


@pytest.mark.parametrize("text", ["", "[lab]\n", "# nobody\n"])
def test_a_file_without_a_host_is_an_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "hosts.ini"
    file.write_text(text)
    with pytest.raises(InventoryError, match=r"hosts\.ini: no host in it"):
        handover.given(file)


def test_a_program_is_no_list_of_hosts(tmp_path: Path) -> None:
    script = tmp_path / "inventory"
    script.write_text("#!/bin/sh\necho '{}'\n")
    with pytest.raises(InventoryError, match="a program, no list of hosts: write it down once"):
        handover.given(script)


def test_pyinfra_gets_groups_and_hosts_on_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text(YAML)
    found = handover.given(file)
    assert found.arguments == ("--group-data", str(tmp_path / "group_data"), "deploy/hosts.py")
    assert '"lab": ["box01", "box02", "box03"]' in found.stdin
    assert found.places["box03"]["ssh_port"].endswith("hosts.yml:11")
    assert found.places["lone"]["lone"].endswith("hosts.yml:3")
