"""Names of models: in full, in Ollama's short form, as a path (types/model/name.go)."""

REGISTRY = "registry.ollama.ai"
NAMESPACE = "library"
TAG = "latest"


def full_name(name: str) -> str:
    """Return HOST/NAMESPACE/MODEL:TAG with what the name leaves out filled in.

    Ollama compares names without regard to case; here they keep theirs.
    """
    path, _, model = name.rpartition("/")
    model, _, tag = model.partition(":")
    host, _, namespace = path.rpartition("/")
    return f"{host or REGISTRY}/{namespace or NAMESPACE}/{model}:{tag or TAG}"


def short_name(name: str) -> str:
    """Return the name as Ollama shows it: without its own registry and its `library`."""
    full = full_name(name)
    return full.removeprefix(f"{REGISTRY}/{NAMESPACE}/").removeprefix(f"{REGISTRY}/")


def manifest_path(name: str) -> str:
    """Return the path of a name's manifest below the folder of manifests."""
    path, _, tag = full_name(name).rpartition(":")
    return f"{path}/{tag}"


def name_at(path: str) -> str:
    """Return the short name of the manifest at a path that ends in HOST/NAMESPACE/MODEL/TAG."""
    host, namespace, model, tag = path.split("/")[-4:]
    return short_name(f"{host}/{namespace}/{model}:{tag}")
