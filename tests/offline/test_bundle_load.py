"""What a mirror's host lacks of a bundle, whatever lies there already."""

import pytest

from apuhost.bundle import load as loading
from apuhost.bundle.load import LARGE, LINKED, NOT_PLAIN, Held, Load
from apuhost.bundle.manifest import Entry

MANIFEST = Entry("manifest.json", "a" * 64, 100)
SIGNATURE = Entry("manifest.json.sig", "b" * 64, 50)
SMALL = Entry("toolkit/README ä 가.md", "c" * 64, 7)
MIDDLE = Entry("apt/pool/x.deb", "d" * 64, LINKED)
BIG = Entry("models/blobs/sha256-ee", "e" * 64, LARGE + 5)
ENTRIES = (MANIFEST, SIGNATURE, SMALL, MIDDLE, BIG)
WHOLE = {f"3/{each.path}": each.size for each in ENTRIES}


def load(files: dict[str, int], earlier: dict[tuple[str, int], str] | None = None) -> Load:
    return loading.load("3", ENTRIES, Held(10**12, {}, files), earlier or {})


def test_a_bare_host_lacks_everything() -> None:
    found = load({})
    assert found == Load((), (), (MANIFEST, SIGNATURE, SMALL, MIDDLE), ((BIG, 0),))
    assert found.size == sum(each.size for each in ENTRIES)
    assert found.room >= found.size


def test_a_whole_one_lacks_only_the_list_that_it_is_hashed_by() -> None:
    assert load(WHOLE) == Load((), (), (MANIFEST, SIGNATURE), ())


def test_a_large_file_goes_on_and_a_small_one_begins_anew() -> None:
    cut = {f"3/{BIG.path}": LARGE - 1, f"3/{MIDDLE.path}": 5}
    found = load({**WHOLE, **cut})
    assert found.small == (MANIFEST, SIGNATURE, MIDDLE)
    assert found.large == ((BIG, LARGE - 1),)
    assert found.size == MANIFEST.size + SIGNATURE.size + MIDDLE.size + 6


@pytest.mark.parametrize(
    ("path", "size"),
    [
        pytest.param("3/apt/other.deb", 4, id="not the bundle's"),
        pytest.param(f"3/{BIG.path}", LARGE + 6, id="longer"),
        pytest.param(f"3/{BIG.path}", NOT_PLAIN, id="a link"),
    ],
)
def test_what_cannot_be_the_bundles_goes_first(path: str, size: int) -> None:
    found = load({**WHOLE, path: size})
    assert found.leaving == (path,)
    assert [begun for _, begun in found.large] == [0] * (path == f"3/{BIG.path}")


def test_another_bundle_is_no_concern_of_it() -> None:
    assert load({"2/apt/other.deb": 4, "33/x": 5, **WHOLE}).leaving == ()


def test_what_an_earlier_bundle_has_whole_is_linked_if_that_pays() -> None:
    held = Held(10**12, {}, {f"2/old/{each.path}": each.size for each in (SMALL, MIDDLE)})
    old = [Entry(f"old/{each.path}", each.sha256, each.size) for each in ENTRIES]
    found = load({}, loading.places("2", old, held))
    assert found.links == ((MIDDLE, f"2/old/{MIDDLE.path}"),)
    assert found.small == (MANIFEST, SIGNATURE, SMALL)
    assert found.large == ((BIG, 0),)
