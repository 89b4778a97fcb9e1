"""The mirror role: one question, one check."""
