"""Tiny images, brought into a real registry by raw bytes, so that each keeps its digest."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import httpx

from apuhost.oci.manifests import DOCKER_MANIFEST, OCI_MANIFEST

CONFIGS = {
    OCI_MANIFEST: "application/vnd.oci.image.config.v1+json",
    DOCKER_MANIFEST: "application/vnd.docker.container.image.v1+json",
}
LAYERS = {
    OCI_MANIFEST: "application/vnd.oci.image.layer.v1.tar",
    DOCKER_MANIFEST: "application/vnd.docker.image.rootfs.diff.tar.gzip",
}


class Pusher:
    """Pushes into one repository of a registry; a base URL ends in /v2/REPOSITORY/."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def blob(self, content: bytes, media_type: str) -> dict[str, Any]:
        """Upload it; its descriptor."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        begun = self._client.post("blobs/uploads/").raise_for_status()
        place = httpx.URL(begun.headers["Location"]).copy_merge_params({"digest": digest})
        self._client.put(place, content=content).raise_for_status()
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def manifest(self, content: Mapping[str, Any], tag: str = "") -> dict[str, Any]:
        """Upload it, under a tag if there is one; its descriptor."""
        text, media_type = json.dumps(content).encode(), str(content["mediaType"])
        digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
        url, header = f"manifests/{tag or digest}", {"Content-Type": media_type}
        self._client.put(url, content=text, headers=header).raise_for_status()
        return {"mediaType": media_type, "digest": digest, "size": len(text)}

    def image(self, architecture: str, layer: bytes, media_type: str) -> dict[str, Any]:
        """Upload an image of one layer, that no engine would unpack; its entry in an index."""
        platform = {"os": "linux", "architecture": architecture}
        # A configuration must have this member for skopeo, not more.
        config = {**platform, "config": {}, "rootfs": {"type": "layers", "diff_ids": []}}
        content = {
            "schemaVersion": 2,
            "mediaType": media_type,
            "config": self.blob(json.dumps(config).encode(), CONFIGS[media_type]),
            "layers": [self.blob(layer, LAYERS[media_type])],
        }
        return {**self.manifest(content), "platform": platform}

    def index(self, media_type: str, *entries: dict[str, Any], tag: str = "") -> str:
        """Upload an index; its digest."""
        content = {"schemaVersion": 2, "mediaType": media_type, "manifests": entries}
        return str(self.manifest(content, tag)["digest"])
