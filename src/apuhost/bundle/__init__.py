"""The air gap: everything that a site needs in one signed folder, locked, built and checked."""
