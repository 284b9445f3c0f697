"""Readers and writers of the data sets. Each is read into dialogues with questions (`dialogue.py`)."""

from collections.abc import Callable, Mapping
from pathlib import Path

from m2a.benchmarks.dialogue import Benchmark, BenchmarkError, Dialogue, DialoguePhoto, Question, Session, Turn
from m2a.benchmarks.locomo import read_locomo
from m2a.benchmarks.longmemeval import read_longmemeval
from m2a.benchmarks.memoryagentbench import read_memoryagentbench
from m2a.benchmarks.visual import read_visual

READERS: Mapping[str, Callable[[Path], Benchmark]] = {
    "locomo": read_locomo,
    "visual": read_visual,
    "longmemeval": read_longmemeval,
    "memoryagentbench": read_memoryagentbench,
}

__all__ = [
    "READERS",
    "Benchmark",
    "BenchmarkError",
    "Dialogue",
    "DialoguePhoto",
    "Question",
    "Session",
    "Turn",
    "read_locomo",
    "read_longmemeval",
    "read_memoryagentbench",
    "read_visual",
]
