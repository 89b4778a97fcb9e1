"""The mirror role on a host: before everything that a deploy installs, and its last word."""

from apuhost.changes import supply
from apuhost.steps.files import files

# What takes from it; what serves stands in `serving`.
STEPS = (files("the mirror's clients", supply.files),)

# Which bundle this host has, when it has all of it.
REMEMBERING = (files("the bundle's serial", supply.newest),)
