"""The verdict on a mirror's host: does it serve the bundle that the site's hosts know, as asked?"""

from datetime import UTC, datetime
from hashlib import sha256

from apuhost.changes import NOT_THERE, as_bytes, certificate, retiring
from apuhost.changes import serving as changes
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.mirror import CERTIFICATE
from apuhost.probes.mirror_serving import AUTHORITY, FILES, REGISTRY
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.parameter import DEPLOY

INSTALL = "apuhost bundle install BUNDLE INVENTORY --signers FILE"
_DAY_S = 86_400


def serving(derived: Derived, facts: HostFacts) -> Verdict:
    """Do the registry and the files' server run as rendered, where asked, with a certificate?"""
    asked = derived.settings.mirror
    question = Question("mirror.serving", f"images at {asked.registry}, files at {asked.files}")
    if not asked.mirror_serve:
        return judge(question, ((Layer.LIVE, lambda: _ended(derived, facts)),))
    return judge(
        question,
        (
            (Layer.CONFIGURED, lambda: _kept(derived, facts)),
            (Layer.CONFIGURED, lambda: _written(derived, facts)),
            (Layer.LIVE, lambda: _runs(facts)),
            (Layer.LIVE, lambda: _listens(derived, facts)),
            (Layer.EFFECTIVE, lambda: _certified(derived, facts)),
        ),
    )


def _ended(derived: Derived, facts: HostFacts) -> Found:
    """Who is no mirror any more must not listen as one."""
    for each in retiring.actions(derived, facts):
        said = f"systemctl status {each.what}: {'; '.join(each.why)}"
        return Found(False, f"{each.what} is not ended, and another host is asked to", said, DEPLOY)
    return Found(None, "another host is the mirror")


def _kept(derived: Derived, facts: HostFacts) -> Found:
    lock, found = facts.mirror.lock, facts.mirror_serving
    if lock is None:
        said = facts.mirror.damage or "no lock is there"
        return Found(False, "it has no bundle to serve", said, INSTALL)
    if str(lock.serial) not in found.bundles:
        whole = ", ".join(sorted(found.bundles)) or "none"
        return Found(False, f"bundle {lock.serial} is not whole", f"whole: {whole}", INSTALL)
    if why := changes.unserved(derived, facts):
        link = f"current: {found.current or 'not there'}"
        return Found(False, f"bundle {lock.serial} is not served: {why[0]}", link, DEPLOY)
    return Found(True, f"bundle {lock.serial}")


def _written(derived: Derived, facts: HostFacts) -> Found:
    if lacking := changes.packages(derived, facts):
        return Found(False, f"{lacking[0]} is not installed", f"dpkg-query -W {lacking[0]}", DEPLOY)
    for change in changes.files(derived, facts):
        state = "not there" if change.found == NOT_THERE else "not as rendered"
        return Found(False, f"{change.path} is {state}", f"{change.path} is {state}", DEPLOY)
    return Found(True, "configured")


def _runs(facts: HostFacts) -> Found:
    for name in (REGISTRY, FILES):
        unit = facts.units.units.get(name)
        if unit is None:
            raise Unreadable(f"systemd says nothing of {name}")
        if unit.unit_file_state != "enabled":
            state = unit.unit_file_state or "not there"
            return Found(False, f"{name} is {state}", f"systemctl is-enabled {name}", DEPLOY)
        if unit.active_state != "active":
            said = f"systemctl status {name}: {unit.active_state}, {unit.result}"
            return Found(False, f"{name} is {unit.active_state}", said, f"journalctl -b -u {name}")
        if newer := facts.mirror_serving.newer.get(name):
            return Found(False, f"{name} has not read {newer[0]}", f"{newer[0]} is newer", DEPLOY)
    return Found(True, "both run")


def _listens(derived: Derived, facts: HostFacts) -> Found:
    listening = facts.firewall.listening
    if listening is None:
        raise Unreadable("ss is not there: who listens is not known")
    asked, address = derived.settings.mirror, changes.listens(derived)
    for name, port in ((REGISTRY, asked.mirror_registry_port), (FILES, asked.mirror_files_port)):
        found = [each.address for each in listening if each.port == port]
        if address not in found:
            where = ", ".join(found) or "nowhere"
            observed = f"port {port} is listened on at {where}, not at {address}"
            return Found(False, observed, f"ss -ltn: {where}", f"systemctl restart {name}")
    return Found(True, f"listens at {address}")


def _certified(derived: Derived, facts: HostFacts) -> Found:
    found, now = facts.mirror_serving, facts.boot.now
    if why := certificate.due(derived, facts):
        return Found(False, f"its certificate: {why[0]}", f"openssl x509 -in {_SERVER}", DEPLOY)
    server, authority = found.server, found.authority
    if server is None or authority is None:
        raise Unreadable("the certificates were not read")
    begins = max(server.since, authority.since)
    if now < begins:
        observed = f"its certificate holds from {_day(begins)} on, and the clock says {_day(now)}"
        return Found(False, observed, f"openssl x509 -in {_SERVER}", "timedatectl set-time")
    known = sha256(as_bytes(facts.mirror.text(CERTIFICATE) or "")).hexdigest()
    if known != found.authority_digest:
        said = f"{CERTIFICATE} is not {certificate.CA}"
        return Found(False, "its own hosts know another CA", said, INSTALL)
    days = (min(server.until, authority.until) - now) // _DAY_S
    return Found(True, f"bundle {found.current.rpartition('/')[2]}, certificate for {days} days")


_SERVER = f"{AUTHORITY}/server.crt"


def _day(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
