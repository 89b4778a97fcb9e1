"""What the small probes read in what their commands print."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hosts import BOOTED_AT, GIB, GPU_780M, NOW, PARTS, RELEASE

from apuhost.probes import (
    ParseError,
    boot,
    disk,
    gpus,
    iommu,
    kernel,
    loader,
    machine,
    meminfo,
    modules,
    os_release,
)
from apuhost.probes.pairs import pairs, whole_number
from apuhost.round_trip import PROBES, SAVED_PROBES

EVERY = {**PROBES, **SAVED_PROBES}

# Text as a host may send it: any character, undecodable bytes, and the words that parsers know.
HOSTILE = st.text(st.characters(), max_size=200) | st.lists(
    st.sampled_from(
        [
            *"\n\r\0\"'\\ ={}$(`;&|#\udc80²",
            "==> 3 /etc/default/grub\n",
            "GRUB_CMDLINE_LINUX=",
            "options ttm pages_limit=1",
            "menuentry 'x' {",
            "linux /vmlinuz ",
            "installed ",
            "running ",
            "gpu pci=0 vendor=0x1002 device=0x1900",
            "groups=",
            "MemTotal:",
            "9" * 5000,
            "if ",
            "fi",
            "<<",
        ]
    )
).map("".join)


@pytest.mark.parametrize("name", EVERY)
@given(text=HOSTILE)
def test_no_text_makes_a_probe_raise_anything_but_parse_error(name: str, text: str) -> None:
    try:
        EVERY[name].parse(text)
    except ParseError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("name", EVERY)
@given(cut=st.integers(0, 400))
def test_a_cut_answer_is_read_or_refused(name: str, cut: int) -> None:
    try:
        EVERY[name].parse(PARTS.get(name, "==> 9 /etc/default/grub\nA=1\nB=2\n\n")[:cut])
    except ParseError:
        return


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        (" 0\n", 0),
        ("", None),
        (None, None),
        ("-1", None),
        ("1.5", None),
        ("²", None),
        ("٣", None),
        ("1_000", None),
        ("18446744073709551615", 2**64 - 1),
        ("9" * 5000, None),
    ],
)
def test_whole_numbers_are_those_that_a_kernel_prints(text: str | None, number: int | None) -> None:
    assert whole_number(text) == number


def test_pairs_pass_over_lines_without_a_key() -> None:
    assert list(pairs("a = 1\nb=x=y\nnothing\n= 2\nc=\n")) == [("a", "1"), ("b", "x=y"), ("c", "")]


UBUNTU = (
    'PRETTY_NAME="Ubuntu 26.04 LTS"\nNAME="Ubuntu"\nVERSION_ID="26.04"\n'
    "VERSION_CODENAME=resolute\nID=ubuntu\nID_LIKE=debian\n"
)


@pytest.mark.parametrize(
    ("text", "record", "family"),
    [
        pytest.param(
            UBUNTU,
            os_release.OsRelease("ubuntu", ("debian",), "Ubuntu", "26.04", "resolute"),
            True,
            id="Ubuntu",
        ),
        pytest.param(
            PARTS["os_release"],
            os_release.OsRelease("debian", (), "Debian GNU/Linux", "13", "trixie"),
            True,
            id="Debian",
        ),
        pytest.param(
            "ID='linuxmint'\nID_LIKE=\"ubuntu debian\"\n",
            os_release.OsRelease("linuxmint", ("ubuntu", "debian"), None, None, None),
            True,
            id="like Ubuntu",
        ),
        pytest.param(
            'ID="rocky"\nID_LIKE="rhel centos fedora"\nNAME="Rocky Linux"\n',
            os_release.OsRelease("rocky", ("rhel", "centos", "fedora"), "Rocky Linux", None, None),
            False,
            id="Rocky",
        ),
        pytest.param(
            '# ID=debian\nNAME="no end\n',
            os_release.OsRelease(None, (), '"no end', None, None),
            False,
            id="comment and open quote",
        ),
        pytest.param(
            "", os_release.OsRelease(None, (), None, None, None), False, id="no such file"
        ),
    ],
)
def test_the_distribution(text: str, record: os_release.OsRelease, family: bool) -> None:
    assert os_release.parse(text) == record
    assert record.debian_family is family


@pytest.mark.parametrize(
    ("word", "virtual"),
    [
        pytest.param("none", False, id="bare metal"),
        pytest.param("kvm", True, id="KVM"),
        pytest.param("qemu", True, id="QEMU"),
        pytest.param("", False, id="systemd-detect-virt is missing"),
    ],
)
def test_virtual_machines_are_those_that_systemd_names(word: str, virtual: bool) -> None:
    found = machine.parse(f"hostname=box\nvirtualization={word}\nproduct_name=K8 Plus\nvendor=\n")
    assert found.virtual is virtual
    assert (found.hostname, found.product, found.vendor) == ("box", "K8 Plus", None)


def test_memory_is_counted_in_kib() -> None:
    text = "MemTotal:       65312345 kB\nMemFree: 1 kB\nMemAvailable:   60000000 kB\n"
    assert meminfo.parse(text) == meminfo.Meminfo(65312345, 60000000)


@pytest.mark.parametrize("text", ["", "MemFree: 1 kB\n"])
def test_memory_without_a_total_is_not_read(text: str) -> None:
    with pytest.raises(ParseError, match="no MemTotal line"):
        meminfo.parse(text)


@pytest.mark.parametrize("number", ["lots", "0", "", "9" * 25])
def test_a_total_that_is_no_number_is_shown(number: str) -> None:
    with pytest.raises(
        ParseError, match=f"^MemTotal is '{number}', not a number above 0 of at most"
    ):
        meminfo.parse(f"MemTotal:  {number} kB\n")


def test_kernels_tell_modules_times_and_a_stale_initramfs() -> None:
    found = kernel.parse(
        f"running {RELEASE}\n"
        f"installed {RELEASE} 10 20 stale amdgpu ttm\n"
        "installed 6.12.9-cloud-amd64 30 -\n"
        "installed broken\n"
    )
    assert found.running == RELEASE
    assert found.installed == (
        kernel.InstalledKernel(RELEASE, 10, 20, True, frozenset({"amdgpu", "ttm"})),
        kernel.InstalledKernel("6.12.9-cloud-amd64", 30, None, False, frozenset()),
    )


@pytest.mark.parametrize("text", ["", "running \n", "running well\n", "installed 6.12 1 2 ttm\n"])
def test_a_kernel_that_is_not_named_is_not_read(text: str) -> None:
    with pytest.raises(ParseError):
        kernel.parse(text)


def test_module_parameters_are_read_with_their_modules() -> None:
    found = modules.parse(
        "loaded amdgpu\nknown amdgpu gttsize\nlive amdgpu lockup_timeout \n"
        "live amdgpu dcdebugmask 0x10 \nlive ttm pages_limit 12582912\nnoise\nloaded everything\n"
    )
    assert found.loaded == {"amdgpu"}
    assert found.live == {
        "amdgpu.lockup_timeout": "",
        "amdgpu.dcdebugmask": "0x10",
        "ttm.pages_limit": "12582912",
    }
    assert found.knows("amdgpu")
    assert not found.knows("ttm")


NO_DRIVER = "gpu pci=0000:c6:00.0 vendor=0x1002 device=0x1900 driver= gtt= vram=\n"
NVIDIA = "gpu pci=0000:01:00.0 vendor=0x10de device=0x2684 driver=nouveau gtt= vram=\n"


@pytest.mark.parametrize(
    ("text", "record"),
    [
        pytest.param(
            GPU_780M,
            gpus.Gpu("0000:c6:00.0", "1002", "1900", "amdgpu", 48 * GIB, GIB),
            id="at work",
        ),
        pytest.param(
            NO_DRIVER,
            gpus.Gpu("0000:c6:00.0", "1002", "1900", None, None, None),
            id="without a driver",
        ),
        pytest.param(
            NVIDIA,
            gpus.Gpu("0000:01:00.0", "10de", "2684", "nouveau", None, None),
            id="another vendor",
        ),
    ],
)
def test_a_gpu_with_its_driver_and_memory(text: str, record: gpus.Gpu) -> None:
    assert gpus.parse(text).devices == (record,)
    assert gpus.parse(text + NVIDIA).amd == ((record,) if record.vendor == "1002" else ())


@pytest.mark.parametrize("gone", ["vendor=0x1002", "device=0x1900", "pci=0000:c6:00.0"])
def test_a_device_that_went_while_it_was_read_is_no_gpu(gone: str) -> None:
    key = gone.partition("=")[0]
    assert gpus.parse(NO_DRIVER.replace(gone, f"{key}=")).devices == ()


@pytest.mark.parametrize(
    "text",
    [
        *(NO_DRIVER[:end] for end in (3, 20, 45, NO_DRIVER.index("vram"))),
        NVIDIA + NO_DRIVER[:45],
        "card0 vendor=0x1002 device=0x1900 pci=0",
        "\x07\udc80 of another kind",
    ],
)
def test_a_cut_list_of_gpus_is_not_read_as_a_host_without_one(text: str) -> None:
    with pytest.raises(ParseError):
        gpus.parse(text)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        pytest.param("groups=0\ntranslated=0\n", "off", id="off in firmware or on the line"),
        pytest.param("unit=ivhd0\ngroups=20\ntranslated=0\n", "passthrough", id="iommu=pt"),
        pytest.param("unit=ivhd0\ngroups=20\ntranslated=3\n", "translated", id="the default"),
    ],
)
def test_the_iommu_at_work(text: str, state: str) -> None:
    assert iommu.parse(text).state == state


def test_an_uncounted_iommu_is_not_off() -> None:
    with pytest.raises(ParseError):
        iommu.parse("unit=ivhd0\n")


def test_this_boot_and_what_stands_in_its_way() -> None:
    found = boot.parse(
        f"{PARTS['boot']}firmware=/lib/firmware/amdgpu/gc_11_0_1_pfp.bin\n"
        "dpkg_lock=812 unattended-upgr\nrebooted_for=an AMD GPU has no driver\nrebooted_for=a=b\n"
    )
    assert (found.booted_at, found.now) == (BOOTED_AT, NOW)
    assert found.newer_firmware == "/lib/firmware/amdgpu/gc_11_0_1_pfp.bin"
    assert found.dpkg_lock == "812 unattended-upgr"
    assert found.rebooted_for == ("an AMD GPU has no driver", "a=b")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("boot_id=\nbooted_at=17\n", id="no id"),
        pytest.param("boot_id=../../etc/passwd\nbooted_at=17\n", id="no UUID"),
        pytest.param("boot_id=2d50da51-0000-4000-8000-000000000001\nbooted_at=\n", id="no time"),
        pytest.param(PARTS["boot"].replace("now=", "then="), id="no clock"),
    ],
)
def test_a_boot_that_cannot_be_told_from_another_is_not_read(text: str) -> None:
    with pytest.raises(ParseError):
        boot.parse(text)


def test_the_loader_that_is_in_charge() -> None:
    found = loader.parse(f"{PARTS['loader']}newer=/etc/default/grub.d/zz-apuhost.cfg\n")
    assert (found.efi, found.info) == (True, "GRUB 2.12")
    assert found.tools == {"grub-mkconfig", "grub-script-check", "update-initramfs"}
    assert found.files == {"/boot/grub/grub.cfg", "/etc/default/grub"}
    assert found.newer_than_menu == ("/etc/default/grub.d/zz-apuhost.cfg",)


def test_an_old_bios_says_nothing_of_its_loader() -> None:
    assert loader.parse("") == loader.Loader(False, None, frozenset(), frozenset(), ())


DF = (
    "/dev/nvme0n1p2 2000 1 1000 1% /\n/dev/nvme0n1p1 500 1 200 1% /boot\n"
    "/dev/sda1 9 1 8 1% /home/my disk\nudev - - - - /dev\n"
)


@pytest.mark.parametrize(
    ("path", "available"),
    [
        ("/", 1000),
        ("/var", 1000),
        ("/boot", 200),
        ("/boot/grub", 200),
        ("/bootstrap", 1000),
        ("/home/my disk/x", 8),
    ],
)
def test_free_space_is_that_of_the_nearest_mount_point(path: str, available: int) -> None:
    mount = disk.parse(DF).under(path)
    assert mount is not None
    assert mount.available_bytes == available


@pytest.mark.parametrize(
    "line",
    [
        "A page with six words or 4 of them",
        "a b c 17 e f",
        "/dev/sda1 9 1 8 1% home",
        "/dev/sda1 9 1 8 lots /",
        "1 2 3 4 5 6",
    ],
)
def test_what_df_does_not_print_is_no_mount(line: str) -> None:
    assert disk.parse(line).mounts == ()


@pytest.mark.parametrize("unit", ["1024-blocks", "1K-blocks", "Size"])
def test_other_units_are_not_taken_for_bytes(unit: str) -> None:
    heading = "Filesystem {} Used Available Capacity Mounted on\n"
    assert disk.parse(heading.format("1-blocks") + DF) == disk.parse(DF)
    with pytest.raises(ParseError, match=f"the heading says {unit}: "):
        disk.parse(heading.format(unit) + DF)


def test_without_a_mount_no_space_is_known() -> None:
    assert disk.parse("").under("/") is None
