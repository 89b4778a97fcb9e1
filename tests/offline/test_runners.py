"""Runners' command lines of every generation, and Ollama's processes on a host."""

from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.captures import mailed, shown
from tests.support.samples import sample

from apuhost.probes import ParseError, runners
from apuhost.probes.runners import Process, Runner, RunnerCommands, runner_of

BLOBS = "/root/.ollama/models/blobs"
MODEL = f"{BLOBS}/sha256-{'a1' * 32}"
MMPROJ = f"{BLOBS}/sha256-{'b2' * 32}"
G1 = (
    f"/tmp/ollama12/runners/rocm/ollama_llama_server --model {MODEL} --ctx-size 8192 --batch-size "
    "512 --embedding --n-gpu-layers 33 --threads 8 --flash-attn --kv-cache-type q8_0 --no-mmap "
    "--parallel 4 --port 36747"
)
G2 = f"/usr/bin/ollama runner --ollama-engine --model {MODEL} --port 33179"
G3 = (
    f"/usr/lib/ollama/llama-server --model {MODEL} --port 44067 --host 127.0.0.1 --no-webui "
    f"--offline -c 8192 -np 2 --log-verbosity 4 --mmproj {MMPROJ} --spec-type draft-mtp "
    "--spec-draft-n-max 3 --load-mode none --cache-type-k q8_0 --cache-type-v f16 "
    "--flash-attn auto -b 1024 -ub 1024 -ngl 0 -t 6 --context-shift --keep 4"
)
PROBES = (
    "/usr/lib/ollama/llama-server --port 40001 --host 127.0.0.1 --no-webui --offline --verbose",
    "/usr/lib/ollama/llama-server --list-devices --offline --verbose",
    "/usr/bin/ollama gpu-discover --lib-dir /usr/lib/ollama/vulkan",
    "/usr/bin/ollama runner --ollama-engine --port 45775",
)
RUNNER = Runner(
    generation=3,
    model=MODEL,
    ctx_total=8192,
    parallel=2,
    ctx_per_slot=4096,
    batch=1024,
    ubatch=1024,
    gpu_layers=0,
    flash_attention="auto",
    cache_type_k="q8_0",
    cache_type_v="f16",
    mmproj=MMPROJ,
    spec_type="draft-mtp",
    draft_n_max=3,
    threads=6,
    embedding=False,
    other=(
        *("--port", "44067", "--host", "127.0.0.1", "--no-webui", "--offline"),
        *("--log-verbosity", "4", "--load-mode", "none", "--context-shift", "--keep", "4"),
    ),
    extra=(),
)
LOGGED = (
    f'time=2026-09-02T16:52:34.600Z level=INFO source=a.go:4 msg="starting llama-server" cmd="{G3}"'
)


def test_the_third_generation() -> None:
    assert runner_of(G3.split()) == RUNNER


def test_the_second_generation_only_names_the_model() -> None:
    runner = runner_of(G2.split())
    assert runner is not None
    assert (runner.generation, runner.model, runner.ctx_total) == (2, MODEL, None)


@pytest.mark.parametrize(
    "command", [G1, G1.replace("/ollama_llama_server", "/ollama runner --ollama-engine")]
)
def test_the_first_generation(command: str) -> None:
    runner = runner_of(command.split())
    assert runner is not None
    assert (runner.generation, runner.ctx_total, runner.ctx_per_slot) == (1, 8192, 2048)
    assert (runner.gpu_layers, runner.threads, runner.embedding) == (33, 8, True)
    assert (runner.flash_attention, runner.cache_type_k, runner.cache_type_v) == (
        "on",
        "q8_0",
        "q8_0",
    )


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        ("-m other", "model", "other"),
        ("--ctx-size 4096", "ctx_total", 4096),
        ("-c 0", "ctx_per_slot", None),
        ("--parallel 4", "ctx_per_slot", 2048),
        ("-np 0", "ctx_per_slot", None),
        ("--batch-size 7", "batch", 7),
        ("--ubatch-size 7", "ubatch", 7),
        ("--gpu-layers 7", "gpu_layers", 7),
        ("--n-gpu-layers all", "gpu_layers", "all"),
        ("-ngl auto", "gpu_layers", "auto"),
        ("-ngl -1", "gpu_layers", -1),
        ("-ngl many", "gpu_layers", None),
        ("-fa off", "flash_attention", "off"),
        ("-fa 1", "flash_attention", "on"),
        ("-fa", "flash_attention", "on"),
        ("--flash-attn -1", "flash_attention", "auto"),
        ("--flash-attn perhaps", "flash_attention", None),
        ("-ctk q4_0", "cache_type_k", "q4_0"),
        ("-ctv q4_0", "cache_type_v", "q4_0"),
        ("-mm x", "mmproj", "x"),
        ("--spec-type draft-dflash", "spec_type", "draft-dflash"),
        ("--embeddings", "embedding", True),
        ("--threads 3", "threads", 3),
        ("-c=4096", "ctx_total", 4096),
        ("-c lots", "ctx_total", None),
        ("-c " + "9" * 5000, "ctx_total", None),
        ("-c", "ctx_total", None),
        ("--brand-new 7 --other-new", "extra", ("--brand-new", "7", "--other-new")),
        ("stray", "extra", ("stray",)),
    ],
)
def test_aliases_and_the_last_of_two(options: str, field: str, value: object) -> None:
    runner = runner_of([*G3.split(), *options.split()])
    assert getattr(runner, field) == value


