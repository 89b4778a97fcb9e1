"""What several tests need: a host described in a few words, as its probes would print it."""
