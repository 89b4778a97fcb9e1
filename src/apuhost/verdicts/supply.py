"""Verdicts on a mirror's client: is the mirror there, and is it all that the host takes from?"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from ipaddress import AddressValueError, IPv4Address, ip_network

from apuhost.changes import FileChange, image, needed, store, supply
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.lockfile import Lock
from apuhost.oci import reference
from apuhost.oci.storage import namespaced
from apuhost.probes.apt_sources import NO
from apuhost.probes.mirror import APT_KEY, CERTIFICATE, LOCK, SOURCE
from apuhost.probes.mirror_answers import THERE
from apuhost.settings.mirror import Part
from apuhost.settings.models import PinnedModel
from apuhost.verdicts import Found, Layer, Look, Question, Severity, Verdict, judge, service
from apuhost.verdicts.parameter import DEPLOY
from apuhost.verdicts.several import several

INSTALL = "apuhost bundle install BUNDLE INVENTORY --signers FILE"
PACKAGELESS = "take apt out of mirror_parts, or lock and build the bundle anew, and install it"
OVERRULED = "take it out where `grep -ri https:: /etc/apt` finds it beside ours, then deploy"
ACTIVE = "model_blobs"


def registry(derived: Derived, facts: HostFacts) -> Verdict:
    """Does the mirror's registry answer over TLS, and has it the pinned image?"""
    asked = derived.settings.mirror.registry
    return judge(
        Question("mirror.registry", f"the pinned image at {asked}, over TLS"),
        _of("images", derived, (Layer.EFFECTIVE, lambda: _answers(derived, facts))),
    )


def fallback(derived: Derived, facts: HostFacts) -> Verdict:
    """Would Docker ask anybody else for the image?"""
    return judge(
        Question("mirror.fallback", "Docker asks the mirror alone, over TLS"),
        _of(
            "images", derived,
            (Layer.CONFIGURED, lambda: _led(derived, facts)),
            (Layer.LIVE, lambda: _asked(derived, facts)),
        ),
    )  # fmt: skip


def apt(derived: Derived, facts: HostFacts) -> Verdict:
    """Do packages come from the mirror, and has apt read its list?"""
    return judge(
        Question("mirror.apt", f"packages from {derived.settings.mirror.files}/apt alone"),
        _of(
            "apt", derived,
            (Layer.CONFIGURED, lambda: _sourced(derived, facts)),
            (Layer.EFFECTIVE, lambda: _offered(derived, facts)),
            (Layer.EFFECTIVE, lambda: _checked(derived, facts)),
        ),
    )  # fmt: skip


def models(derived: Derived, facts: HostFacts) -> Verdict:
    """Are the models' files as the lock has them? Every byte is read only where that was asked."""
    return judge(
        Question("mirror.models", "every file of the models as the lock has it"),
        _of("models", derived, (Layer.CONFIGURED, lambda: _stored(derived, facts))),
    )


def clock(_: Derived, facts: HostFacts) -> Verdict:
    """Is it later than when the bundle was locked? Signatures and TLS go by the clock."""
    return judge(
        Question("mirror.clock", "the clock after the day when the bundle was locked"),
        ((Layer.LIVE, lambda: _later(facts)),),
    )


def serial(_: Derived, facts: HostFacts) -> Verdict:
    """Is the bundle no older than another that this host was deployed from?"""
    return judge(
        Question("mirror.serial", "the newest bundle that was here", Severity.RECOMMENDED),
        ((Layer.CONFIGURED, lambda: _newest(facts)),),
    )


def _of(part: Part, derived: Derived, *looks: Look) -> Iterable[Look]:
    """The looks, where the mirror gives this part; else that it does not."""
    if derived.settings.mirrored(part):
        return looks
    left_out = Found(None, f"mirror_parts has no {part}")
    return ((Layer.CONFIGURED, lambda: left_out),)


def _lock(facts: HostFacts) -> Lock:
    if facts.mirror.lock is None:
        raise Unreadable(facts.mirror.damage or f"{LOCK} is not there: {INSTALL}")
    return facts.mirror.lock


