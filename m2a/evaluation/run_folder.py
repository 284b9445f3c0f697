"""The folder of a run: its settings, its rows, and a list of the memories that are complete."""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from m2a.benchmarks.folders import lock_folder, read_object, write_json, write_whole
from m2a.evaluation.record import (
    FailedAttempt,
    IngestedMemory,
    IngestionRecord,
    QuestionRecord,
    as_line,
    failed_attempt,
    read_rows,
)
from m2a.types.errors import UserError

Settings = Mapping[str, Any]

# A run may continue with other code, since most changes of the code change no answer.
CODE, EARLIER_CODE = "code_sha256", "earlier_code_sha256"

SETTINGS_BY_SYSTEM = ("system_settings", "learned_from")

FIGURES = ("summary.json", "facts.json", "report.html", "report.md")


class RunFolderError(UserError):
    """The folder cannot be used for this run; the message says why and what to do."""


class RunFolder:
    """Appends rows as they come, so that an interrupted run can be continued.

    Opening raises `RunFolderError` if the folder holds a run with other settings, or if another process uses it. Until `close`,
    other processes are kept out. If the code has changed since, opening says so on standard error.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self._lock: int | None = lock_folder(path, "Another `m2a evaluate` uses", RunFolderError)
        try:
            self._load(settings)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets other processes use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _load(self, settings: Settings) -> None:
        path = self.path
        earlier = self._earlier_settings(settings)
        codes = [*earlier.get(EARLIER_CODE, []), *([earlier[CODE]] if CODE in earlier else [])]
        codes = [code for code in dict.fromkeys(codes) if code != settings.get(CODE)]
        write_json(path / "run.json", {**settings, **({EARLIER_CODE: codes} if codes else {})})
        if earlier.get(CODE) not in (None, settings.get(CODE)):
            print(f"M2A has changed since the run in {path} started; its earlier rows are kept.", file=sys.stderr)
        # If several rows have the same key, the last one counts.
        self.questions = {
            (row.system, row.question_id): row for row in read_rows(path / "questions.jsonl", QuestionRecord)
        }
        self.ingestion = {
            (row.system, row.dialogue_id): row for row in read_rows(path / "ingestion.jsonl", IngestionRecord)
        }
        self._memories = self.work / "memories.jsonl"
        self._ingested = {(row.system, row.dialogue_id): row for row in read_rows(self._memories, IngestedMemory)}
        # Removes a line that was cut off, and rows that were replaced later.
        self._rewrite_rows()
        failed = read_rows(path / "failed_attempts.jsonl", FailedAttempt)
        write_whole(path / "failed_attempts.jsonl", "".join(map(as_line, failed)))
        write_whole(self._memories, "".join(map(as_line, self._ingested.values())))

    @property
    def work(self) -> Path:
        """The folder of the stores, which only this run needs."""
        folder = self.path / "work"
        folder.mkdir(exist_ok=True)
        return folder

    def drop_failures(self) -> int:
        """Removes the rows of failed questions, so that they are asked again. Keeps their cost. Returns their number."""
        failed_questions = [row for row in self.questions.values() if row.error is not None]
        failed_ingestion = [row for row in self.ingestion.values() if row.error is not None]
        if not failed_questions and not failed_ingestion:
            return 0
        self.drop_figures()
        for row in failed_ingestion:
            self._keep_cost(row)
            del self.ingestion[row.system, row.dialogue_id]
        self.drop_questions((row.system, row.question_id) for row in failed_questions)
        return len(failed_questions)

    def drop_questions(self, questions: Iterable[tuple[str, str]]) -> None:
        """Removes rows of failed questions, given by system and question. Keeps their cost."""
        for key in questions:
            row = self.questions.pop(key, None)
            if row is not None:
                self._keep_cost(row)
        self._rewrite_rows()

    def add_question(self, row: QuestionRecord) -> None:
        self.drop_figures()
        self.questions[row.system, row.question_id] = row
        _append(self.path / "questions.jsonl", as_line(row))

    def add_ingestion(self, row: IngestionRecord, memory: IngestedMemory | None) -> None:
        """Adds a row. `memory` is the memory that took the dialogue in, or None if that failed."""
        self.ingestion[row.system, row.dialogue_id] = row
        _append(self.path / "ingestion.jsonl", as_line(row))
        if memory is not None:
            self._ingested[row.system, row.dialogue_id] = memory
            _append(self._memories, as_line(memory))

    def keep_photo(self, file: Path) -> str:
        """Copies a photo for the report into the folder, once. Returns its path within the folder."""
        photo = file.read_bytes()
        kept = self.path / "photos" / f"{hashlib.sha256(photo).hexdigest()[:32]}{file.suffix}"
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            write_whole(kept, photo)
        return f"photos/{kept.name}"

    def ingested_memory(self, system: str, dialogue_id: str) -> IngestedMemory | None:
        """Returns the complete memory of the dialogue, or None if there is none yet."""
        return self._ingested.get((system, dialogue_id))

    def drop_figures(self) -> None:
        """Deletes figures that were computed from fewer or other rows."""
        for name in FIGURES:
            (self.path / name).unlink(missing_ok=True)

    def _keep_cost(self, row: QuestionRecord | IngestionRecord) -> None:
        _append(self.path / "failed_attempts.jsonl", as_line(failed_attempt(row)))

    def _rewrite_rows(self) -> None:
        write_whole(self.path / "questions.jsonl", "".join(map(as_line, self.questions.values())))
        write_whole(self.path / "ingestion.jsonl", "".join(map(as_line, self.ingestion.values())))

    def _earlier_settings(self, settings: Settings) -> dict[str, Any]:
        """Returns the settings of the run in the folder, which are empty for a new folder. Raises `RunFolderError`."""
        file = self.path / "run.json"
        if not file.exists():
            if any(self.path.iterdir()):
                raise RunFolderError(f"{self.path} holds other files; name a new folder with --out.")
            return {}
        earlier = read_object(file, RunFolderError, "the run cannot be continued, so name a new folder with --out")
        if "format" in earlier:
            raise RunFolderError(f"{self.path} is a data set made by data_synthesis; name a new folder with --out.")
        current = _without_added(json.loads(json.dumps(settings)), earlier)
        names = [name for name in {**earlier, **current} if name not in (CODE, EARLIER_CODE)]
        name = next((name for name in names if current.get(name) != earlier.get(name)), None)
        if name is not None:
            old_value, new_value = _differing(earlier.get(name), current.get(name))
            raise RunFolderError(
                f"{self.path} holds a run with another {name}: {_short(old_value)} there, "
                f"{_short(new_value)} now. Use the same settings (systems may be added), or name a new folder with --out."
            )
        return earlier


def _without_added(current: dict[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the current settings without the systems that were added since the earlier ones, if none was removed."""
    systems, before = current.get("systems"), earlier.get("systems")
    if not isinstance(systems, list) or not isinstance(before, list) or not set(before) < set(systems):
        return current
    by_system = {key: current[key] for key in SETTINGS_BY_SYSTEM if isinstance(current.get(key), dict)}
    kept = {key: {name: value[name] for name in before if name in value} for key, value in by_system.items()}
    return {**current, **kept, "systems": before}


def answered_questions(path: Path) -> set[tuple[str, str]]:
    """Returns system and question id of each answer in a run's folder, which need not be open."""
    return {
        (row.system, row.question_id)
        for row in read_rows(path / "questions.jsonl", QuestionRecord)
        if row.error is None
    }


def _append(file: Path, line: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(line)


def _differing(earlier: object, current: object) -> tuple[object, object]:
    """Returns the two values, or only the parts that differ if both are objects."""
    if not isinstance(earlier, dict) or not isinstance(current, dict):
        return earlier, current
    names = [name for name in {**earlier, **current} if earlier.get(name) != current.get(name)]
    return {name: earlier.get(name) for name in names}, {name: current.get(name) for name in names}


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
