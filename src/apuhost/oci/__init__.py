"""Registries of images and models, asked over their HTTP API; what they give is kept byte by byte.

The API is the distribution specification's, https://github.com/opencontainers/distribution-spec.
"""

from apuhost.errors import ApuhostError


class RegistryError(ApuhostError):
    """A registry does not give what was asked for."""
