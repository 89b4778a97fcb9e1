"""Starting a runner for a model: what it is started with, and what the log tells meanwhile.

facts/ollama.md section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from . import arguments, discovery, environment, gguf, gpu, sizes
from .arguments import Launch
from .devices import MINIMUM, Device
from .environment import Environ
from .gpu import Machine
from .models import Model
from .options import Options
from .runner import LoadError, Runner, free_port
from .slog import Log

_ONE_AT_A_TIME = frozenset(
    ("mllama", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen3next", "lfm2", "lfm2moe",
     "nemotron_h", "nemotron_h_moe", "nemotron_h_omni")
)  # fmt: skip
_LEAST_CONTEXT, _LEAST_VISION_CONTEXT = 4, 2048


@dataclass(frozen=True)
class Plan:
    """A runner that is to be started, and what it will probably take."""

    model: Model
    options: Options
    launch: Launch
    gpus: Sequence[Device]
    predicted: int


@dataclass(frozen=True)
class Loader:
    """Starts runners on one machine in one environment."""

    machine: Machine
    environ: Environ
    devices: Sequence[Device]
    log: Log

    def plan(self, model: Model, options: Options, *, shift: bool | None, gpu_free: int) -> Plan:
        """What the runner will be started with.

        Args:
            model: the model.
            options: merged already.
            shift: the request's `shift`.
            gpu_free: bytes that the runners now loaded leave free.
        """
        gpus = [] if options.runner.num_gpu == 0 else self.devices
        parallel = self._parallel(model)
        context = least_context(model, options.runner.num_ctx)
        capped = min(context, model.metadata.number("context_length") or context)
        predicted = _predict(model, capped * parallel)
        chosen = replace(options.runner, num_ctx=context)
        if options.automatic_batch and not model.embeds_only:
            available = min(gpu_free, discovery.memory(self.machine)[1]) if gpus else 0
            batch = arguments.automatic_batch(capped * parallel, predicted, available)
            chosen = replace(chosen, num_batch=batch)
        launch = Launch(
            executable=self.machine.llama_server, model=model.path,
            architecture=model.metadata.architecture,
            layers=model.metadata.number("block_count") + 1, port=free_port(), options=chosen,
            num_keep=options.num_keep, num_parallel=parallel, without_jinja=model.renders_itself,
            projector=model.projector, adapters=model.adapters, draft_kind=model.draft_kind,
            projector_bytes=gguf.read(model.projector).bytes_of() if model.projector else 0,
            draft=model.draft, embedding=model.embeds_only,
            kv_cache_type=environment.variable(self.environ, "OLLAMA_KV_CACHE_TYPE").lower(),
            flash_attention=environment.boolean(self.environ, "OLLAMA_FLASH_ATTENTION"),
            context_shift=shifts(model, shift), gpus=[device.free for device in gpus],
        )  # fmt: skip
        return Plan(model, options, launch, gpus, predicted)

    def start(self, plan: Plan) -> tuple[Runner, Launch]:
        """Start llama-server and wait until it answers.

        Returns:
            The runner, and what it was really started with.

        Raises:
            LoadError: it did not come up.
        """
        launch = self._launch(plan)
        offloaded = launch.projector_bytes and not arguments.projector_on_cpu(launch)
        fit = launch.projector_bytes + arguments.PROJECTOR_HEADROOM if offloaded else 0
        environ = gpu.runner_environment(self.machine, self.environ, plan.gpus, fit)
        try:
            runner = Runner(arguments.command(launch), environ, launch.port, self.log)
        except OSError as error:
            raise LoadError(f"error starting llama-server: {error}") from error
        self._tell_memory(plan.gpus)
        self.log.info("loading model via llama-server", at="llama_server.go", model=launch.model)
        stall = environment.load_timeout(self.environ)
        try:
            runner.wait_until_ready(stall)
        except LoadError as error:
            self.log.info("Load failed", at="sched.go", model=launch.model, error=error)
            runner.stop()
            raise
        self._check_accounting(runner, plan)
        self._tell_template(plan.model)
        return runner, launch

    def _launch(self, plan: Plan) -> Launch:
        launch, log = plan.launch, self.log
        options = launch.options
        if options.use_mmap is None and not plan.gpus:
            log.info(
                "disabling mmap for llama-server load by default", at="sched.go",
                model=launch.model, reason="cpu",
            )  # fmt: skip
            options = replace(options, use_mmap=False)
        log.info("using llama-server for model", at="server.go", model=launch.model)
        trained = plan.model.metadata.number("context_length")
        if trained and options.num_ctx > trained:
            log.warn(
                "requested context size too large for model", at="server.go",
                num_ctx=options.num_ctx, n_ctx_train=trained,
            )  # fmt: skip
            options = replace(options, num_ctx=trained)
        reason = arguments.projector_on_cpu(launch) if launch.projector else ""
        if reason:
            log.info(
                "disabling multimodal projector offload", at="llama_server.go", reason=reason,
                model=launch.model, projector=launch.projector,
            )  # fmt: skip
        return replace(launch, options=options)

    def _parallel(self, model: Model) -> int:
        wanted = max(environment.number(self.environ, "OLLAMA_NUM_PARALLEL"), 1)
        family = str(model.config.get("model_family", ""))
        if family in _ONE_AT_A_TIME and wanted != 1:
            self.log.warn(
                "model architecture does not currently support parallel requests",
                at="sched.go", architecture=family,
            )  # fmt: skip
        return 1 if family in _ONE_AT_A_TIME or model.embeds_only else wanted

    def _tell_memory(self, gpus: Sequence[Device]) -> None:
        total, free, swap = discovery.memory(self.machine)
        self.log.info(
            "system memory", at="sched.go", total=sizes.binary(total), free=sizes.binary(free),
            free_swap=sizes.binary(swap),
        )  # fmt: skip
        overhead = environment.number(self.environ, "OLLAMA_GPU_OVERHEAD")
        for device in gpus:
            available = max(device.free - overhead - MINIMUM, 0)
            self.log.info(
                "gpu memory", at="sched.go", id=device.id, library=device.library,
                available=sizes.binary(available), free=sizes.binary(device.free),
                minimum=sizes.binary(MINIMUM), overhead=sizes.binary(overhead),
            )  # fmt: skip

    def _check_accounting(self, runner: Runner, plan: Plan) -> None:
        if plan.gpus and not runner.accounting.by_device():
            self.log.warn(
                "llama-server VRAM tracking: no per-device buffer sizes were parsed from"
                " llama-server logs. VRAM accounting will be inaccurate. This may indicate a"
                " change in llama-server's log format — check for 'buffer size' lines in the"
                " output.",
                at="llama_server.go", model=plan.launch.model, gpus=len(plan.gpus),
            )  # fmt: skip

    def _tell_template(self, model: Model) -> None:
        config = model.config
        self.log.info(
            "template selection", at="images.go", model=model.name.full,
            selected="go_template" if model.template is not None else "none",
            renderer=config.get("renderer", ""), parser=config.get("parser", ""),
            go_template=model.capabilities if model.template is not None else "null",
            chat_template="null", harmony="null", renderer_parser="null",
        )  # fmt: skip


def least_context(model: Model, asked: int) -> int:
    """Ollama starts no runner with less, and none for pictures with less than 2048."""
    return max(asked, _LEAST_VISION_CONTEXT if model.projector else _LEAST_CONTEXT)


def shifts(model: Model, asked: bool | None) -> bool:
    """Whether a full context is shifted: as asked, else everywhere but in one family."""
    return model.config.get("model_family") != "deepseek2" if asked is None else asked


def _predict(model: Model, context: int) -> int:
    data = model.metadata
    heads = data.number("attention.head_count") or 1
    per_token = (
        2 * data.number("block_count") * (data.number("attention.head_count_kv") or 1)
        * (data.number("embedding_length") // heads) * 2
    )  # fmt: skip
    return model.path.stat().st_size + per_token * context
