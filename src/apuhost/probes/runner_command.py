"""One runner's command line: what Ollama asked the program that holds the model for.

Three generations: 1 (to 0.11.4) has options of its own, 2 (0.11.5 to 0.24) only names the model,
3 (from 0.30) is llama.cpp's llama-server. Aliases are llama.cpp's (common/arg.cpp); an option
that is not known is kept, never an error.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from apuhost.probes.pairs import whole_number

_FIELDS: Mapping[str, str] = {
    alias: field
    for field, aliases in {
        "model": "-m --model",
        "ctx_total": "-c --ctx-size",
        "parallel": "-np --parallel",
        "batch": "-b --batch-size",
        "ubatch": "-ub --ubatch-size",
        "gpu_layers": "-ngl --gpu-layers --n-gpu-layers",
        "flash_attention": "-fa --flash-attn",
        "cache_type_k": "-ctk --cache-type-k --kv-cache-type",
        "cache_type_v": "-ctv --cache-type-v",
        "mmproj": "-mm --mmproj",
        "spec_type": "--spec-type",
        "draft_n_max": "--spec-draft-n-max --draft --draft-n --draft-max",
        "threads": "-t --threads",
    }.items()
    for alias in aliases.split()
}
_OTHER_OPTIONS = """
--port --host --no-webui --offline --log-verbosity --verbosity -lv --verbose --log-disable
--no-log-prefix --no-log-timestamps --jinja --no-jinja --chat-template --mmproj-offload
--no-mmproj-offload --spec-draft-backend-sampling --no-spec-draft-backend-sampling
--spec-draft-model --model-draft -md --image-min-tokens --lora --mmap --no-mmap --mlock
--direct-io --load-mode -lm --split-mode -sm --main-gpu -mg --tensor-split --context-shift
--no-context-shift --keep --cache-ram -cram --ctx-checkpoints -ctxcp --multiuser-cache
--ollama-engine
"""
_OTHERS = frozenset(_OTHER_OPTIONS.split())
_EMBEDDING = frozenset({"--embedding", "--embeddings"})
_PATHS = frozenset({"-m", "--model", "-mm", "--mmproj", "-md", "--spec-draft-model", "--lora"})
_OPTION = re.compile(r"--?[A-Za-z]")
_FLASH_ATTENTION = {
    word: value
    for value, words in {
        "on": "on enabled true 1",
        "off": "off disabled false 0",
        "auto": "auto -1",
    }.items()
    for word in words.split()
}


@dataclass(frozen=True)
class Runner:
    """What a command line says; None where it leaves a thing to the program.

    `ctx_total` tokens are shared by `parallel` slots of `ctx_per_slot`; `batch` and `ubatch`
    are tokens. `other`: options without a field here that a release of Ollama is known to pass;
    `extra`: all the rest, both word by word and in their order.
    """

    generation: int
    model: str | None
    ctx_total: int | None
    parallel: int | None
    ctx_per_slot: int | None
    batch: int | None
    ubatch: int | None
    gpu_layers: int | str | None
    flash_attention: str | None
    cache_type_k: str | None
    cache_type_v: str | None
    mmproj: str | None
    spec_type: str | None
    draft_n_max: int | None
    threads: int | None
    embedding: bool
    other: tuple[str, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True)
class _Options:
    values: Mapping[str, str | None]
    other: tuple[str, ...]
    extra: tuple[str, ...]
    embedding: bool


def generation(argv: Sequence[str]) -> int | None:
    """Return a runner's generation; None when the command is no runner at all."""
    name = re.split(r"[/\\]", argv[0])[-1].removesuffix(".exe") if argv else ""
    match name, argv[1] if len(argv) > 1 else "":
        case "llama-server", _:
            return 3
        case "ollama", "gpu-discover":
            return 3
        case "ollama_llama_server", _:
            return 1
        case "ollama", "runner":
            return 1 if "--ctx-size" in argv else 2
    return None


