"""Errors about missing models and packages, and the commands that install them."""

import shlex
import sys
from importlib.util import find_spec

from m2a.types.errors import UserError


class ModelUnavailableError(UserError):
    """A model in the settings is not available. The message names the value and the remedy."""


class PackageMissingError(UserError):
    """A model needs a package that is not installed. The message names the remedy."""


TRANSFORMERS = "torch==2.13.0 transformers"
VISION = "-e '.[vision]'"  # an extra of M2A itself, so the command must run in M2A's folder


def check_transformers(user: str) -> None:
    """Raises `PackageMissingError` unless torch and transformers are installed, which `user` needs."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise PackageMissingError(f"{user} needs torch and transformers: {install_command(TRANSFORMERS)}.")


def install_command(packages: str) -> str:
    """Returns the command that installs packages for the running Python, from any folder."""
    return f"{shlex.quote(sys.executable)} -m pip install {packages}"
