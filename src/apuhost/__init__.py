"""apuhost: a mini PC with an AMD APU as a local-LLM server, provisioned and proven.

Layers, each importing only downwards (tests/offline/test_architecture.py reads these lines)::

    cli > commands > bundle, judging, rehearsal > engines, evidence, redaction, reference, report
        > steps > verdicts > changes > derived > gather, saved_boot > host_facts, connection
        > round_trip, inventory, last_report, records > settings
        > sizing, kernels, known_bad, environment, hazards > oci, probes
        > debian, hardware, lockfile, locks, nearest, places, ranges, roles, signals, verdict_ids
        > pipes, web > errors
"""
