"""Short hashes that identify weights, so that vectors of different weights never mix."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.nn import Module

_HASH_LENGTH = 12


def files_hash(paths: Iterable[Path]) -> str:
    """Returns a hash of the files' bytes, in the given order, as twelve hex digits."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:_HASH_LENGTH]


def module_hash(module: "Module") -> str:
    """Returns a hash of the names and bytes of a torch module's tensors, as twelve hex digits."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:_HASH_LENGTH]
