"""The README tells the truth: its settings are the settings, its Python runs, its commands exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

from m2a.settings import Settings
from tests.commands import quick
from tests.drawings import draw_dog

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    *(
        page
        for folder in ("data_synthesis", "m2a", "models", "tests")
        for page in sorted((ROOT / folder).rglob("*.md"))
        if "prompts" not in page.parts and page.name != "dataset_card.md"
    ),
]


def settings_table() -> list[str]:
    """Returns the table of settings; `python -m tests.test_readme` prints it."""
    rows = ["| setting | default | what it is |", "| --- | --- | --- |"]
    defaults = Settings.model_construct()
    for name, field in Settings.model_fields.items():
        value = getattr(defaults, name)
        default = "" if value is None else f"`{value}`"
        rows.append(f"| `{name}` | {default} | {field.description} |")
    return rows


def test_the_settings_table_is_that_of_the_settings():
    assert "\n".join(settings_table()) in README


def test_the_python_example_runs(tmp_path):
    [example] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    draw_dog(tmp_path / "bobo.jpg", 0)
    environment = os.environ | {"M2A_DATA_DIR": str(tmp_path / "data")}
    result = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert "Bobo" in result.stdout


def test_the_commands_that_it_and_its_pages_name_exist(tmp_path):
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for command in set(re.findall(r"^m2a ([a-z]+(?: [a-z]+)?)", text, re.MULTILINE)):
        words = command.split() if command.startswith("memory") else command.split()[:1]
        assert quick(tmp_path, *words, "--help").code == 0, command


def test_every_link_within_the_repository_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), (
                f"{page.relative_to(ROOT)}: {target}"
            )


if __name__ == "__main__":
    print("\n".join(settings_table()))
