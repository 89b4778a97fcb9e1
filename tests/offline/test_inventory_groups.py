"""Group data that no host would get is refused with the file and the nearest name."""

from pathlib import Path

import pytest

from apuhost.inventory import InventoryError, groups

SITE = 'site_a = ["a1"]\nsite_b = []\nfrom sites import site_c\n'


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory with an inventory beside it, in the current folder."""
    (tmp_path / "group_data").mkdir()
    (tmp_path / "site.py").write_text(SITE)
    (tmp_path / "lab.py").write_text('bench = ["b1"]\n')
    (tmp_path / "broken.py").write_text("x = [\n")
    (tmp_path / "rack.csv").write_text("name,groups\nc1,shelf\n")
    (tmp_path / "hall.ini").write_text("[row]\nd1\n[aisle]\n")
    (tmp_path / "torn.yml").write_text("all: [\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "site.py"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("all.py", id="all"),
        pytest.param("site.py", id="the file's own group"),
        pytest.param("site_a.py", id="a list"),
        pytest.param("site_b.py", id="a list without hosts"),
        pytest.param("site_c.py", id="a list from elsewhere"),
        pytest.param("computed.py", id="a group that pyinfra found"),
        pytest.param("bench.py", id="a neighbour's list"),
        pytest.param("lab.py", id="a neighbour's own group"),
        pytest.param("broken.py", id="a broken neighbour"),
        pytest.param("rack.py", id="a CSV neighbour's own group"),
        pytest.param("shelf.py", id="a CSV neighbour's group"),
        pytest.param("hall.py", id="an INI neighbour's own group"),
        pytest.param("aisle.py", id="an INI neighbour's group without hosts"),
        pytest.param("torn.py", id="a broken neighbour that is no Python"),
        pytest.param("_common.py", id="a file of its own"),
        pytest.param("_notes.yml", id="data of its own"),
        pytest.param("__pycache__", id="what Python leaves"),
        pytest.param("README.md", id="notes"),
        pytest.param("site_ca.pem", id="a certificate"),
        pytest.param("certificates", id="a file of no group"),
        pytest.param("all.py~", id="an editor's copy"),
    ],
)
def test_what_is_read_or_nobodys_values(site: Path, name: str) -> None:
    (site.parent / "group_data" / name).touch()
    groups.check(site, {"site", "site_a", "computed"})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("site_d.py", "no group is called site_d (site_", id="no such group"),
        pytest.param("site-a.py", "no group is called site-a (site_a?): rename", id="a hyphen"),
        pytest.param("Site_a.py", "no group is called Site_a (site_a?)", id="a capital"),
        pytest.param(
            "zzz.py", "no group is called zzz: rename the file, or write zzz = []", id="z"
        ),
        *[
            pytest.param(f"all.{end}", "is not read: write all.py, a line NAME = VALUE", id=end)
            for end in ("yml", "yaml", "json", "toml", "ini", "PY", "YML")
        ],
        pytest.param("models.json", "is not read: write models.py", id="of no group"),
        pytest.param("site_a", "is not read: write site_a.py", id="without an end"),
    ],
)
def test_what_no_host_would_get(site: Path, name: str, told: str) -> None:
    (site.parent / "group_data" / name).touch()
    with pytest.raises(InventoryError) as raised:
        groups.check(site, {"site", "site_a"})
    assert str(raised.value).startswith(f"group_data/{name}")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_of_a_group_is_not_read_either(site: Path) -> None:
    (site.parent / "group_data" / "all").mkdir()
    with pytest.raises(InventoryError, match=r"group_data/all is not read: write all\.py"):
        groups.check(site, set())


def test_data_that_a_python_file_reads_itself_may_stay(site: Path) -> None:
    folder = site.parent / "group_data"
    (folder / "models.json").write_text("[]")
    (folder / "all.py").write_text('models_list = load(HERE / "models.json")\n')
    groups.check(site, set())


def test_an_inventory_without_group_data(tmp_path: Path) -> None:
    groups.check(tmp_path / "site.py", set())