def _answers(derived: Derived, facts: HostFacts) -> Found:
    found = reference.parse(derived.settings.ollama.ollama_image)
    place = f"{namespaced(found.repository)}@{found.digest}"
    name = f"{derived.settings.mirror.registry}/{place}"
    said = facts.mirror_answers.images.get(name)
    if said is None:
        words = f"bundle {_lock(facts).serial} has no such image, or the registry is not known"
        return Found(False, words, f"{LOCK}: {place}", INSTALL)
    if said != THERE:
        return Found(False, "the registry does not give it", f"docker manifest inspect: {said}",
                     "look at mirror.serving of the mirror's host")  # fmt: skip
    return Found(True, "there")


def _led(derived: Derived, facts: HostFacts) -> Found:
    for path in supply.led(_lock(facts)).values():
        if path in facts.mirror.foreign:
            said = f"{path} is not apuhost's"
            return Found(False, "a file of somebody else leads Docker", said, "move it away")
    if wrong := _first(supply.of_docker(derived, facts)):
        return wrong
    named, wanted = service.written(facts).get("image"), image.reference(derived, facts)
    if named is not None and named != wanted:
        said = f"the compose file has image: {named}"
        return Found(False, "the image's name leads elsewhere", said, DEPLOY)
    return Found(True, wanted)


def _asked(derived: Derived, facts: HostFacts) -> Found:
    for each in facts.docker.insecure_registries:
        if _covers(each, derived):
            said = f"docker info: insecure registry {each}"
            fix = "take it out of insecure-registries in daemon.json, then deploy"
            return Found(False, "Docker does not check the mirror's certificate", said, fix)
    return Found(True, image.reference(derived, facts))


def _covers(place: str, derived: Derived) -> bool:
    """Whether an entry of insecure-registries is the mirror, or a network that holds it."""
    asked = derived.settings.mirror
    try:
        return IPv4Address(asked.mirror_address) in ip_network(place, strict=False)
    except (AddressValueError, ValueError):
        return place in (asked.mirror_address, asked.registry)


def _sourced(derived: Derived, facts: HostFacts) -> Found:
    serial = _lock(facts).serial
    if supply.without_packages(facts):
        said = f"bundle {serial} has no packages"
        return Found(False, said, f"{LOCK}: no packages", PACKAGELESS)
    if wrong := _first(supply.of_apt(derived, facts)):
        return wrong
    if facts.mirror.text(APT_KEY) is None:
        return Found(False, "the bundle's key is not there", f"{APT_KEY} is not there", INSTALL)
    return Found(True, SOURCE)


def _offered(derived: Derived, facts: HostFacts) -> Found:
    url, answers = f"{derived.settings.mirror.files}/apt", facts.mirror_answers
    if not answers.sources:
        said = "apt-cache policy has no list of the mirror's"
        return Found(False, "apt has read nothing of it", said, DEPLOY)
    for each in answers.sources:
        if not each.startswith(f"{url} "):
            said = f"apt-cache policy: {each}"
            return Found(False, "apt reads another source, too", said, DEPLOY)
    return several(tuple(_due(derived, facts)), lambda name: _candidate(name, facts))


def _checked(derived: Derived, facts: HostFacts) -> Found:
    """Whether apt takes nobody else for the mirror: a file that it reads after ours may say so."""
    host, told = derived.settings.mirror.mirror_address, facts.mirror_answers.told
    for option in ("Verify-Peer", "Verify-Host"):
        if told(option, host).lower() in NO:
            said = f'apt-config dump: {option} "{told(option, host)}" for {host}'
            return Found(False, "apt does not check the mirror's certificate", said, OVERRULED)
    if told("CAInfo", host) != CERTIFICATE:
        said = f'apt-config dump: CAInfo "{told("CAInfo", host)}" for {host}'
        return Found(False, "apt knows the mirror by another certificate", said, OVERRULED)
    return Found(True, f"from {derived.settings.mirror.files}/apt")


