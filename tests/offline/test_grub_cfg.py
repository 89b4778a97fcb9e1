"""grub.cfg: which entries boot this system, and what their lines lack."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, grub_cfg
from apuhost.probes.files import TextFile, frame
from apuhost.probes.grub_cfg import GrubCfg

CFG = r"""#
# made by hand for this test { "
### BEGIN /etc/grub.d/00_header ###
if [ -s $prefix/grubenv ]; then
  load_env
fi
function savedefault {
  if [ -z "${boot_once}" ]; then save_env saved_entry; fi
}
### END /etc/grub.d/00_header ###
### BEGIN /etc/grub.d/10_linux ###
menuentry 'Box Linux' --class os $menuentry_id_option 'gnulinux-simple-1' {
	insmod gzio
	if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
	echo	'Loading it'\''s kernel ...'
	linux	/boot/vmlinuz-6.12 root=UUID=1 ro a=1 quiet t.p=1 t.p=2
	initrd	/boot/initrd.img-6.12
}
submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-1' {
	menuentry "Box \"6.12\"" --id 'gnulinux-6.12-advanced-1' {
		linux	/boot/vmlinuz-6.12 root=UUID=1 ro a=1 quiet t.p=2 $vt_handoff
	}
	menuentry 'Box (Rettungsmodus)' $menuentry_id_option 'gnulinux-6.12-recovery-1' {
		linux	/boot/vmlinuz-6.12 root=UUID=1 ro rescue a=1
	}
	menuentry 'Box, with Linux 6.12 (recovery mode)' {
		linuxefi	/boot/vmlinuz-6.12 root=UUID=1 ro recovery nomodeset a=1
	}
	menuentry 'short' { linux /boot/vmlinuz-6.1 ro single; initrd /i; }
}
### END /etc/grub.d/10_linux ###
### BEGIN /etc/grub.d/20_linux_xen ###
menuentry 'Xen' { multiboot2 /boot/xen.gz
 module2 /boot/vmlinuz-6.12 a=1
}
### END /etc/grub.d/20_linux_xen ###
### BEGIN /etc/grub.d/30_os-prober ###
menuentry 'Other Linux (on /dev/sdb1)' $menuentry_id_option 'osprober-gnulinux-1' {
	linux /boot/vmlinuz-5.10 root=/dev/sdb1
}
### END /etc/grub.d/30_os-prober ###
menuentry 'Memory test' { linux16 /boot/memtest86+.bin
}
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
	fwsetup
}
"""


def test_entries_with_their_submenus_kernels_and_lines() -> None:
    cfg = grub_cfg.read(CFG)
    assert cfg.complete
    assert [(e.title, e.submenus, e.recovery, e.kernel) for e in cfg.entries] == [
        ("Box Linux", (), False, "/boot/vmlinuz-6.12"),
        ('Box "6.12"', ("Advanced options",), False, "/boot/vmlinuz-6.12"),
        ("Box (Rettungsmodus)", ("Advanced options",), True, "/boot/vmlinuz-6.12"),
        (
            "Box, with Linux 6.12 (recovery mode)",
            ("Advanced options",),
            True,
            "/boot/vmlinuz-6.12",
        ),
        ("short", ("Advanced options",), True, "/boot/vmlinuz-6.1"),
        ("Xen", (), False, None),
        ("Other Linux (on /dev/sdb1)", (), False, "/boot/vmlinuz-5.10"),
        ("Memory test", (), False, "/boot/memtest86+.bin"),
        ("UEFI Firmware Settings", (), False, None),
    ]
    assert cfg.entries[0].arguments == "root=UUID=1 ro a=1 quiet t.p=1 t.p=2"
    assert [entry.title for entry in cfg.normal_entries] == ["Box Linux", 'Box "6.12"']


@pytest.mark.parametrize(
    ("script", "linux", "normal"),
    [
        pytest.param("10_linux", "linux /boot/vmlinuz-6.12", True, id="10_linux"),
        pytest.param("10_linux_zfs", "linux /BOOT/box@/vmlinuz-6.12", True, id="Ubuntu on ZFS"),
        pytest.param("20_ipxe", "linux16 /boot/ipxe.lkrn", False, id="another program"),
        pytest.param("25_bli", "linux /boot/x", False, id="a script nobody knows"),
        pytest.param("40_custom", "linux /boot/vmlinuz-6.12", False, id="the owner's own"),
    ],
)
def test_the_scripts_whose_entries_take_the_configured_line(
    script: str, linux: str, normal: bool
) -> None:
    (entry,) = grub_cfg.read(
        f"### BEGIN /etc/grub.d/{script} ###\nmenuentry 'x' {{\n\t{linux} a=1\n}}\n"
        f"### END /etc/grub.d/{script} ###\n"
    ).entries
    assert entry.normal is normal


def test_the_kernel_files_of_the_normal_entries_each_once() -> None:
    assert grub_cfg.read(CFG).kernel_files == ("vmlinuz-6.12",)
    other = CFG.replace("vmlinuz-6.12 root=UUID=1 ro a=1 quiet t.p=2", "vmlinuz-6.1")
    assert grub_cfg.read(other).kernel_files == ("vmlinuz-6.12", "vmlinuz-6.1")


def test_the_framed_file_and_no_file() -> None:
    assert grub_cfg.parse(frame((TextFile("/boot/grub/grub.cfg", CFG),))) == grub_cfg.read(CFG)
    assert grub_cfg.parse("") == GrubCfg((), complete=True)


def test_nothing_lacks_when_every_normal_line_means_it() -> None:
    assert grub_cfg.lacking(grub_cfg.read(CFG), ("a=1", "t.p=2"), frozenset({"t.q"})) == ()


def test_each_normal_entry_that_lacks_is_one_sentence() -> None:
    found = grub_cfg.lacking(grub_cfg.read(CFG), ("t.p=1", "b=3"), frozenset({"a"}))
    assert len(found) == 2
    assert found[0] == (
        "menu entry 'Box Linux' boots with t.p=2 instead of t.p=1, without b=3,"
        " with a=1, which should be gone"
    )


def test_no_entry_to_judge_proves_nothing() -> None:
    assert len(grub_cfg.lacking(grub_cfg.parse(""), (), frozenset())) == 1


@pytest.mark.parametrize("at", [CFG.index("initrd	"), CFG.index("Advanced") + 3, len(CFG) - 3])
def test_a_cut_file_is_not_complete_and_never_passes(at: int) -> None:
    cfg = grub_cfg.read(CFG[:at])
    assert not cfg.complete
    assert grub_cfg.lacking(cfg, (), frozenset())


def test_a_file_without_its_beginning_is_refused() -> None:
    with pytest.raises(ParseError):
        grub_cfg.read("\tlinux /boot/vmlinuz a=1\n}\n")


PARTS = ["menuentry ", "submenu ", "'a b'", '"x"', "{\n", "}\n", "\tlinux /k a=1\n", "'", '"', "\\"]
PARTS += [" ", "\n", ";", "#", "${x}", "$", "if ", "fi\n", "### BEGIN /e/30_os-prober ###\n"]


@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join) | st.text())
def test_no_text_raises_anything_else_or_gives_what_is_not_in_it(text: str) -> None:
    with suppress(ParseError):
        for entry in grub_cfg.read(text).entries:
            assert set(entry.title) | set(entry.kernel or "") <= set(text)
            assert entry.arguments in text
    with suppress(ParseError):
        grub_cfg.parse(text)
