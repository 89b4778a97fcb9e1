"""Names of a site in what was read of it: hosts, users, domains of registries, mirrors, proxies.

Numbers are given in the order of the names, so that lists that were sorted stay sorted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

# These say nothing of a site; some of them are words that a verdict depends on.
GENERIC = frozenset(
    """
    root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc gnats nobody
    messagebus syslog sshd uuidd tcpdump landscape pollinate dnsmasq usbmux polkitd avahi tss rtkit
    pulse saned colord geoclue gdm lightdm hplip kernoops whoopsie speech-dispatcher fwupd-refresh
    cups-pk-helper nm-openvpn sssd postfix chrony ntp statd operator ftp nslcd
    admin administrator user users debian ubuntu pi vagrant guest test local localhost home host
    server linux kernel grub boot systemd ollama docker containerd compose apuhost models model
    gpu amdgpu radeon amd vulkan mesa radv phoenix video render kvm iommu ttm dri registry mirror
    cache repo hub library latest default none true false auto off on yes no all any end name
    quiet splash ro rw net eth0 lan wan ssh http https tcp udp iptables nat forward input output
    vm pc ii lo ip id kb mb gb dm md sd fd np ub ngl fa mm sh do if fi of in is at by or an as it to
    tcp6 udp6 amd64 deb json file files
    """.split()  # noqa: SIM905
)
_SYSTEM_USER = re.compile(r"_|systemd-|libvirt|Debian-|gnome-")

PUBLIC = frozenset(
    """
    debian.org debian.net ubuntu.com canonical.com launchpad.net launchpadcontent.net docker.com
    docker.io ollama.com ollama.ai huggingface.co hf.co github.com githubusercontent.com github.io
    ghcr.io quay.io gcr.io k8s.io microsoft.com nvidia.com amd.com radeon.com kernel.org
    freedesktop.org gnu.org apache.org
    """.split()  # noqa: SIM905
)

# As long as RFC 1035 lets them be: a search never goes over a whole text.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL}){{0,9}}"
_NAME = re.compile(_HOST)
_NUMBERS = re.compile(r"[0-9.]+")
_PLACES = (
    # The place of a URL; JSON may write :\/\/.
    re.compile(rf":(?:\\?/){{2}}(?:[^\s/\"'@\\]*@)?({_HOST})"),
    # What is before the first slash of an image or a model, if it has a dot or a port.
    re.compile(rf"(?<![\w./:-])({_LABEL}(?:\.{_LABEL})+|{_LABEL}(?=:[0-9]+/))(?::[0-9]+)?/[\w./-]+[:@]"),
    re.compile(rf"/(?:manifests|apuhost/models)/({_HOST})(?::[0-9]+)?/[^/\s]+/[^/\s]+/"),
    # Registries in `docker info`, hosts in apt's settings.
    re.compile(rf'"({_HOST})(?::[0-9]+)?":\{{"Name":'),
    re.compile(rf"(?i:\bproxy)::({_HOST})"),
)  # fmt: skip
_LISTS = (
    re.compile(r"(?i)no_?-?proxy[\"']?\s*[=:]\s*[\"']?([^\"'\n]*)"),
    re.compile(r"\"insecure-registries\"\s*:\s*\[([^\]]*)\]"),
)
_HOSTNAME = re.compile(rf"^hostname=({_HOST})$", re.MULTILINE)
_USER = re.compile(r"^user (\S+)$", re.MULTILINE)
_MEMBERS = re.compile(r"^group [^:\n]*:[^:\n]*:[0-9]*:(\S+)$", re.MULTILINE)
_HOMES = re.compile(r"/home/([A-Za-z_][\w.-]*)")

_LEAST = 2
"""Shorter names are too often a part of something else."""


def users_in(text: str) -> Iterator[str]:
    """Yield the names of people in the text of a probe; those of services stay."""
    found = [*_USER.findall(text), *_HOMES.findall(text)]
    found += [name for line in _MEMBERS.findall(text) for name in line.split(",")]
    return (name for name in found if not _SYSTEM_USER.match(name))


def hosts_in(text: str) -> Iterator[str]:
    """Yield the names that a host gives itself."""
    yield from _HOSTNAME.findall(text)


def domains_in(text: str) -> Iterator[str]:
    """Yield the hosts that are asked for packages, images and models, and ways to them."""
    listed = (each for form in _LISTS for line in form.findall(text) for each in _listed(line))
    for name in (*(each for form in _PLACES for each in form.findall(text)), *listed):
        if not _NUMBERS.fullmatch(name) and not is_public(name):
            yield name


def _listed(line: str) -> Iterator[str]:
    for word in re.split(r"[\s,\"']+", line):
        if found := _NAME.match(word.removeprefix("*").removeprefix(".")):
            yield found[0]


def is_public(name: str) -> bool:
    """Whether a name is everybody's: it, or a domain that it is in."""
    labels = name.lower().split(".")
    return any(".".join(labels[at:]) in PUBLIC for at in range(len(labels)))


@dataclass(frozen=True)
class Masks:
    """What stands for each word, in small letters, and where words and whole domains are found."""

    words: Mapping[str, str]
    labels: Mapping[str, str]
    domain: re.Pattern[str]
    word: re.Pattern[str]

    def masked(self, text: str) -> str:
        """The text with the names replaced; of a domain the last part stays."""
        return self.word.sub(self._word, self.domain.sub(self._domain, text))

    def _word(self, found: re.Match[str]) -> str:
        name = found[0].lower()
        return self.words.get(name) or self.words[name.replace("--", "-")]

    def _domain(self, found: re.Match[str]) -> str:
        *labels, last = found[0].split(".")
        return ".".join((*(self.labels[label.lower()] for label in labels), last))


def masks(hosts: Iterable[str], users: Iterable[str], texts: Iterable[str]) -> Masks:
    """Return what stands for these names, and for the domains in the texts."""
    texts, own = tuple(texts), {name.lower() for name in hosts}
    places = own | {name.lower() for text in texts for name in domains_in(text)}
    domains = {name for name in places if "." in name}
    domains |= {parent for name in domains if "." in (parent := name.partition(".")[2])}
    domain = _form(domains, rf"(?:{_LABEL}\.){{0,9}}")
    found = {each.lower() for text in texts for each in domain.findall(text)}
    labels = {label for name in found | domains for label in name.split(".")[:-1]}
    named = {name.partition(".")[0] for name in own}
    stands = _numbered("name", labels | (places - domains) - named) | _numbered("host", named)
    words = {name: stands[name] for name in (places - domains) | named}
    words |= _numbered("user", (name.lower() for name in users))
    told = {name: mask for name, mask in words.items() if _tells(name)}
    # LVM's device names double each dash.
    doubled = {name.replace("-", "--") for name in told}
    return Masks(told, stands, domain, _form({*told, *doubled}, ""))


def _tells(name: str) -> bool:
    return len(name) >= _LEAST and name not in GENERIC


def _numbered(word: str, names: Iterable[str]) -> dict[str, str]:
    ordered = sorted(set(names))
    width = max(2, len(str(len(ordered))))
    return {name: f"{word}{number:0{width}}" for number, name in enumerate(ordered, 1)}


def _form(names: Iterable[str], before: str) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    choice = "|".join(map(re.escape, longest_first)) or r"(?!)"
    whole = rf"(?<![A-Za-z0-9_]){before}(?:{choice})(?![A-Za-z0-9_])"
    return re.compile(whole, re.IGNORECASE | re.ASCII)
