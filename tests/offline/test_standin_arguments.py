"""llama-server's command line by Ollama's rules: facts/ollama.md section 3.3."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from apuhost.probes import ollama_log, runners
from apuhost.rehearsal.standin import arguments, options
from apuhost.rehearsal.standin.arguments import Launch
from apuhost.rehearsal.standin.options import Runner
from apuhost.rehearsal.standin.sizes import GIB

MODEL = Path("/root/.ollama/models/blobs/sha256-9e")
USUAL = Launch(
    Path("/usr/lib/ollama/llama-server"), MODEL, "llama", 3, 40000,
    Runner(num_ctx=8192, num_batch=512, draft_num_predict=0), gpus=[16 * GIB],
)  # fmt: skip


def flags(launch: Launch) -> list[str]:
    return arguments.command(launch)


def with_options(**changes: object) -> Launch:
    return replace(USUAL, options=replace(USUAL.options, **cast("dict[str, Any]", changes)))


def after(launch: Launch, flag: str) -> str:
    command = flags(launch)
    return command[command.index(flag) + 1]


def test_section_3_3_the_whole_line_in_its_order() -> None:
    assert " ".join(flags(USUAL)) == (
        "/usr/lib/ollama/llama-server --model /root/.ollama/models/blobs/sha256-9e --port 40000"
        " --host 127.0.0.1 --no-webui --offline -c 8192 -np 1 --log-verbosity 4 --no-log-prefix"
        " --no-log-timestamps --flash-attn auto -b 512 -ub 512 --context-shift --keep 4"
    )


def test_section_3_3_all_conditional_parts_in_their_order() -> None:
    launch = replace(
        with_options(draft_num_predict=2, use_mmap=False, num_gpu=99, num_thread=4, main_gpu=0),
        without_jinja=True, projector=Path("/p"), draft_kind="draft-mtp", architecture="qwen3vl",
        adapters=[Path("/a")], kv_cache_type="q8_0", flash_attention=True, num_parallel=2,
    )  # fmt: skip
    assert " ".join(flags(launch)).partition("--no-log-timestamps ")[2] == (
        "--no-jinja --chat-template chatml --mmproj /p --spec-type draft-mtp"
        " --spec-draft-n-max 2 --spec-draft-backend-sampling --image-min-tokens 1024 --lora /a"
        " --load-mode none --cache-type-k q8_0 --cache-type-v q8_0 --flash-attn on -b 512 -ub 512"
        " -ngl 99 -t 4 --split-mode none --main-gpu 0 --context-shift --keep 4"
    )
    assert after(launch, "-c") == "16384"


@pytest.mark.parametrize(("num_gpu", "shown"), [(-1, None), (0, "0"), (20, "20")])
def test_section_3_3_ngl_is_absent_by_default(num_gpu: int, shown: str | None) -> None:
    launch = with_options(num_gpu=num_gpu)
    assert ("-ngl" in flags(launch)) is (shown is not None)
    assert shown is None or after(launch, "-ngl") == shown


@pytest.mark.parametrize(("chosen", "shown"), [(None, "auto"), (True, "on"), (False, "off")])
def test_section_3_3_flash_attention_is_auto_unless_chosen(chosen: bool | None, shown: str) -> None:
    assert after(replace(USUAL, flash_attention=chosen), "--flash-attn") == shown


@pytest.mark.parametrize(
    ("count", "kind", "drafts"),
    [(2, "draft-mtp", True), (0, "draft-mtp", False), (2, "", False)],
    ids=["on", "off", "the model cannot"],
)
def test_section_3_3_a_draft_needs_a_model_that_can_and_a_count(
    count: int, kind: str, drafts: bool
) -> None:
    launch = replace(with_options(draft_num_predict=count), draft_kind=kind)
    assert ("--spec-type" in flags(launch)) is drafts


def test_section_3_3_a_draft_model_of_its_own_is_named() -> None:
    launch = replace(with_options(draft_num_predict=4), draft_kind="draft-dflash", draft=Path("/d"))
    assert after(launch, "--spec-draft-model") == "/d"
    assert "--spec-draft-backend-sampling" not in flags(launch)


@pytest.mark.parametrize(
    ("changes", "free", "reason"),
    [
        ({}, 16 * GIB, ""), ({"num_gpu": 0}, 16 * GIB, "cpu-only"),
        ({"num_gpu": 2}, 16 * GIB, "partial-text-offload"), ({"num_gpu": 3}, 16 * GIB, ""),
        ({}, GIB, "limited-vram"),
    ],
)  # fmt: skip
def test_section_3_3_why_a_projector_stays_off_the_gpu(
    changes: dict[str, int], free: int, reason: str
) -> None:
    launch = replace(with_options(**changes), projector=Path("/p"), projector_bytes=5, gpus=[free])
    assert arguments.projector_on_cpu(launch) == reason
    assert ("--no-mmproj-offload" in flags(launch)) is bool(reason)


@pytest.mark.parametrize(
    ("context", "predicted", "batch"),
    [
        (4096, GIB, 512), (8192, GIB, 1024), (262144, GIB, 2048), (262144, 7 * GIB, 1024),
        (8192, 7.9 * GIB, 512), (8192, 9 * GIB, 512), (262144, 0, 2048),
    ],
)  # fmt: skip
def test_section_3_3_the_automatic_batch(context: int, predicted: float, batch: int) -> None:
    assert arguments.automatic_batch(context, int(predicted), available=10 * GIB) == batch


def test_section_3_3_an_embedding_model_has_its_own_flag_and_no_larger_batch_than_context() -> None:
    launch = replace(with_options(num_ctx=256), embedding=True)
    command = flags(launch)
    assert command[command.index("--embedding") + 1 :][:4] == ["-b", "256", "-ub", "256"]


def test_section_3_3_without_shift_nothing_is_kept() -> None:
    assert "--keep" not in flags(replace(USUAL, context_shift=False))
    assert "--context-shift" not in flags(replace(USUAL, context_shift=False))


def test_our_parsers_read_it_from_proc_and_from_the_log() -> None:
    command = flags(replace(USUAL, projector=Path("/p")))
    (runner,) = runners.parse(" ".join(command)).runners
    assert (runner.model, runner.ctx_total, runner.parallel) == (str(MODEL), 8192, 1)
    assert (runner.batch, runner.ubatch, runner.mmproj) == (512, 512, "/p")
    said = f'msg="starting llama-server" cmd="{" ".join(command)}"'
    line = f"time=x level=INFO source=llama_server.go:1 {said}"
    assert ollama_log.parse(line).runners == (runner,)


def merged(
    parameters: dict[str, Any], request: dict[str, Any], context: int = 0, *, drafts: bool = False
) -> options.Options:
    return options.merge(parameters, request, context=context, fallback_context=4096, drafts=drafts)


@pytest.mark.parametrize(
    ("parameters", "request_", "environment", "context"),
    [({}, {}, 0, 4096), ({}, {}, 262144, 262144), ({"num_ctx": 8192}, {}, 262144, 8192),
     ({"num_ctx": 8192}, {"num_ctx": 2048}, 262144, 2048)],
    ids=["default", "environment", "model", "request"],
)  # fmt: skip
def test_section_1_the_request_wins_over_model_environment_and_default(
    parameters: dict[str, Any], request_: dict[str, Any], environment: int, context: int
) -> None:
    found = merged(parameters, request_, context=environment)
    assert found.runner.num_ctx == context
    assert found.automatic_context is (context == 4096)


def test_section_3_3_drafting_is_off_by_default_unless_a_draft_model_lies_beside() -> None:
    assert merged({}, {}).runner.draft_num_predict == 0
    assert merged({}, {}, drafts=True).runner.draft_num_predict == 4
    assert merged({"draft_num_predict": 2}, {}).runner.draft_num_predict == 2


def test_section_4_unknown_options_are_named_and_ignored() -> None:
    found = merged({"num_batch": 256, "no_such": 1}, {"temperature": 0})
    assert (found.unknown, found.runner.num_batch, found.temperature) == (["no_such"], 256, 0)
    assert not found.automatic_batch


@pytest.mark.parametrize(
    ("option", "value", "kind"),
    [("num_ctx", "8192", "integer"), ("num_ctx", True, "integer"), ("top_p", "x", "float32"),
     ("use_mmap", 0, "boolean"), ("stop", "x", "array"), ("stop", [1], "array of strings")],
)  # fmt: skip
def test_options_of_another_type_are_refused(option: str, value: object, kind: str) -> None:
    with pytest.raises(ValueError, match=f'option "{option}" must be of .*{kind}'):
        merged({}, {option: value})
