"""Writes settings into `m2a.toml`, which may hold a key: nobody but its owner may read it."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from m2a.settings import Settings, SettingsError, settings_path


def file_of(settings: Settings) -> Path:
    """The file that the next start reads: the one that these settings were read from, else the data folder's."""
    in_force = settings_path(None)
    if "M2A_DATA_DIR" not in os.environ and in_force.is_file():
        with suppress(OSError, ValueError):
            named = tomllib.loads(in_force.read_text(encoding="utf-8")).get("data_dir")
            if Path(named or Settings.model_fields["data_dir"].default) == settings.data_dir:
                return in_force
    return settings.data_dir / "m2a.toml"


def write_settings(file: Path, values: Mapping[str, str | None]) -> None:
    """Set the values, None for none, and leave everything else in the file as it is, comments too.

    The file is replaced whole or not at all. Raises `SettingsError`.
    """
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        wanted = {**tomllib.loads(before), **{name: value for name, value in values.items() if value is not None}}
        wanted = {name: value for name, value in wanted.items() if values.get(name, value) is not None}
        lines = [line for line in before.splitlines() if not _sets(line, values)]
        lines += [f"{name} = {json.dumps(value)}" for name, value in values.items() if value is not None]
        text = "\n".join(lines) + "\n"
        if tomllib.loads(text) != wanted:
            raise ValueError("it has a form that I do not change by myself")
        _replace(file, text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"{file} could not be written: {reason}. Nothing was changed.") from error


def _sets(line: str, names: Mapping[str, object]) -> bool:
    found = re.match(r"\s*[\"']?([A-Za-z_]+)[\"']?\s*=", line)
    return found is not None and found[1] in names


def _replace(file: Path, text: str) -> None:
    new = file.with_name(f".{file.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()  # left by a process that was killed; it may be readable to others
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)
