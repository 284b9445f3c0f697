"""What a run keeps in its folder: settings, rows as they come, which memories are complete."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from m2a.evaluation.record import IngestionRecord, QuestionRecord, as_line, read_ingestion, read_questions

Settings = Mapping[str, Any]


class RunFolderError(ValueError):
    """The folder cannot take this run; the message says what differs and what to do."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """A complete memory: its owner, and the photos of its questions, by question and place in it."""

    owner: str
    photos: dict[str, str]


class RunFolder:
    """Rows are appended as they come, so that a run which is cut off goes on where it was.

    Opening raises `RunFolderError` where the folder holds a run of other settings.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._refuse_other(settings)
        write_json(path / "run.json", settings)
        # Of rows with the same key the last one counts.
        self.questions = {(row.system, row.question_id): row for row in read_questions(path / "questions.jsonl")}
        self.ingestion = {(row.system, row.dialogue_id): row for row in read_ingestion(path / "ingestion.jsonl")}
        self._memories = self.work / "memories.jsonl"
        self._taken_in = {(row["system"], row["dialogue_id"]): row for row in _lines(self._memories)}
        # A line that was cut off, and rows that were made again, go.
        self._rewrite_rows()
        _rewrite(self._memories, map(_line, self._taken_in.values()))

    @property
    def work(self) -> Path:
        """Stores and whatever else only the next start of the same run needs."""
        folder = self.path / "work"
        folder.mkdir(exist_ok=True)
        return folder

    def drop_failures(self) -> int:
        """Forget the rows of questions that failed, so that they are asked again; how many."""
        failed = [key for key, row in self.questions.items() if row.error is not None]
        for key in failed:
            del self.questions[key]
        for row in [key for key, row in self.ingestion.items() if row.error is not None]:
            del self.ingestion[row]
        self._rewrite_rows()
        return len(failed)

    def add_question(self, row: QuestionRecord) -> None:
        self.questions[row.system, row.question_id] = row
        _append(self.path / "questions.jsonl", as_line(row))

    def add_ingestion(self, row: IngestionRecord, memory: TakenIn | None) -> None:
        """`memory` is where it was taken in, None where that failed."""
        self.ingestion[row.system, row.dialogue_id] = row
        _append(self.path / "ingestion.jsonl", as_line(row))
        if memory is not None:
            mark = {"system": row.system, "dialogue_id": row.dialogue_id, **asdict(memory)}
            self._taken_in[row.system, row.dialogue_id] = mark
            _append(self._memories, _line(mark))

    def keep_photo(self, file: Path) -> str:
        """Copy a photo that the report shows into the folder, once; where it is, as seen from the folder."""
        kept = self.path / "photos" / f"{hashlib.sha256(file.read_bytes()).hexdigest()[:32]}{file.suffix}"
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            unfinished = kept.with_name(kept.name + ".part")
            shutil.copyfile(file, unfinished)
            os.replace(unfinished, kept)
        return f"photos/{kept.name}"

    def taken_in(self, system: str, dialogue_id: str) -> TakenIn | None:
        """The complete memory of the dialogue, None where there is none yet."""
        mark = self._taken_in.get((system, dialogue_id))
        return None if mark is None else TakenIn(mark["owner"], mark["photos"])

    def _rewrite_rows(self) -> None:
        _rewrite(self.path / "questions.jsonl", map(as_line, self.questions.values()))
        _rewrite(self.path / "ingestion.jsonl", map(as_line, self.ingestion.values()))

    def _refuse_other(self, settings: Settings) -> None:
        file = self.path / "run.json"
        if not file.exists():
            if any(self.path.iterdir()):
                raise RunFolderError(f"{self.path} holds other files; name a new folder with --out.")
            return
        earlier = read_json(file)
        name = next((name for name in {**earlier, **settings} if _plain(settings.get(name)) != earlier.get(name)), None)
        if name is not None:
            raise RunFolderError(
                f"{self.path} holds a run with another {name}: {_short(earlier.get(name))} there, "
                f"{_short(_plain(settings.get(name)))} now. Go on with the same settings, or name a new folder with --out."
            )


def read_json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{file} cannot be read: {error}.") from error
    if not isinstance(value, dict):
        raise RunFolderError(f"{file} is not an object.")
    return value


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    unfinished = file.with_name(file.name + ".part")
    unfinished.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    os.replace(unfinished, file)


def _lines(file: Path) -> list[dict[str, Any]]:
    """Every whole line; the last one may have been cut off."""
    if not file.exists():
        return []
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _append(file: Path, line: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(line)


def _rewrite(file: Path, lines: Iterable[str]) -> None:
    unfinished = file.with_name(file.name + ".part")
    with unfinished.open("w", encoding="utf-8") as opened:
        opened.writelines(lines)
    os.replace(unfinished, file)


def _plain(value: object) -> object:
    """As it reads back from JSON."""
    return json.loads(json.dumps(value))


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
