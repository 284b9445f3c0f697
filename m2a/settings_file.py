"""Writes settings into `m2a.toml`. The file may contain a key, so only its owner may read it."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from m2a.settings import Settings, SettingsError, settings_path


def file_of(settings: Settings) -> Path:
    """Returns the file that the next start reads: the one that these settings came from, else the data folder's."""
    current = settings_path(None)
    if "M2A_DATA_DIR" not in os.environ and current.is_file():
        with suppress(OSError, ValueError):
            data_dir = tomllib.loads(current.read_text(encoding="utf-8")).get("data_dir")
            if Path(data_dir or Settings.model_fields["data_dir"].default) == settings.data_dir:
                return current
    return settings.data_dir / "m2a.toml"


def write_settings(file: Path, values: Mapping[str, str | None]) -> None:
    """Sets the values and removes those that are None; everything else in the file stays, including comments.

    The file is replaced as a whole or not at all. Raises `SettingsError`.
    """
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        expected = {name: value for name, value in {**tomllib.loads(before), **values}.items() if value is not None}
        lines = [line for line in before.splitlines() if not _sets(line, values)]
        lines += [f"{name} = {json.dumps(value)}" for name, value in values.items() if value is not None]
        text = "\n".join(lines) + "\n"
        if tomllib.loads(text) != expected:
            raise ValueError("M2A cannot edit a file of this form, so please edit it by hand")
        _replace(file, text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"{file} could not be written: {reason}. Nothing was changed.") from error


def _sets(line: str, names: Mapping[str, object]) -> bool:
    match = re.match(r"\s*[\"']?([A-Za-z_]+)[\"']?\s*=", line)
    return match is not None and match[1] in names


def _replace(file: Path, text: str) -> None:
    new = file.with_name(f".{file.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()  # left by a process that was killed, and maybe readable to others
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)