def _due(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """Every package of the roles that the lock has."""
    known = {deb.name for deb in _lock(facts).debs}
    wanted = needed.on_bare_host(derived.settings, facts.os_release.family)
    found = [name for name in wanted if name in known]
    if not found:
        raise Unreadable(f"bundle {_lock(facts).serial} has no package of the roles")
    yield from found


def _candidate(name: str, facts: HostFacts) -> Found:
    """What apt would install: the lock's version, or what is installed and newer."""
    versions = {deb.version for deb in _lock(facts).debs if deb.name == name}
    found = facts.mirror_answers.candidates.get(name)
    installed = facts.packages.installed.get(name)
    if found is None or (found not in versions and found != installed):
        said = f"apt-cache policy {name}: {found or 'no candidate'}"
        words = f"apt would install {found or 'none'}, the lock has {', '.join(sorted(versions))}"
        return Found(False, words, said, DEPLOY)
    return Found(True, found)


def _stored(derived: Derived, facts: HostFacts) -> Found:
    asked = derived.settings.models.models_list
    if not asked:
        return Found(None, "models_list names none")
    return several(asked, lambda model: _files(model, facts), lambda model: model.name)


def _files(model: PinnedModel, facts: HostFacts) -> Found:
    locked, folder = store.locked(model.name, facts), facts.model_store.directory
    if locked is None:
        said = f"bundle {_lock(facts).serial} has no {model.name}"
        return Found(False, "the bundle does not have it", said, INSTALL)
    names = {blob.digest.replace(":", "-", 1): blob.size for blob in locked.layers}
    # Parameters that a deploy sets are a file of their own in place of the registry's.
    stored = facts.model_store.named(model.name)
    kept = {layer.blob for layer in (*stored.layers, stored.config)} if stored else set()
    for name in sorted(names.keys() & kept if stored else names.keys()):
        if facts.model_store.blobs.get(name) != names[name]:
            said = f"{folder}/models/blobs/{name}: {facts.model_store.blobs.get(name)} bytes"
            return Found(False, f"a file is not {names[name]} bytes long", said, DEPLOY)
    if ACTIVE not in facts.readings:
        return Found(True, f"{len(names)} files of the right size")
    return _hashed(sorted(names.keys() & kept), facts)


def _hashed(names: list[str], facts: HostFacts) -> Found:
    folder, read = facts.model_store.directory, facts.model_blobs
    for name in names:
        if name in read.wrong:
            path = f"{folder}/models/blobs/{name}"
            said = f"sha256 of {path} is {read.digests[name]}"
            return Found(False, "a file holds other bytes", said, f"rm {path}, then deploy")
    unread = [name for name in names if name not in read.digests]
    if unread:
        raise Unreadable(f"{len(unread)} of its files took longer to read than a check may")
    return Found(True, f"{len(names)} files of the right bytes")


def _later(facts: HostFacts) -> Found:
    lock, now = _lock(facts), datetime.fromtimestamp(facts.boot.now, UTC)
    shown = now.isoformat(timespec="minutes")
    if now < datetime.fromisoformat(lock.created):
        said = f"date: {shown}; the bundle was locked {lock.created}"
        return Found(False, f"it is {shown}", said, "timedatectl set-time, hwclock --systohc")
    return Found(True, shown)


def _newest(facts: HostFacts) -> Found:
    lock, newest = _lock(facts), facts.mirror.newest
    if newest is not None and lock.serial < newest:
        said = f"{LOCK}: serial {lock.serial}; deployed before: {newest}"
        return Found(False, f"bundle {lock.serial} is older than {newest}", said, INSTALL)
    return Found(True, f"bundle {lock.serial}")


def _first(changes: Iterable[FileChange]) -> Found | None:
    for change in changes:
        state = "is not there" if change.before is None else "is not as rendered"
        return Found(False, f"{change.path} {state}", f"{change.path} {state}", DEPLOY)
    return None
