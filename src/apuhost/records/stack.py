"""The stack on a box: Docker, Ollama, its models, and what apuhost keeps there."""

from functools import cached_property

from apuhost.probes import (
    boots,
    compose,
    container_packages,
    containers,
    daemon_json,
    docker,
    firewall,
    generation,
    mirror,
    mirror_answers,
    mirror_serving,
    model_blobs,
    model_store,
    ollama_api,
    ollama_log,
    outbound,
    repetition,
    runners,
    units,
)
from apuhost.records import Records


class StackRecords(Records):
    """What the roles bring, or take over."""

    @cached_property
    def docker(self) -> docker.Docker:
        """The container engine."""
        return self._read("docker", docker.parse)

    @cached_property
    def daemon_json(self) -> daemon_json.DockerFiles:
        """daemon.json and the drop-ins of docker.service."""
        return self._read("daemon_json", daemon_json.parse_files_of)

    @cached_property
    def containers(self) -> containers.Containers:
        """Containers, images, volumes."""
        return self._read("containers", containers.parse)

    @cached_property
    def container_packages(self) -> container_packages.ContainerPackages:
        """Packages in Ollama's container."""
        return self._read("container_packages", container_packages.parse)

    @cached_property
    def compose(self) -> compose.Compose:
        """Compose files."""
        return self._read("compose", compose.parse)

    @cached_property
    def ollama_api(self) -> ollama_api.OllamaApi:
        """What Ollama itself answers."""
        return self._read("ollama_api", ollama_api.parse)

    @cached_property
    def model_store(self) -> model_store.ModelStore:
        """Models as files."""
        return self._read("model_store", model_store.parse)

    @cached_property
    def model_blobs(self) -> model_blobs.ModelBlobs:
        """The digests that models' files really have."""
        return self._read("model_blobs", model_blobs.parse)

    @cached_property
    def runners(self) -> runners.Processes:
        """Ollama's processes."""
        return self._read("runners", runners.parse_processes)

    @cached_property
    def ollama_log(self) -> ollama_log.OllamaLog:
        """What Ollama logged since its start."""
        return self._read("ollama_log", ollama_log.parse)

    @cached_property
    def units(self) -> units.Units:
        """Systemd units and files of ours."""
        return self._read("units", units.parse)

    @cached_property
    def firewall(self) -> firewall.Firewall:
        """Rules for published ports, and who listens."""
        return self._read("firewall", firewall.parse)

    @cached_property
    def mirror(self) -> mirror.Mirror:
        """The site's mirror, as this host knows it."""
        return self._read("mirror", mirror.parse)

    @cached_property
    def mirror_serving(self) -> mirror_serving.Serving:
        """What a mirror's host keeps and serves."""
        return self._read("mirror_serving", mirror_serving.parse)

    @cached_property
    def mirror_answers(self) -> mirror_answers.MirrorAnswers:
        """What apt and Docker answer of it."""
        return self._read("mirror_answers", mirror_answers.parse)

    @cached_property
    def boots(self) -> boots.Boots:
        """What the host saved of its boots."""
        return self._read("boots", boots.parse)

    @cached_property
    def generation(self) -> generation.Generation:
        """A token of every loaded model."""
        return self._read("generation", generation.parse)

    @cached_property
    def repetition(self) -> repetition.Repetition:
        """One prompt twice to every loaded model."""
        return self._read("repetition", repetition.parse)

    @cached_property
    def outbound(self) -> outbound.Outbound:
        """What leaves the host while it is cut off."""
        return self._read("outbound", outbound.parse)
