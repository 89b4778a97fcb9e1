"""A stand-in for Ollama's container image, for machines that reach no container hub.

A program of its own: only Python's standard library, nothing of apuhost. It speaks the parts of
Ollama's HTTP API, command line, log and model registry that a deploy and its checks meet, in the
forms of Ollama 0.34.4, and runs Debian's real llama-server on tiny generated models. What it
prints about speed means nothing: the GPU is Mesa's simulated one, which computes nothing.

Three programs::

    python3 standin serve|list|ps|show|pull|--version     Ollama (in the image: /bin/ollama)
    python3 standin model DIRECTORY                       writes the tiny models' store
    python3 standin/registry.py --listen … --store …      a model registry, also runnable alone
"""

VERSION = "0.34.4"
