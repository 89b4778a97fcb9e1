"""What a refusal is: the reasons, of one topic, to leave a host alone."""

from collections.abc import Callable, Iterator

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts

Refusal = Callable[[Derived, HostFacts], Iterator[str]]
