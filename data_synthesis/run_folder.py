"""The output folder of a run: for one process at a time, resumed only with equal settings, its files written atomically."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from data_synthesis.group import SynthesisError
from data_synthesis.sources import photo_format
from m2a.benchmarks.folders import lock_folder, read_object, write_json, write_whole

RUN_FILE, ID_MAP_FILE = "run.json", "id_map.json"
ANSWERS, PHOTOS = "answers", "photos"
FORMAT = "m2a-synthesis/1"


class RunFolder:
    """`run.json` is the first file and the last to be written: until then it says that the run is not finished."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings: Mapping[str, Any] = {}
        self._names: dict[Path, str] = {}

    @property
    def answers(self) -> Path:
        return self.path / ANSWERS

    @contextmanager
    def opened(self, settings: Mapping[str, Any]) -> Iterator[None]:
        """Creates the folder, or resumes the run in it, and locks it for other processes.

        Raises SynthesisError if a setting differs, and for a folder that holds something else.
        """
        handle = lock_folder(self.path, "Another synthesis is writing to", SynthesisError)
        self.settings = settings
        try:
            before = self._stored_settings()
            if before is not None:
                _check_same(before, json.loads(json.dumps(settings)), self.path)
            for unfinished in (*self.path.glob("*.part"), *self.path.glob(f"{PHOTOS}/*.part")):
                unfinished.unlink()
            if before is None:
                self.write_json(RUN_FILE, {"format": FORMAT, "finished": False, "settings": settings})
            yield
        finally:
            os.close(handle)

    def write_json(self, name: str, content: object) -> None:
        write_json(self.path / name, content)

    def write(self, name: str, text: str) -> None:
        """Writes a file of the folder, all or nothing."""
        write_whole(self.path / name, text)

    def photo_name(self, source: Path) -> str:
        """Returns the relative path of the copy of this photo, named by the hash of its bytes; it is copied if it is missing."""
        if source not in self._names:
            self._names[source] = kept_name(source)
            kept = self.path / self._names[source]
            if not kept.exists():
                kept.parent.mkdir(exist_ok=True)
                write_whole(kept, source.read_bytes())
        return self._names[source]

    def _stored_settings(self) -> dict[str, Any] | None:
        file = self.path / RUN_FILE
        if not file.exists():
            if any(not entry.name.endswith(".part") for entry in self.path.iterdir()):
                raise SynthesisError(f"{self.path} is not empty and holds no {RUN_FILE}; name a new folder with --out.")
            return None
        remedy = "the run cannot be resumed, so name a new folder with --out"
        run = read_object(file, SynthesisError, remedy)
        if "settings" not in run:
            raise SynthesisError(
                f"{self.path} holds something other than a data set of this program; name a new folder with --out."
            )
        if not isinstance(run["settings"], dict):
            raise SynthesisError(f"{file} is damaged (its settings are not an object): {remedy}.")
        return run["settings"]


def kept_name(photo: Path) -> str:
    """Returns the relative path of a photo in a folder, by its bytes. Raises SynthesisError if the file is not a photo."""
    form = photo_format(photo)
    return f"{PHOTOS}/{hashlib.sha256(photo.read_bytes()).hexdigest()}.{form}"


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any], path: Path) -> None:
    for name in (*now, *(name for name in before if name not in now)):
        if before.get(name) != now.get(name):
            raise SynthesisError(
                f"{path} holds a run with another {name}: {_short(before.get(name))} then, {_short(now.get(name))} now. "
                "Give the same setting to resume it, or name a new folder with --out."
            )


def _short(value: object) -> str:
    """Returns the value in a short form; of files and hashes only the start."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {str(entry)[:12]}" for key, entry in list(value.items())[:3]) + "}"
    return repr(value)
