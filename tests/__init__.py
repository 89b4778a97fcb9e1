"""Is our code right: offline, service and VM tiers."""
