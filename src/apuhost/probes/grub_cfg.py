"""grub.cfg: the menu entries and the kernel lines in them.

Written by /etc/grub.d/10_linux and its neighbours (GRUB 2.06 to 2.14, Debian and Ubuntu).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile, pairwise

from apuhost.probes import ParseError, cmdline, files, grub_script
from apuhost.probes.grub_script import CutShortError, Statement

COMMAND = files.command("/boot/grub/grub.cfg")

_LINUX = frozenset({"linux", "linuxefi", "linux16"})
# GRUB_CMDLINE_LINUX_DEFAULT reaches the entries of these alone (10_linux_zfs is Ubuntu's); others
# boot another system or another program. A menu without markers was not split by grub-mkconfig.
_OWN_SCRIPT = re.compile(r"(?:.*/10_linux(?:_zfs)?)?")
_MEMTEST = re.compile(r"/(?:memtest|mt86)[^/]*$")
_SCRIPT = re.compile(r"### (BEGIN|END) (\S+) ###")
_KEYWORDS = frozenset({"then", "else", "elif", "do", "if", "!"})
_RECOVERY_FLAGS = ("single", "recovery")  # written by 10_linux right behind "ro"
_ID_OPTIONS = ("$menuentry_id_option", "--id")
_LONGEST = 4_194_304  # characters; a menu of a hundred kernels takes a tenth of it
_DEEPEST = 50  # open blocks; grub-mkconfig opens two


@dataclass(frozen=True)
class Entry:
    """One menuentry; `kernel` is None where it boots no Linux, such as firmware setup.

    `arguments` is the rest of the linux line as it is written, `script` the /etc/grub.d file
    that made the entry ("" if the text does not say).
    """

    title: str
    submenus: tuple[str, ...]
    recovery: bool
    kernel: str | None
    arguments: str
    script: str

    @property
    def normal(self) -> bool:
        """Whether it boots this system's Linux: no recovery, no memtest, no other system."""
        if self.kernel is None or self.recovery or _MEMTEST.search(self.kernel):
            return False
        return _OWN_SCRIPT.fullmatch(self.script) is not None


@dataclass(frozen=True)
class GrubCfg:
    """The entries whose end is there; `complete` is False when the text ends inside a block."""

    entries: tuple[Entry, ...]
    complete: bool

    @property
    def normal_entries(self) -> tuple[Entry, ...]:
        """The entries that must carry the configured parameters."""
        return tuple(entry for entry in self.entries if entry.normal)

    @property
    def kernel_files(self) -> tuple[str, ...]:
        """Names, under /boot, of the kernels that the normal entries boot, each once."""
        kernels = (entry.kernel or "" for entry in self.normal_entries)
        return tuple(dict.fromkeys(kernel.rpartition("/")[2] for kernel in kernels))


@dataclass
class _Block:
    """An open `{`: its opener's words and, in a menuentry, the linux line met so far."""

    words: tuple[str, ...]
    script: str
    kernel: str | None = None
    arguments: str = ""


def parse(text: str) -> GrubCfg:
    """Read the framed file that COMMAND prints; no file gives no entries.

    Raises:
        ParseError: the frame does not add up, or blocks end that never began.
    """
    found = files.parse_files(text)
    return read(found[0].text) if found else GrubCfg((), complete=True)


def read(text: str) -> GrubCfg:
    """Read the text of a grub.cfg.

    Raises:
        ParseError: a block ends that never began: the beginning of the text is missing; or the
            text is far longer or deeper than a menu.
    """
    if len(text) > _LONGEST:
        raise ParseError(f"grub.cfg has more than {_LONGEST} characters")
    menu = _Menu()
    try:
        for statement in grub_script.statements(text):
            menu.take(statement)
    except CutShortError:
        return GrubCfg(tuple(menu.entries), complete=False)
    return GrubCfg(tuple(menu.entries), complete=not menu.blocks)


def lacking(
    cfg: GrubCfg, wanted: tuple[str, ...], unwanted_keys: frozenset[str]
) -> tuple[str, ...]:
    """Return one sentence for each normal entry that would not boot with the wanted parameters.

    The last value of a key counts. A text that is cut, or that boots no Linux at all, is
    lacking too: with no entry to judge, nothing is proved.
    """
    sentences = [] if cfg.complete else ["grub.cfg ends inside a block: it was cut"]
    if not cfg.normal_entries:
        sentences.append("grub.cfg has no menu entry that boots this system's Linux")
    for entry in cfg.normal_entries:
        line = cmdline.read(entry.arguments)
        faults = [*_missing(line, wanted), *_present(line, unwanted_keys)]
        if faults:
            sentences.append(f"menu entry '{entry.title}' boots {', '.join(faults)}")
    return tuple(sentences)


def _missing(line: cmdline.Cmdline, wanted: tuple[str, ...]) -> Iterator[str]:
    for argument in cmdline.read(" ".join(wanted)).arguments:
        text = cmdline.join([argument])
        if argument.key not in line:
            yield f"without {text}"
        elif (value := line.effective(argument.key)) != argument.value:
            yield f"with {cmdline.join([cmdline.Argument(argument.key, value)])} instead of {text}"


def _present(line: cmdline.Cmdline, unwanted_keys: frozenset[str]) -> Iterator[str]:
    for key in sorted(unwanted_keys):
        if key in line:
            value = line.effective(key)
            yield f"with {cmdline.join([cmdline.Argument(key, value)])}, which should be gone"


class _Menu:
    """What is known while the statements go by: the open blocks and the script that wrote them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.blocks: list[_Block] = []
        self.script = ""

    def take(self, statement: Statement) -> None:
        self._take_linux_line(statement)
        if marker := _SCRIPT.fullmatch(statement.end.rstrip()):
            self.script = marker[2] if marker[1] == "BEGIN" else ""
        elif statement.end == "{":
            if len(self.blocks) == _DEEPEST:
                raise ParseError(f"grub.cfg has more than {_DEEPEST} blocks inside each other")
            self.blocks.append(_Block(statement.words, self.script))
        elif statement.end == "}":
            self._close()

    def _take_linux_line(self, statement: Statement) -> None:
        words = list(dropwhile(_KEYWORDS.__contains__, statement.words))
        if len(words) > 1 and words[0] in _LINUX and self.blocks:
            block = self.blocks[-1]
            block.kernel = words[1]
            block.arguments = statement.after(len(statement.words) - len(words) + 1)

    def _close(self) -> None:
        if not self.blocks:
            raise ParseError("grub.cfg closes a block that it never opened: its beginning is cut")
        block = self.blocks.pop()
        if block.words[:1] == ("menuentry",):
            self.entries.append(_entry(block, self.blocks))


def _entry(block: _Block, around: list[_Block]) -> Entry:
    title = block.words[1] if len(block.words) > 1 else ""
    submenus = tuple(b.words[1] for b in around if b.words[:1] == ("submenu",) and b.words[1:])
    recovery = _is_recovery(title, _identity(block.words), block.arguments)
    return Entry(title, submenus, recovery, block.kernel, block.arguments, block.script)


def _identity(words: tuple[str, ...]) -> str:
    """Return the entry's id, which says recovery in every language, or ""."""
    return next((b for a, b in pairwise(words) if a in _ID_OPTIONS), "")


def _is_recovery(title: str, identity: str, arguments: str) -> bool:
    if "recovery mode" in title.lower() or "-recovery-" in identity:
        return True
    line = cmdline.read(arguments)
    return any(flag in line and line.effective(flag) is None for flag in _RECOVERY_FLAGS)
