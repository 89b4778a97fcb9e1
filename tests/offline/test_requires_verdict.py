"""models.requires: a stored model that needs a newer Ollama, by the layer that is too old."""

import pytest
from tests.support import stack
from tests.support.hosts import REFERENCE, host_facts
from tests.support.stack import Model
from tests.support.verdicts import also, failing, verdict

from apuhost.host_facts import HostFacts
from apuhost.verdicts import Layer, Severity, Status, Verdict

DEPLOY = "apuhost deploy INVENTORY"


def needing(version: str, running: str = stack.VERSION) -> HostFacts:
    """A host with a model that needs this version, and a server of another."""
    model = Model(requires=version)
    return host_facts(
        model_store=stack.model_store(model),
        ollama_api=stack.ollama_api(stack.loaded(model), models=[model], version=running),
    )


def told(facts: HostFacts) -> Verdict:
    return verdict(facts, "models.requires")


@pytest.mark.parametrize(("needed"), ["0.30.0", stack.VERSION, "", "0.34.4-rc1"])
def test_an_ollama_that_is_new_enough(needed: str) -> None:
    found = told(needing(needed))
    assert (found.status, found.severity) == (Status.PASS, Severity.REQUIRED)
    words = f"needs Ollama {needed}, {stack.VERSION} answers" if needed else "no certain Ollama"
    assert words in found.observed


def test_an_image_that_is_too_old_is_the_inventorys() -> None:
    found = told(needing("99.1"))
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    assert found.observed == (
        f"{REFERENCE['name']}: it needs Ollama 99.1, ollama_image is {stack.VERSION}"
    )
    assert found.evidence.endswith('"requires":"99.1"')
    assert found.fix == "an ollama_image of 99.1 or later"


def test_a_server_that_is_older_than_its_image_is_deployed() -> None:
    found = told(needing("0.34.0", running="0.30.2"))
    assert failing(found) == (Status.FAIL, Layer.EFFECTIVE)
    assert found.observed.endswith("it needs Ollama 0.34.0, 0.30.2 answers")
    assert found.fix == DEPLOY


def test_a_tag_that_nobody_asked_for_is_not_judged() -> None:
    copied = Model(name="copied:1", requires="99.1")
    found = told(host_facts(model_store=stack.model_store(Model(), copied)))
    assert found.status is Status.PASS
    assert found.expected.endswith("every model of models_list")


@pytest.mark.parametrize("running", ["0.0.0", "0.0.0-dirty"])
def test_a_build_without_a_version_is_not_judged(running: str) -> None:
    found = told(needing("0.34.0", running=running))
    assert (found.status, "tells no version" in found.reason) == (Status.UNKNOWN, True)


def test_a_server_that_does_not_tell_its_version_is_unknown() -> None:
    found = told(also(host_facts(), ollama_api=stack.ollama_api(stack.loaded(), version="")))
    assert (found.status, found.layer) == (Status.UNKNOWN, Layer.EFFECTIVE)


def test_facts_of_an_older_apuhost_do_not_tell() -> None:
    """Their probe did not read the configuration: nothing else changes by that."""
    text = stack.model_store(stack.QWEN)
    configuration = stack.QWEN.configuration
    frame = f"sha256-{stack.sha256(configuration)}\n{configuration}\n"
    head, _, rest = text.partition(frame)
    older = also(host_facts(), model_store=f"{head.rpartition('==> ')[0]}{rest}")
    found = told(older)
    assert (found.status, "cannot be read" in found.reason) == (Status.UNKNOWN, True)
    assert verdict(older, "models.pinned").status is Status.PASS


@pytest.mark.parametrize("configuration", ["", "[]", "{", '{"requires":5}'])
def test_a_configuration_that_cannot_be_read_is_unknown(configuration: str) -> None:
    class Broken(Model):
        @property
        def configuration(self) -> str:
            return configuration

    facts = also(host_facts(), model_store=stack.model_store(Broken()))
    assert told(facts).status is Status.UNKNOWN