def test_what_is_left_to_the_program_is_not_told() -> None:
    assert runner_of(["llama-server", "-m", "x"]) == Runner(
        generation=3,
        model="x",
        **dict.fromkeys(
            field.name
            for field in fields(Runner)
            if field.name not in ("generation", "model", "embedding", "other", "extra")
        ),
        embedding=False,
        other=(),
        extra=(),
    )


@pytest.mark.parametrize(
    "command", [*PROBES, "/bin/ollama serve", "ollama run --model", "vi llama-server", ""]
)
def test_what_holds_no_model_is_no_runner(command: str) -> None:
    assert runner_of(command.split()) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(G3, id="bare"),
        pytest.param(G3.replace(" ", "\0") + "\0", id="from /proc"),
        pytest.param(f"root  4711  99 0.4 9 8 ?  Sl  12:00  1:02 {G3}\n", id="from ps"),
        pytest.param(LOGGED, id="from a log"),
        pytest.param(f"ollama-1  | {LOGGED}\n", id="Compose's prefix"),
        pytest.param(f"Sep 02 16:52:34 box ollama[1703]: {LOGGED}\r\n", id="journald's prefix"),
        pytest.param(f"9月 02 16:52:34 box ollama[1703]: {LOGGED}", id="in Chinese"),
        pytest.param(f"2026-09-02T16:52:34.601234567Z \x1b[32m{LOGGED}\x1b[0m", id="docker's time"),
        pytest.param(G3.replace(" --", " \\\n    --"), id="folded by hand"),
        pytest.param(LOGGED.replace(" --", "\n--"), id="broken before options"),
        pytest.param(mailed(LOGGED, 72), id="broken by a mail program"),
        pytest.param(shown(f"x ollama[1]: {LOGGED}", 150), id="broken by a terminal"),
        pytest.param(f"noise\n{LOGGED}\nllama_context: n_ctx = 8192\n", id="among other lines"),
    ],
)
def test_a_command_in_every_form(text: str) -> None:
    assert runners.parse(text) == RunnerCommands(0, (RUNNER,))


@pytest.mark.parametrize("quote", ['"', "'"])
def test_quotes_of_a_shell_are_no_part_of_a_path(quote: str) -> None:
    text = f"$ llama-server -c 8192 -m {quote}/my models/a.gguf{quote}"
    for more in ("", " -ngl 9"):
        (runner,) = runners.parse(text + more).runners
        assert (runner.model, runner.ctx_total) == ("/my models/a.gguf", 8192)


def test_windows_and_paths_with_blanks() -> None:
    program = r"C:\\Program Files\\Ollama\\ollama.exe"
    model = r"C:\\Users\\Ada L\\.ollama\\models\\blobs\\sha256-a1"
    text = (
        f'msg="starting runner" cmd="{program} runner --ollama-engine --port 1"\n'
        f'msg="starting runner" cmd="{program} runner --model {model} --port 2"\n'
    )
    read = runners.parse(text)
    assert read.probes == 1
    assert [runner.model for runner in read.runners] == [
        r"C:\Users\Ada L\.ollama\models\blobs\sha256-a1"
    ]


