"""The answers of a paid run: each is on disk before it is used, and no stored answer is requested again.

Each answer is a file `<key>.json`. During a call there is a marker, `<key>.asked`. If a kill loses the answer, the next
call with that key counts as repeated, and the marker stays as its record.
"""

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from data_synthesis.costs import Costs
from data_synthesis.group import SynthesisError
from m2a.benchmarks.folders import write_whole


@dataclass(frozen=True, slots=True)
class Answer:
    """The raw answer of a model, and the tokens that the server counted; None if it does not count them."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None


def answer_key(*parts: object) -> str:
    """Returns the key of a call: a hash of everything that determines its answer (model, prompt, photos' hashes, attempt)."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class AnswerStore:
    """The answers in a folder, which is created if it is missing. `costs` include the answers that are already there."""

    def __init__(self, folder: Path, costs: Costs | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.costs = costs or Costs()
        self._folder = folder
        self._first = asyncio.Lock()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        for unfinished in folder.glob("*.part"):
            unfinished.unlink()
        for file in sorted(folder.glob("*.json")):
            answer = _read(file)
            self.costs.add(answer.input_tokens, answer.output_tokens)
            marker = file.with_suffix(".asked")
            if _times(marker) == 1:  # killed after the answer was stored, before the marker was removed
                marker.unlink()

    @property
    def repeated(self) -> int:
        """The number of calls that were repeated because a kill had lost the answer, in all processes of the run."""
        return sum(_times(marker) - 1 for marker in self._folder.glob("*.asked"))

    async def get_or_ask(self, key: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Returns the stored answer of the key, or that of `ask`, which is stored durably before it is returned.

        Raises BudgetReachedError before a call that the budget does not allow, and passes on what `ask` raises. In both cases
        nothing is stored.
        """
        async with self._locks[key]:
            file = self._folder / f"{key}.json"
            if file.exists():
                return _read(file)
            if self.costs.cost_is_unknown:
                async with self._first:
                    if self.costs.cost_is_unknown:
                        return await self._asked(file, ask)
            return await self._asked(file, ask)

    async def _asked(self, file: Path, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        marker = file.with_suffix(".asked")
        times = _times(marker)
        self.costs.begin()
        try:
            write_whole(marker, str(times + 1))
            try:
                answer = await ask()
            except Exception:  # a failed call has no answer to lose; a cancelled one does, and keeps its marker
                if times:
                    write_whole(marker, str(times))
                else:
                    marker.unlink()
                raise
            write_whole(file, json.dumps(asdict(answer), indent=1) + "\n")
            self.costs.add(answer.input_tokens, answer.output_tokens)
            if not times:
                marker.unlink()
            return answer
        finally:
            self.costs.end()


def _times(marker: Path) -> int:
    """Returns the number of times that the call was begun; 0 without a marker."""
    try:
        return int(marker.read_text(encoding="ascii"))
    except FileNotFoundError:
        return 0
    except ValueError as error:
        raise SynthesisError(f"{marker} is damaged; delete it.") from error


def _read(file: Path) -> Answer:
    try:
        return Answer(**json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise SynthesisError(f"The stored answer {file} is damaged; delete it, and it is requested again.") from error
