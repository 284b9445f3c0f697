"""What a run was made of: data, code and packages, as run.json records them."""

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from m2a.benchmarks.visual import FILE_NAME

_PACKAGES = ("numpy", "onnxruntime", "milvus-lite", "pymilvus", "rank-bm25", "sqlalchemy", "pydantic-ai-slim")
_CODE = ("m2a/types", "m2a/benchmarks", "m2a/memory", "m2a/agents", "m2a/systems", "models")
_CODE_SUFFIXES = (".py", ".md", ".txt", ".json", ".lock")


def hash_of_data(data: Path) -> str:
    """SHA-256 of the file; of a folder with several, over the hashes of its JSON files by name."""
    if data.is_dir() and (data / FILE_NAME).is_file():
        data = data / FILE_NAME  # its photos are named by their own hashes
    return _hash([data] if data.is_file() else sorted(data.glob("*.json")))


def hash_of_code() -> str:
    """Over all files that can change an answer, prompts and weights among them."""
    root = Path(__file__).parents[2]
    return _hash([file for part in _CODE for file in sorted((root / part).rglob("*")) if file.suffix in _CODE_SUFFIXES])


def versions() -> dict[str, str]:
    """Of Python, of this package, and of those that answers depend on, as far as they are installed."""
    found = {"python": platform.python_version()}
    for package in ("m2a", *_PACKAGES):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _hash(files: Sequence[Path]) -> str:
    if len(files) == 1:
        return hashlib.sha256(files[0].read_bytes()).hexdigest()
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
