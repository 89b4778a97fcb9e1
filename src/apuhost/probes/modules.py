"""Loaded GPU modules: their live parameters, and the names of those that they know."""

from dataclasses import dataclass

_MODULES = ("ttm", "amdttm", "amdgpu")

# One grep reads a folder of parameters: a process for each of amdgpu's hundred costs seconds on a
# slow machine.
COMMAND = f"""
for module in {" ".join(_MODULES)}; do
  modinfo -F parm "$module" 2>/dev/null | sed -n "s/^\\([A-Za-z0-9_]*\\):.*/known $module \\1/p"
  cd "/sys/module/$module" 2>/dev/null || continue
  printf 'loaded %s\\n' "$module"
  cd parameters 2>/dev/null && grep -sH '' -- * | sed "s/^\\([^:]*\\):/live $module \\1 /"
done
true
"""


@dataclass(frozen=True)
class Modules:
    """`live` maps "module.parameter" to its text in /sys; `known` holds what modinfo lists."""

    loaded: frozenset[str]
    live: dict[str, str]
    known: frozenset[str]

    def knows(self, module: str) -> bool:
        """Whether modinfo told this module's parameters at all."""
        return any(name.startswith(f"{module}.") for name in self.known)


def parse(text: str) -> Modules:
    """Read the lines that COMMAND prints; other lines are passed over."""
    loaded: set[str] = set()
    known: set[str] = set()
    live: dict[str, str] = {}
    for line in text.splitlines():
        match line.split(" ", 3):
            case [_, module, *_] if module not in _MODULES:
                continue
            case ["loaded", module]:
                loaded.add(module)
            case ["known", module, parameter]:
                known.add(f"{module}.{parameter}")
            case ["live", module, parameter]:
                live[f"{module}.{parameter}"] = ""
            case ["live", module, parameter, value]:
                live[f"{module}.{parameter}"] = value.strip()
    return Modules(frozenset(loaded), live, frozenset(known))
