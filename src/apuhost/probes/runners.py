"""Ollama's processes and their environment, and runners' command lines as people paste them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.log_lines import LogLine, log_lines
from apuhost.probes.ollama_lines import is_ours
from apuhost.probes.pairs import whole_number
from apuhost.probes.runner_command import Runner, runner_of, words
from apuhost.probes.secrets import HIDDEN, hide_userinfo
from apuhost.probes.slog import attributes, quote_is_open

__all__ = ["COMMAND", "Process", "Processes", "Runner", "RunnerCommands", "parse", "runner_of"]

_MOST_BYTES = 1024 * 1024
_MOST_CHARACTERS = 64 * 1024
_KEPT = "OLLAMA|LLAMA|GGML|GPU|HIP|HSA|ROCR|RADV|AMD|VK|MESA"

# In /proc a NUL ends each word and variable; a line feed inside of one becomes \001, so that
# no word can look like a line of ours.
COMMAND = f"""
{{
  for folder in /proc/[0-9]*; do
    read -r name <"$folder/comm" || continue
    case "$name" in ollama*|llama-server) ;; *) continue ;; esac
    printf 'process %s\\n' "${{folder#/proc/}}"
    tr '\\n\\000' '\\001\\n' <"$folder/cmdline" | sed -E -e 's/^/word /' \\
      -e '/^word (--api-key|--hf-token|-hft)$/{{n;s/.*/word {HIDDEN}/}}' -e '$a\\'
    tr '\\n\\000' '\\001\\n' <"$folder/environ" | sed -nE \\
      -e '/^(({_KEPT})_[A-Za-z0-9_]*|[A-Za-z0-9_]*_(PROXY|proxy))=/!d' \\
      -e 's/^([A-Za-z0-9_]*(KEY|TOKEN|SECRET|PASSWORD)=).*/\\1{HIDDEN}/' \\
      -e '/=[a-z]+:|_(PROXY|proxy)=/{hide_userinfo("[A-Za-z0-9_]*=")}' \\
      -e 's/^/variable /p' -e '$a\\'
  done
  echo end
}} | head -c {_MOST_BYTES}
"""

# The program's name and what it takes, in a log, in what ps prints, or pasted from a shell.
_COMMAND = re.compile(
    r"(?<![\w-])(?:(?:llama-server|ollama_llama_server)(?:\.exe)?[\"']?(?=\s+-)"
    r"|ollama(?:\.exe)?[\"']?(?=\s+(?:runner|gpu-discover)\s+-))"
)
# The server, or a process without its arguments, as ps or a shell shows it.
_PROCESS = re.compile(
    r"[/\\]ollama(?:\.exe)?[\"']? serve\b|(?:^|:[0-9]{2} )(?:ollama|llama-server)(?: serve)?\s*$"
)
_CONTINUED = re.compile(r"\\\r?\n")
_OPTIONS = re.compile(r"\s*--?[A-Za-z]")


@dataclass(frozen=True)
class RunnerCommands:
    """The runners in a text, in its order, and how many probes for GPUs stand between them."""

    probes: int
    runners: tuple[Runner, ...]


@dataclass(frozen=True)
class Process:
    """One process of Ollama's with the variables of its environment that concern it."""

    pid: int
    argv: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def runner(self) -> Runner | None:
        """What it was asked for; None when it holds no model."""
        return runner_of(self.argv)


@dataclass(frozen=True)
class Processes:
    """Ollama's processes: the server, its runners, and probes for GPUs while they last."""

    processes: tuple[Process, ...]

    @property
    def runners(self) -> tuple[Runner, ...]:
        """The runners that hold a model."""
        return tuple(runner for process in self.processes if (runner := process.runner))


def parse(text: str) -> RunnerCommands:
    """Read the command lines in a log, in what ps or /proc print, or in a paste.

    Raises:
        ParseError: no line is Ollama's, or shows a process of it.
    """
    shown = _CONTINUED.sub(" ", text.replace("\0", " "))
    lines = list(log_lines(shown.split("\n")))
    commands = [command for line in _unfolded(lines) if (command := command_in(line))]
    if not commands and text.strip() and not any(map(_is_ours, lines)):
        raise ParseError("no command line of a runner in it")
    found = [runner_of(command) for command in commands]
    return RunnerCommands(found.count(None), tuple(filter(None, found)))


def _is_ours(line: LogLine) -> bool:
    return is_ours(line) or _PROCESS.search(line.text) is not None


def _unfolded(lines: Iterable[LogLine]) -> Iterator[str]:
    """The lines' texts; one that begins with an option goes on with the command before it."""
    held = ""
    for line in lines:
        if held and len(held) < _MOST_CHARACTERS and _OPTIONS.match(line.text):
            held = f"{held} {line.text.strip()}"
        else:
            yield held
            held = line.text
    yield held


def command_in(line: str) -> tuple[str, ...] | None:
    """Return the words of the runner's or probe's command in a line, or None without one.

    Of a line that is cut inside of its quotes the last word is not whole, and is left out.
    """
    text = attributes(line).get("cmd", line) if "cmd=" in line else line
    program = _COMMAND.search(text)
    if program is None:
        return None
    command = (program[0].strip("\"'"), *words(text[program.end() :].rstrip().rstrip("\"'")))
    return command[:-1] if text is line and quote_is_open(line) else command


def parse_processes(text: str) -> Processes:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: the answer was cut.
    """
    lines = text.rstrip("\n").split("\n")
    if lines[-1] != "end":
        raise ParseError("the processes were not listed to the end")
    return Processes(tuple(_process(pid, rest) for pid, rest in _blocks(lines[:-1])))


def _blocks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    block: list[str] = []
    pid: int | None = None
    for line in lines:
        if line.startswith("process "):
            if pid is not None:
                yield pid, block
            pid, block = whole_number(line.removeprefix("process ")), []
        else:
            block.append(line)
    if pid is not None:
        yield pid, block


def _process(pid: int, lines: Iterable[str]) -> Process:
    found = [line.replace("\1", "\n").split(" ", 1) for line in lines]
    pairs = [pair for pair in found if len(pair) > 1]
    variables = (value.split("=", 1) for kind, value in pairs if kind == "variable")
    return Process(
        pid,
        tuple(value for kind, value in pairs if kind == "word"),
        {variable[0]: variable[1] for variable in variables if len(variable) > 1},
    )
