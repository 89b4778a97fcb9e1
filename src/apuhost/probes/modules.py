"""Loaded GPU modules: their live parameters, and the names of those that they know."""

from dataclasses import dataclass

COMMAND = """
for module in ttm amdttm amdgpu; do
  [ -d "/sys/module/$module" ] && printf 'loaded %s\\n' "$module"
  modinfo -F parm "$module" 2>/dev/null | sed -n "s/^\\([A-Za-z0-9_]*\\):.*/known $module \\1/p"
  for file in /sys/module/$module/parameters/*; do
    [ -r "$file" ] && printf 'live %s %s %s\\n' "$module" "${file##*/}" "$(head -c 200 "$file")"
  done
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
            case ["loaded", module]:
                loaded.add(module)
            case ["known", module, parameter]:
                known.add(f"{module}.{parameter}")
            case ["live", module, parameter]:
                live[f"{module}.{parameter}"] = ""
            case ["live", module, parameter, value]:
                live[f"{module}.{parameter}"] = value.strip()
    return Modules(frozenset(loaded), live, frozenset(known))
