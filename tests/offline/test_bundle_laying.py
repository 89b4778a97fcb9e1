"""A build takes over a bundle's folder and no other: what is not the bundle's is removed there."""

from pathlib import Path

import pytest

from apuhost.bundle import laying, manifest
from apuhost.bundle.item import BundleError

BUNDLE = manifest.as_text(manifest.made(1, "2026-11-30T09:00:00+00:00", "0.1.0", ()))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('{"manifest_version": 3, "name": "an extension"}', id="of a browser"),
        pytest.param('[{"Config": "ab.json", "RepoTags": null}]', id="of docker save"),
        pytest.param(BUNDLE.replace('"format": 1', '"format": 2'), id="of another format"),
    ],
)
def test_a_folder_with_a_manifest_of_somebody_else_stays_as_it_is(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / manifest.NAME).write_text(content)
    (tmp_path / manifest.SIGNATURE).write_text("theirs")
    with pytest.raises(BundleError, match="other files than a bundle"):
        laying.claim(tmp_path)
    assert (tmp_path / manifest.NAME).read_text() == content
    assert (tmp_path / manifest.SIGNATURE).exists()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(BUNDLE, id="built"),
        pytest.param("", id="begun"),
        pytest.param("\0" * 4096, id="begun, then a power cut"),
    ],
)
def test_a_bundle_is_begun_again_and_is_none_until_it_is_signed(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / manifest.NAME).write_text(content)
    (tmp_path / manifest.SIGNATURE).write_text("of the last build")
    laying.claim(tmp_path)
    assert not (tmp_path / manifest.SIGNATURE).exists()


def test_a_new_folder_is_begun(tmp_path: Path) -> None:
    laying.claim(tmp_path / "new")
    laying.claim(tmp_path / "new")
    assert (tmp_path / "new" / manifest.NAME).read_bytes() == b""
