"""The scripts that a deploy runs as root, under the real sh, in a folder that stands in for /."""

import base64
import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from apuhost.steps.files import INSTALL
from apuhost.steps.kernel import ACTIVATE

OLD = "GRUB_CMDLINE_LINUX_DEFAULT='quiet cryptdevice=x'\n"
NEW = "GRUB_CMDLINE_LINUX_DEFAULT='quiet'\n"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Root:
    """A folder with the few paths that the scripts name."""

    folder: Path

    def run(
        self, script: str, *arguments: str, stdin: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run a script with its paths led into the folder."""
        for path in ("/run/apuhost.lock", "/boot"):
            script = script.replace(path, f"{self.folder}{path}")
        return subprocess.run(
            ["sh", "-c", script, "apuhost", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def install(
        self,
        path: Path,
        *,
        before: str = OLD,
        after: str = NEW,
        sent: str = NEW,
        keep: str = "keep",
    ) -> "subprocess.CompletedProcess[str]":
        """Install `after` at a path; `sent` is what really arrives."""
        arguments = [str(path), digest(before), 'sh -n "$1"', keep, digest(after)]
        return self.run(INSTALL, *arguments, stdin=base64.b64encode(sent.encode()).decode())

    def activate(self, new: Path, *kernels: str) -> "subprocess.CompletedProcess[str]":
        """Put a new boot menu in place."""
        return self.run(ACTIVATE, str(new), *kernels)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    for name in ("run", "boot/grub", "etc"):
        (tmp_path / name).mkdir(parents=True)
    return Root(tmp_path)


@pytest.fixture
def grub(root: Root) -> Path:
    path = root.folder / "etc" / "grub"
    path.write_text(OLD)
    path.chmod(0o640)
    return path


def test_a_file_is_replaced_its_first_state_kept_its_mode_as_before(root: Root, grub: Path) -> None:
    done = root.install(grub)
    assert (done.returncode, done.stderr) == (0, "")
    assert grub.read_text() == NEW
    assert grub.with_name("grub.before-apuhost").read_text() == OLD
    assert grub.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in grub.parent.iterdir()) == ["grub", "grub.before-apuhost"]


def test_a_file_of_ours_that_becomes_empty_goes(root: Root, grub: Path) -> None:
    done = root.install(grub, after="", sent="", keep="replace")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(grub.parent.iterdir()) == []


def test_a_file_of_the_operators_stays_though_empty(root: Root, grub: Path) -> None:
    assert root.install(grub, after="", sent="").returncode == 0
    assert grub.read_text() == ""


@pytest.mark.parametrize("sent", ["", NEW[:20]])
def test_a_connection_that_breaks_off_changes_nothing(root: Root, grub: Path, sent: str) -> None:
    done = root.install(grub, sent=sent)
    assert done.returncode == 1
    assert "did not arrive whole" in done.stderr
    assert grub.read_text() == OLD
    assert [path.name for path in grub.parent.iterdir()] == ["grub"]


def test_an_edit_in_between_is_not_overwritten(root: Root, grub: Path) -> None:
    grub.write_text("GRUB_TIMEOUT=9\n")
    done = root.install(grub)
    assert "changed by someone else" in done.stderr
    assert grub.read_text() == "GRUB_TIMEOUT=9\n"


def test_a_file_that_the_shell_refuses_is_not_installed(root: Root, grub: Path) -> None:
    broken = "GRUB_CMDLINE_LINUX='no end\n"
    done = root.install(grub, after=broken, sent=broken)
    assert done.returncode == 1
    assert grub.read_text() == OLD


def test_the_first_state_is_never_overwritten(root: Root, grub: Path) -> None:
    root.install(grub)
    third = "GRUB_CMDLINE_LINUX=''\n"
    root.install(grub, before=NEW, after=third, sent=third)
    assert grub.with_name("grub.before-apuhost").read_text() == OLD
    assert grub.with_name("grub.before-apuhost.2").read_text() == NEW


def test_a_symbolic_link_stays_one_and_the_first_state_lies_beside_it(
    root: Root, grub: Path
) -> None:
    link = root.folder / "link"
    link.symlink_to(grub)
    assert root.install(link).returncode == 0
    assert link.is_symlink()
    assert grub.read_text() == NEW
    assert (root.folder / "link.before-apuhost").read_text() == OLD


@pytest.fixture
def menu(root: Root) -> Path:
    """A boot menu, and a new one beside it that was built from it."""
    path = root.folder / "boot" / "grub" / "grub.cfg"
    path.write_text("old menu\n")
    (root.folder / "boot" / "vmlinuz-6.12").write_text("kernel")
    new = path.with_name("grub.cfg.apuhost-1")
    new.write_text("new menu\n")
    built_from = subprocess.run(
        ["sha256sum"], input="old menu\n", capture_output=True, text=True, check=True
    )
    new.with_name(f"{new.name}.from").write_text(built_from.stdout)
    return path


def test_the_new_menu_takes_its_place_and_the_old_one_is_kept(root: Root, menu: Path) -> None:
    done = root.activate(menu.with_name("grub.cfg.apuhost-1"), "vmlinuz-6.12")
    assert (done.returncode, done.stderr) == (0, "")
    assert menu.read_text() == "new menu\n"
    assert menu.with_name("grub.cfg.previous").read_text() == "old menu\n"
    assert sorted(path.name for path in menu.parent.iterdir()) == ["grub.cfg", "grub.cfg.previous"]


def test_the_menu_of_this_boot_stays_the_previous_one(root: Root, menu: Path) -> None:
    menu.with_name("grub.cfg.previous").write_text("booted menu\n")
    root.activate(menu.with_name("grub.cfg.apuhost-1"), "vmlinuz-6.12")
    assert menu.with_name("grub.cfg.previous").read_text() == "booted menu\n"


def test_a_menu_that_update_grub_wrote_meanwhile_is_not_overwritten(root: Root, menu: Path) -> None:
    menu.write_text("menu with another kernel\n")
    done = root.activate(menu.with_name("grub.cfg.apuhost-1"), "vmlinuz-6.12")
    assert "changed by someone else" in done.stderr
    assert menu.read_text() == "menu with another kernel\n"


def test_a_menu_for_a_kernel_that_is_gone_is_not_put_in_place(root: Root, menu: Path) -> None:
    done = root.activate(menu.with_name("grub.cfg.apuhost-1"), "vmlinuz-6.12", "vmlinuz-6.11")
    assert "vmlinuz-6.11 is gone" in done.stderr
    assert menu.read_text() == "old menu\n"


def test_a_menu_that_is_a_link_is_written_where_it_leads(root: Root, menu: Path) -> None:
    real = root.folder / "boot" / "efi.cfg"
    menu.rename(real)
    menu.symlink_to(real)
    assert root.activate(menu.with_name("grub.cfg.apuhost-1"), "vmlinuz-6.12").returncode == 0
    assert menu.is_symlink()
    assert real.read_text() == "new menu\n"
