"""The stand-in's image: an OCI layout whose digest depends on its contents alone."""

import ctypes
import hashlib
import io
import json
import platform
import struct
import tarfile
from pathlib import Path

import pytest

from apuhost.rehearsal import standin_image, standin_llvm, standin_packages
from apuhost.rehearsal.standin_image import Layer, StandinImage

LAYERS = [Layer("a" * 64, "b" * 64, 10), Layer("c" * 64, "d" * 64, 20)]


@pytest.fixture
def image(tmp_path: Path) -> StandinImage:
    (tmp_path / "blobs" / "sha256").mkdir(parents=True)
    standin_image.write_layout(tmp_path, LAYERS)
    return StandinImage(tmp_path)


def blob(image: StandinImage, digest: str) -> bytes:
    algorithm, _, name = digest.partition(":")
    data = (image.directory / "blobs" / algorithm / name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == name
    return data


def test_the_layout_leads_from_the_index_to_each_layer(image: StandinImage) -> None:
    manifest = json.loads(blob(image, image.digest))
    config = json.loads(blob(image, manifest["config"]["digest"]))
    assert [layer["digest"] for layer in manifest["layers"]] == [f"sha256:{'a' * 64}",
                                                                f"sha256:{'c' * 64}"]  # fmt: skip
    assert config["rootfs"]["diff_ids"] == [f"sha256:{'b' * 64}", f"sha256:{'d' * 64}"]
    assert json.loads((image.directory / "oci-layout").read_bytes())["imageLayoutVersion"]


def test_section_6_the_configuration_is_in_the_shape_of_ollamas(image: StandinImage) -> None:
    manifest = json.loads(blob(image, image.digest))
    config = json.loads(blob(image, manifest["config"]["digest"]))["config"]
    assert (config["Entrypoint"], config["Cmd"]) == (["/bin/ollama"], ["serve"])
    assert "OLLAMA_HOST=0.0.0.0:11434" in config["Env"]
    assert config["ExposedPorts"] == {"11434/tcp": {}}
    assert "User" not in config
    assert "Healthcheck" not in config
    assert config["Labels"]["apuhost.standin"] == "true"


def test_the_same_layers_give_the_same_digest(image: StandinImage, tmp_path: Path) -> None:
    again = tmp_path / "again"
    (again / "blobs" / "sha256").mkdir(parents=True)
    standin_image.write_layout(again, LAYERS)
    assert StandinImage(again).digest == image.digest


def test_the_program_s_layer_is_the_same_each_time() -> None:
    assert standin_image.program_layer() == standin_image.program_layer()


def test_the_program_s_layer_holds_the_stand_in_and_its_starter() -> None:
    with tarfile.open(fileobj=io.BytesIO(standin_image.program_layer())) as tar:
        entries = {entry.name: entry for entry in tar.getmembers()}
    assert entries["usr/bin/ollama"].mode == 0o755
    assert entries["usr/share/ollama/standin/serve.py"].isfile()
    assert {entry.mtime for entry in entries.values()} == {standin_packages.EPOCH}
    assert {(entry.uid, entry.gid) for entry in entries.values()} == {(0, 0)}


def test_packages_are_verified_by_debians_keyring_and_come_from_our_mirror(tmp_path: Path) -> None:
    command = standin_packages.command(tmp_path / "x.tar", "http://mirror.lan/debian")
    source = command[-1]
    assert "signed-by=" in source
    assert "trusted" not in source
    assert source.endswith(" http://mirror.lan/debian forky main")


def test_another_mirror_is_another_layer() -> None:
    assert standin_packages.key("http://a.lan/debian") != standin_packages.key(
        "http://b.lan/debian"
    )


def driver(needed: str, undefined: list[str], defined: list[str]) -> bytes:
    """An ELF file with a dynamic section and dynamic symbols, as far as they are read."""
    text = b"\0" + b"\0".join(name.encode() for name in [needed, *undefined, *defined]) + b"\0"
    at = {name: text.index(name.encode() + b"\0") for name in [needed, *undefined, *defined]}
    symbols = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", at[name], 0x12, 0, 0 if name in undefined else 9, 0, 0)
        for name in [*undefined, *defined]
    )
    dynamic = struct.pack("<QQQQ", 1, at[needed], 0, 0)
    parts = [b"", text, symbols, dynamic]
    kinds, links, body, rows = (0, 3, 11, 6), (0, 0, 1, 1), b"", b""
    for part, kind, link in zip(parts, kinds, links, strict=True):
        rows += struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, 64 + len(body), len(part), link, 0, 0, 0)
        body += part
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF", 3, 62, 1, 0, 0, 64 + len(body), 0, 64, 56,
                       0, 64, 4, 1)  # fmt: skip
    return head + body + rows


def test_what_a_driver_wants_of_llvm() -> None:
    wanted = ["LLVMContextCreate", "_ZN4llvm3fooE", "malloc"]
    elf = driver("libLLVM.so.21.1", wanted, ["_ZN4llvm4mineE"])
    assert standin_llvm.wanted(elf) == ("libLLVM.so.21.1", wanted[:2])


def test_a_driver_without_llvm_is_refused() -> None:
    with pytest.raises(ValueError, match=r"needs no LLVM: libdrm\.so\.2"):
        standin_llvm.wanted(driver("libdrm.so.2", ["malloc"], []))


@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="a library for x86-64"
)
@pytest.mark.parametrize("names", [["LLVMOne"], ["LLVMOne", "_ZN4llvm3twoE", "LLVMThree"]])
def test_the_library_in_llvms_place_loads_and_has_the_names(
    names: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "libLLVM.so.21.1"
    path.write_bytes(standin_llvm.shared_library(path.name, names))
    library = ctypes.CDLL(str(path))
    assert all(ctypes.c_byte.in_dll(library, name).value == 0 for name in names)
    with pytest.raises(ValueError, match="LLVMFour"):
        ctypes.c_byte.in_dll(library, "LLVMFour")
