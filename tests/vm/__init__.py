"""The VM tier: one machine a run, judged through plain ssh, not through our own facts."""
