"""Gradio as M2A imports it: without the files for editors, whose writing takes as long as all the rest."""

from importlib import import_module
from pathlib import Path

import pytest


def test_no_file_is_written_beside_a_component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_component.py").write_text("from gradio.components import HTML\n\n\nclass Own(HTML):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = import_module("own_component")
    assert own.Own(value="<p>Still a component</p>").value
    assert not list(tmp_path.glob("*.pyi"))
