"""The two hosts whose saved facts are in examples/, with their inventory's data."""

from pathlib import Path

from apuhost import evidence
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.probes.units import SCRIPT
from apuhost.roles import CHECKOUT
from tests.support import stack
from tests.support.hosts import (
    GIB,
    GPU_780M,
    LINE,
    PARAMETERS,
    PARTS,
    REFERENCE,
    host_facts,
    unit_files,
)
from tests.support.stack.models import Model

FOLDER = CHECKOUT / "examples"
INVENTORY = Host("minipc", (), {"kernel_gtt_gib": 48, "models_list": [REFERENCE]})

# A pull of the tag brought the registry's parameters back; the runner chose its batch itself.
_PULLED = Model(parameters=stack.QWEN.offered)
_BATCH = {
    "-b": "2048",
    "-ub": "2048",
    "-ngl": None,
    "--spec-type": None,
    "--spec-draft-n-max": None,
}
# Of the version that saved them: a probe that changes later does not change the examples.
_UNITS = stack.units({**unit_files(), SCRIPT: "script of 0.1.0\n"})
_ENVIRONMENT = stack.without(stack.ENVIRONMENT, "OLLAMA_IGPU_ENABLE")


def _broken() -> HostFacts:
    """The host above, as many are found: each part was set once, and no longer is in force.

    Somebody wrote pages_limit into /sys instead of the kernel line, started the container anew
    by hand, for everybody and without the variable that lets the GPU in, and pulled the model.
    """
    parameters = PARAMETERS.replace("ttm.pages_limit=12582912 ", "")
    logged = PARTS["kernel_log"].replace(PARAMETERS, parameters).replace("49152M", "32256M")
    return host_facts(
        units=_UNITS,
        cmdline=f"{LINE} quiet {parameters}\n",
        kernel_log=logged,
        gpus=GPU_780M.replace(str(48 * GIB), str(31 * GIB + GIB // 2)),
        containers=stack.containers(
            stack.container(_ENVIRONMENT, **stack.at("0.0.0.0")), stack.image()
        ),
        firewall=stack.firewall("0.0.0.0:22", "0.0.0.0:11434"),
        ollama_api=stack.ollama_api(stack.loaded(_PULLED, size_vram=0), models=(_PULLED,)),
        model_store=stack.model_store(_PULLED),
        ollama_log=stack.ollama_log(
            stack.DROPPED, stack.ON_CPU, loading=stack.OFFLOADED.replace("41/41", "0/41")
        ),
        runners=stack.runners(stack.command(_PULLED, **_BATCH), environment=_ENVIRONMENT),
    )


HEALTHY = INVENTORY, host_facts(units=_UNITS)
BROKEN = INVENTORY, _broken()
EXAMPLES = {"healthy": HEALTHY, "broken": BROKEN}


def write(folder: Path) -> None:
    """Write both sets, as `apuhost facts` saves them."""
    for name, (host, facts) in EXAMPLES.items():
        evidence.save(folder / name, host, facts)