def test_probes_are_counted_between_runners() -> None:
    read = runners.parse("\n".join([*PROBES, G1, G2, PROBES[0], G3]))
    assert read.probes == 5
    assert [runner.generation for runner in read.runners] == [1, 2, 3]


def test_a_cut_line_tells_nothing_that_may_be_half() -> None:
    cut = LOGGED[: LOGGED.index("-c 8192") + len("-c 81")]
    (runner,) = runners.parse(cut).runners
    assert (runner.model, runner.ctx_total) == (MODEL, None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "/bin/ollama serve", "root 1 0.0 0.1 9 8 ? Ssl 12:00 1:02 ollama serve\n"),
        *("  PID TTY          TIME CMD\n    7 ?        00:00:01 ollama\n", "[GIN] x"),
        'time=2026-09-10T08:00:00.000Z level=INFO source=images.go:12 msg="total blobs: 4"\n',
    ],
)
def test_nothing_was_started(text: str) -> None:
    assert runners.parse(text) == RunnerCommands(0, ())


@pytest.mark.parametrize(
    "text",
    [
        *("root=/dev/sda1 ro\n", "\x7fELF\0\0", "{}", "the ollama runner is here"),
        *("docker run ollama/ollama\n", "See https://example.org/ollama\n"),
    ],
)
def test_text_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        runners.parse(text)


LINES = (
    "process 812\nword /bin/ollama\nword serve\n"
    "variable OLLAMA_HOST=0.0.0.0:11434\nvariable LLAMA_X=a=b\1c\n"
    "process 900\n" + "".join(f"word {word}\n" for word in G3.split()) + "word \n"
    "process 901\n"
)


def test_processes_with_words_and_variables() -> None:
    read = runners.parse_processes(f"{LINES}end\n")
    assert read.processes[0] == Process(
        812, ("/bin/ollama", "serve"), {"OLLAMA_HOST": "0.0.0.0:11434", "LLAMA_X": "a=b\nc"}
    )
    assert read.processes[1].argv[-1] == ""
    assert [process.pid for process in read.processes] == [812, 900, 901]
    assert [runner.model for runner in read.runners] == [MODEL]


@pytest.mark.parametrize("text", ["", LINES, f"{LINES}en"])
def test_a_cut_list_of_processes_is_not_read(text: str) -> None:
    with pytest.raises(ParseError):
        runners.parse_processes(text)


PIECES = [*f"{LOGGED} {G1}".split(), "cmd=", '"', "\n", "\0", "\\", "=", "-", "ollama runner ", "²"]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map(" ".join), st.integers(0, 900))
def test_no_text_makes_it_raise_or_invent(text: str, cut: int) -> None:
    with suppress(ParseError):
        for runner in runners.parse(text).runners:
            known = [runner.mmproj, runner.spec_type, runner.cache_type_k, *runner.extra]
            assert all(part in text for word in known if word for part in word.split())
    with suppress(ParseError):
        runners.parse_processes(f"process {text}\nword {text}\nvariable {text}\nend")
    with suppress(ParseError):
        runners.parse(LOGGED[:cut])


@pytest.mark.parametrize(
    ("file", "probes", "expected"),
    [
        (
            "01-docker-compose-prefix-cpu_avx2-offload-0",
            0,
            {"generation": 1, "ctx_total": 8192, "parallel": 4, "gpu_layers": None},
        ),
        ("03-macos-metal-runner", 0, {"generation": 1, "ctx_total": 32768, "gpu_layers": 37}),
        (
            "05-llama-server-0.33.2-mmproj-np2",
            0,
            {"generation": 3, "ctx_total": 8192, "ctx_per_slot": 4096, "flash_attention": "auto"},
        ),
        (
            "07-llama-server-no-jinja-chatml",
            0,
            {"ctx_total": 32768, "parallel": 1, "gpu_layers": None, "mmproj": None},
        ),
        ("09-windows-runner-escaped-backslashes", 1, None),
    ],
)
def test_real_commands(file: str, probes: int, expected: dict[str, object] | None) -> None:
    read = runners.parse(sample(f"runner-cmd/{file}.txt"))
    assert read.probes == probes
    assert len(read.runners) == (expected is not None)
    for name, value in (expected or {}).items():
        assert getattr(read.runners[0], name) == value
