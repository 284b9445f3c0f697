"""Hashes of the data, the code and the prompts of a run, and package versions, for run.json."""

import hashlib
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from m2a.benchmarks.visual import FILE_NAME

_ROOT = Path(__file__).parents[2]
_PACKAGES = (
    "numpy",
    "onnxruntime",
    "torch",
    "transformers",
    "tokenizers",
    "sentence-transformers",
    "pillow",
    "milvus-lite",
    "pymilvus",
    "rank-bm25",
    "sqlalchemy",
    "pydantic-ai-slim",
    "genai-prices",
)
_CODE = (
    "m2a/types",
    "m2a/benchmarks",
    "m2a/memory",
    "m2a/agents",
    "m2a/systems",
    "m2a/evaluation",
    "m2a/settings.py",
    "m2a/wiring.py",
    "models",
)
_PROMPTS = ("m2a/agents/prompts", "m2a/systems/prompts", "models/prompts", "m2a/evaluation/prompts/long_answer.md")
_DATA = (".json", ".jsonl", ".parquet")


def hash_of_data(data: Path) -> str:
    """Returns the SHA-256 of a file, or that of the hashes of all data files in a folder, ordered by name."""
    if data.is_dir() and (data / FILE_NAME).is_file():
        data = data / FILE_NAME  # photos are named by their own hashes
    files = [data] if data.is_file() else sorted(file for file in data.rglob("*") if file.suffix in _DATA)
    hashes = [hashlib.sha256(file.read_bytes()) for file in files]
    if len(hashes) == 1:
        return hashes[0].hexdigest()
    return hashlib.sha256(b"".join(digest.digest() for digest in hashes)).hexdigest()


def hash_of_code(root: Path = _ROOT) -> str:
    """Returns a hash of all files that can change a figure, including prompts, weights and the evaluation itself."""
    return _hash(root, _CODE)


def hash_of_prompts(root: Path = _ROOT) -> str:
    """Returns a hash of the chat models' prompts, without those of the judges."""
    return _hash(root, _PROMPTS)


def versions() -> dict[str, str]:
    """Returns the versions of Python, of this package, and of installed packages that answers depend on."""
    installed = {"python": platform.python_version()}
    for package in ("m2a", *_PACKAGES):
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def _hash(root: Path, parts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        for file in sorted(_files(root / part)):
            digest.update(f"{file.relative_to(root).as_posix()}\n".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    """Yields the file, or all files of the folder without caches and hidden files."""
    if path.is_file():
        yield path
    for file in path.rglob("*"):
        parts = file.relative_to(path).parts
        if file.is_file() and "__pycache__" not in parts and not any(name.startswith(".") for name in parts):
            yield file
