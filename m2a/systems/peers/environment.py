"""The environments of peer systems: a virtual environment each, beside the repository's own, made by `make peers`."""

from pathlib import Path
from typing import Literal

from m2a.types.errors import UserError

PeerName = Literal["mem0", "a-mem"]

PEER_ENVIRONMENTS = Path(__file__).parents[3] / ".venv-peers"


class PeerMissingError(UserError):
    """The environment of a peer system is not there; the message says how to make it."""


def ensure(name: PeerName, environments: Path = PEER_ENVIRONMENTS) -> Path:
    """The python of the peer's environment. Raises `PeerMissingError` where the environment is not, or not wholly, made."""
    python = environments / name / "bin" / "python"
    if not python.exists() or not (environments / name / ".installed").exists():
        raise PeerMissingError(f"The environment of {name} is missing in {environments}; make it with `make peers`.")
    return python
