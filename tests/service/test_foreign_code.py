"""Facts that somebody sent are data: no file beside them is ever run by the checks."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from apuhost.roles import CHECKOUT

FILES = ("conftest.py", "test_gpu.py", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
SETTINGS = {
    "pytest.ini": "[pytest]\naddopts = -p planted\npythonpath = .\n",
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p planted"\npythonpath = ["."]\n',
    "setup.cfg": "[tool:pytest]\naddopts = -p planted\npythonpath = .\n",
    "tox.ini": "[pytest]\naddopts = -p planted\npythonpath = .\n",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with facts, an inventory and planted code at every place that pytest may look at."""
    shutil.copytree(CHECKOUT / "examples" / "healthy", tmp_path / "site" / "facts")
    (tmp_path / "site" / "boxes.py").write_text('hosts = [("@local", {"host_roles": ["boot"]})]\n')
    code = f"open({str(tmp_path / 'ran')!r}, 'a').write(__file__ + chr(10))\n"
    for folder in [tmp_path / "site", *(tmp_path / "site" / "facts").rglob("")]:
        if folder.is_dir():
            _plant(folder, code)
    return tmp_path / "site"


def _plant(folder: Path, code: str) -> None:
    for name in FILES:
        (folder / name).write_text(SETTINGS.get(name, code))
    (folder / "planted.py").write_text(code)


def ran(site: Path) -> str:
    file = site.with_name("ran")
    return file.read_text() if file.exists() else ""


def run(command: Sequence[str], **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=CHECKOUT,
        env=os.environ | {"APUHOST_STATE": "/nonexistent"} | environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("saved", ["facts", "facts/minipc"])
def test_verify_runs_nothing_that_lies_beside_saved_facts(site: Path, saved: str) -> None:
    done = run(["apuhost.cli", "verify", "-v", "--from", str(site / saved)])
    assert "kernel.gtt" in done.stdout, done.stderr
    assert ran(site) == ""


def test_verify_runs_nothing_that_lies_beside_an_inventory(site: Path) -> None:
    done = run(["apuhost.cli", "verify", "-v", str(site / "boxes.py")])
    assert "boot." in done.stdout, done.stderr
    assert ran(site) == ""


@pytest.mark.parametrize("joined", ["--from={}", "--from {}"])
def test_the_checks_by_hand_run_nothing_either(site: Path, joined: str) -> None:
    words = joined.format(site / "facts").split()
    done = run(["pytest", "checks", "-q", "-p", "no:cacheprovider", *words])
    assert "passed" in done.stdout, done.stderr
    assert ran(site) == ""


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTEST_ADDOPTS": "-p planted"},
        {"PYTEST_PLUGINS": "planted"},
        {"PYTEST_ADDOPTS": "-k nothing"},
        {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    ],
    ids=str,
)
def test_what_the_environment_tells_pytest_does_not_count(
    site: Path, environ: Mapping[str, str]
) -> None:
    path = f"{site}:{os.environ.get('PYTHONPATH', '')}"
    saved = str(CHECKOUT / "examples" / "healthy")
    done = run(["apuhost.cli", "verify", "-v", "--from", saved], PYTHONPATH=path, **environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert ran(site) == ""
