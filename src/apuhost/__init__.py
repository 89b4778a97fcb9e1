"""apuhost: a mini PC with an AMD APU as a local-LLM server, provisioned and proven.

Layers, each importing only downwards (tests/offline/test_architecture.py reads the imports)::

    cli > bundle, bench, rehearsal > engines, report > verdicts, changes
        > host_facts, inventory > settings > sizing > probes, hardware, roles, oci > errors
"""
