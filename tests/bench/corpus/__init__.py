"""What the rules without a model are learned from and measured on. One case a line; who reads a file says its form.

Everything here was written by people who had not seen the rules, and was opened: nothing here is a sealed set any more.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent

STORIES = _FOLDER / "stories.jsonl"
"""Sets of stories, one turn a line, each with its set, its split and the day on which it was opened. Sets of the `test` split
are played by the tests and never learned from."""

INTEGRITY = _FOLDER / "integrity.txt"
"""What a memory must not lose, what it has to answer, and texts that attack it. Played by the tests, and learned from."""

LEARNED_CASES = _FOLDER / "learned.txt"
"""More cases in the form of `INTEGRITY`, of which tests play none."""

PAIRS = _FOLDER / "pairs.jsonl"
"""A few memories a line, and questions with the places of the memories that answer them."""

SHORT = _FOLDER / "short.json"
"""Messages of a few words, by what they do: tell, ask or chat."""

RESTATED = _FOLDER / "restated.txt"
"""Relations of MQuAKE in the words of several writers."""
