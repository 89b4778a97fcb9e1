"""What changes from one lock to the next, for the person who approves it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import astuple, dataclass

from apuhost.bundle import sizes
from apuhost.lockfile import Blob, Image, Lock, Wheel
from apuhost.report.text import visible

WORDS = ("changed", "added", "removed")
_DIGITS = 12

Kinds = Mapping[str, frozenset["Thing"]]


@dataclass(frozen=True, order=True)
class Thing:
    """One thing of a lock; what has no version of its own has its hash alone."""

    name: str
    version: str
    digest: str
    size: int

    def __str__(self) -> str:
        short = f"@{self.digest.removeprefix('sha256:')[:_DIGITS]}"
        return f"{self.version} {short}" if self.version else short


@dataclass(frozen=True)
class Change:
    """A thing that is there before, after, or both, and then is not the same."""

    before: Thing | None
    after: Thing | None

    @property
    def word(self) -> str:
        """What happened to it."""
        if self.before and self.after:
            return "changed"
        return "added" if self.after else "removed"

    def __str__(self) -> str:
        """`changed  docker.io/ollama/ollama: 0.34.4 @... -> 0.34.5 @..., 4.1 GB -> 4.2 GB`."""
        there = [each for each in (self.before, self.after) if each]
        versions = " -> ".join(map(str, there))
        size = " -> ".join(sizes.shown(each.size) for each in there)
        return f"{self.word:7}  {there[0].name}: {versions}, {size}"


def lines(old: Lock, new: Lock) -> Iterator[str]:
    """The two locks, each kind with its changes, and what there is to carry."""
    yield from (visible(line) for line in _about(old, new))
    before, after = _things(old), _things(new)
    for kind in after:
        found = changes(before[kind], after[kind])
        yield _summary(kind, found, before[kind], after[kind])
        yield from (f"  {visible(str(each))}" for each in found)
    had, has = blobs(old), blobs(new)
    carried = sum(size for digest, size in has.items() if digest not in had)
    freed = sum(size for digest, size in had.items() if digest not in has)
    yield (
        f"{sizes.shown(sum(had.values()))} -> {sizes.shown(sum(has.values()))} in all:"
        f" {sizes.shown(carried)} new, {sizes.shown(freed)} no longer there"
    )


def changes(before: Iterable[Thing], after: Iterable[Thing]) -> tuple[Change, ...]:
    """By name: one thing for one is a change, several for several come and go."""
    had, has = set(before), set(after)
    old, new = _by_name(had - has), _by_name(has - had)
    found: list[Change] = []
    for name in sorted({*old, *new}):
        gone, come = old[name], new[name]
        if len(gone) == len(come) == 1:
            found.append(Change(gone[0], come[0]))
        else:
            found += [Change(each, None) for each in gone]
            found += [Change(None, each) for each in come]
    return tuple(found)


def blobs(lock: Lock) -> dict[str, int]:
    """Every file that is fetched, once, with its size."""
    found = [blob for image in lock.images for blob in _of_image(image)]
    found += [each.inrelease for each in lock.releases]
    found += [each.file for each in lock.debs] + [each.file for each in lock.wheels]
    found += [each.file for each in lock.files]
    found += [blob for model in lock.models for blob in (model.manifest, *model.layers)]
    return {blob.digest: blob.size for blob in found}


def _about(old: Lock, new: Lock) -> Iterator[str]:
    yield f"serial {old.serial} of {old.created} -> {new.serial} of {new.created}"
    both = (
        ("apuhost", old.apuhost, new.apuhost),
        ("target", " ".join(astuple(old.target)), " ".join(astuple(new.target))),
    )
    yield from (f"{name}: {a} -> {b}" for name, a, b in both if a != b)


def _summary(kind: str, found: Iterable[Change], before: Set[Thing], after: Set[Thing]) -> str:
    """`debs: 1 changed, 2 added (212 -> 214)`."""
    counted = Counter(each.word for each in found)
    said = ", ".join(f"{counted[word]} {word}" for word in WORDS if counted[word]) or "as before"
    return f"{kind}: {said} ({len(before)} -> {len(after)})"


def _things(lock: Lock) -> Kinds:
    return {
        "images": frozenset(map(_image, lock.images)),
        "models": frozenset(
            Thing(each.name, "", each.manifest.digest, _sum((each.manifest, *each.layers)))
            for each in lock.models
        ),
        "debs": frozenset(
            Thing(f"{each.name}:{each.architecture}", each.version, *_file(each.file))
            for each in lock.debs
        ),
        "wheels": frozenset(map(_wheel, lock.wheels)),
        "files": frozenset(Thing(each.name, "", *_file(each.file)) for each in lock.files),
        "releases": frozenset(
            Thing(f"{each.uri} {each.suite}", "", *_file(each.inrelease)) for each in lock.releases
        ),
    }


def _image(image: Image) -> Thing:
    """`docker.io/ollama/ollama:0.34.4@sha256:...`: a colon behind the last slash begins the tag."""
    reference, _, digest = image.reference.partition("@")
    last = reference.rpartition("/")[2]
    tag = last.partition(":")[2]
    return Thing(reference.removesuffix(f":{tag}"), tag, digest, _sum(_of_image(image)))


def _wheel(wheel: Wheel) -> Thing:
    """`six-1.16.0-py2.py3-none-any.whl`: name and version come first."""
    name, _, rest = wheel.name.partition("-")
    return Thing(name, rest.partition("-")[0], *_file(wheel.file))


def _file(blob: Blob) -> tuple[str, int]:
    return blob.digest, blob.size


def _of_image(image: Image) -> tuple[Blob, ...]:
    return (*image.chain, image.config, *image.layers)


def _sum(found: Iterable[Blob]) -> int:
    """A layer that is there twice is carried once."""
    return sum({blob.digest: blob.size for blob in found}.values())


def _by_name(things: Iterable[Thing]) -> dict[str, list[Thing]]:
    found: dict[str, list[Thing]] = defaultdict(list)
    for each in sorted(things):
        found[each.name].append(each)
    return found