def runner_of(argv: Sequence[str]) -> Runner | None:
    """Return what a runner was asked for; None for a discovery probe, the server, or another."""
    found = generation(argv)
    options = _options(argv[1:])
    values = options.values
    if found is None or values.get("model") is None:
        return None
    total, parallel = whole_number(values.get("ctx_total")), whole_number(values.get("parallel"))
    key_type = values.get("cache_type_k")
    return Runner(
        generation=found,
        model=values["model"],
        ctx_total=total,
        parallel=parallel,
        ctx_per_slot=_per_slot(total, parallel),
        batch=whole_number(values.get("batch")),
        ubatch=whole_number(values.get("ubatch")),
        gpu_layers=_gpu_layers(values.get("gpu_layers")),
        flash_attention=_flash_attention(values),
        cache_type_k=key_type,
        cache_type_v=key_type if "--kv-cache-type" in argv else values.get("cache_type_v"),
        mmproj=values.get("mmproj"),
        spec_type=values.get("spec_type"),
        draft_n_max=whole_number(values.get("draft_n_max")),
        threads=whole_number(values.get("threads")),
        embedding=options.embedding,
        other=options.other,
        extra=options.extra,
    )


def loaded_with(runner: Runner, request: str) -> Runner:
    """Return a runner of the second generation with the options of its load request.

    The request is printed as Go prints a structure: `{Parallel:1 KvSize:4096 KvCacheType: ...}`.
    """
    values = dict(re.findall(r"(\w+):([^\s\[\]{}]*)", request))
    total, parallel = whole_number(values.get("KvSize")), whole_number(values.get("Parallel"))
    return replace(
        runner,
        ctx_total=total,
        parallel=parallel,
        ctx_per_slot=_per_slot(total, parallel),
        batch=whole_number(values.get("BatchSize")),
        gpu_layers=0 if "GPULayers:[]" in request else whole_number(values.get("GPULayers")),
        flash_attention=_FLASH_ATTENTION.get(values.get("FlashAttention", "").lower()),
        cache_type_k=values.get("KvCacheType") or None,
        cache_type_v=values.get("KvCacheType") or None,
        threads=whole_number(values.get("NumThreads")),
    )


def words(command: str) -> tuple[str, ...]:
    """Return the words of a command line, which a program prints without quotes.

    What follows an option that takes a path belongs to the path up to the next option. Quotes
    around a word are those of somebody's shell.
    """
    split: list[str] = []
    option = ""
    for word in command.split():
        if _OPTION.match(word):
            option = word
        elif option in _PATHS and split[-1] != option:
            split[-1] = f"{split[-1]} {word}"
            continue
        split.append(word)
    return tuple(word.strip(word[0]) if word[0] in "\"'" else word for word in split)


def _options(arguments: Sequence[str]) -> _Options:
    """Sort the words of a command line; of an option that comes twice the last one counts."""
    values: dict[str, str | None] = {}
    other: list[str] = []
    extra: list[str] = []
    embedding = False
    queue = deque(arguments)
    while queue:
        word = queue.popleft()
        option, equals, value = word.partition("=")
        if equals and option in _FIELDS:
            values[_FIELDS[option]] = value
        elif word in _FIELDS:
            values[_FIELDS[word]] = _value(queue)
        elif word in _EMBEDDING:
            embedding = True
        elif word in _OTHERS:
            found = _value(queue)
            other += [word] if found is None else [word, found]
        elif word != "runner":
            extra.append(word)
    return _Options(values, tuple(other), tuple(extra), embedding)


def _value(queue: deque[str]) -> str | None:
    """The next word, unless it is an option; a negative number is none."""
    return None if not queue or _OPTION.match(queue[0]) else queue.popleft()


def _per_slot(total: int | None, parallel: int | None) -> int | None:
    return total // parallel if total and parallel else None


def _gpu_layers(value: str | None) -> int | str | None:
    if value in ("auto", "all"):
        return value
    return int(value) if value and re.fullmatch(r"-?[0-9]{1,9}", value) else None


def _flash_attention(values: Mapping[str, str | None]) -> str | None:
    """The bare option of older programs means on."""
    if "flash_attention" not in values:
        return None
    return _FLASH_ATTENTION.get(values["flash_attention"] or "on")
