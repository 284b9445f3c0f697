"""The virtual environments of the peers, one each, beside the repository's own. `make peers` makes them."""

from pathlib import Path
from typing import Literal

from m2a.types.errors import UserError

PeerName = Literal["mem0", "a-mem"]

PEER_ENVIRONMENTS = Path(__file__).parents[3] / ".venv-peers"


class PeerMissingError(UserError):
    """The environment of a peer is missing; the message says how to make it."""


def ensure(name: PeerName, environments: Path = PEER_ENVIRONMENTS) -> Path:
    """Returns the Python of the peer's environment. Raises `PeerMissingError` if the environment is missing or incomplete."""
    python = environments / name / "bin" / "python"
    if not python.exists() or not (environments / name / ".installed").exists():
        raise PeerMissingError(f"The environment of {name} is missing in {environments}; make it with `make peers`.")
    return python
