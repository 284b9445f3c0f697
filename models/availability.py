"""What a part lacks on this machine, and the command that gets it."""

import shlex
import sys

from m2a.types.errors import UserError


class ModelUnavailableError(UserError):
    """A model of the settings cannot be had; the message names the value and the remedy."""


class PackageMissingError(UserError):
    """A model needs a package that is not installed; the message names the remedy."""


VISION = "-e '.[vision]'"  # a part of M2A's own installation: typed in its folder


def install_command(packages: str) -> str:
    """What installs the packages for the Python that runs this, in whatever folder it is typed."""
    return f"{shlex.quote(sys.executable)} -m pip install {packages}"
