"""`preview.html`: a page for looking through a benchmark. It loads only the photos in its folder."""

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from data_synthesis.group import SynthesisError
from data_synthesis.preview_parts import escaped, index_entry, photo_sizes, sample_section
from m2a.benchmarks.folders import write_whole
from m2a.benchmarks.locomo import Sample

PREVIEW_FILE = "preview.html"
_PAGE = Path(__file__).parent / "preview_page"

# The credits for the photos of each concept set
_CREDITS = {
    "dreambooth": "Photos: DreamBooth data set (Ruiz et al., CVPR 2023), CC BY 4.0; in part from unsplash.com.",
    "yollava": "Photos: Yo’LLaVA data set (Nguyen et al., NeurIPS 2024).",
    "mc-llava": "Photos: MC-LLaVA data set (An et al., 2024).",
}
_HOST_CREDIT = "Conversations: LoCoMo (Maharana et al., ACL 2024), CC BY-NC 4.0."


def write_preview(folder: Path) -> None:
    """Write the page of a folder, all or nothing, from its `benchmark.json` and photos; `run.json` may add credits.

    Raises SynthesisError if the folder holds no benchmark.
    """
    samples = _read(folder / "benchmark.json")
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise SynthesisError(f"{folder / 'benchmark.json'} is not a list of conversations; make the folder again.")
    run = _read(folder / "run.json") if (folder / "run.json").exists() else {}
    write_whole(folder / PREVIEW_FILE, page(samples, folder, run))


def page(samples: list[Sample], folder: Path, run: Mapping[str, Any]) -> str:
    """The page as text. Every text of the benchmark is escaped."""
    sizes = photo_sizes(samples, folder)
    groups = sum(len(sample.get("groups", ())) for sample in samples)
    sections = [sample_section(number, sample, sizes) for number, sample in enumerate(samples, start=1)]
    about = (
        "Woven sessions are green and open, the other sessions are folded. Evidence links to its turn, "
        "and a turn to the questions that need it."
    )
    return Template((_PAGE / "page.html").read_text(encoding="utf-8")).substitute(
        title="M2A benchmark",
        heading=escaped(f"{_counted(len(samples), 'conversation')}, {_counted(groups, 'group')} of woven sessions"),
        about=escaped(about),
        credits="\n".join(f'<p class="credits">{escaped(line)}</p>' for line in _credits(samples, run)),
        css=(_PAGE / "page.css").read_text(encoding="utf-8").strip(),
        script=(_PAGE / "page.js").read_text(encoding="utf-8").strip(),
        index="\n".join(["<ul>", *(index_entry(n, sample) for n, sample in enumerate(samples, start=1)), "</ul>"]),
        samples="\n".join(sections),
    )


def _credits(samples: list[Sample], run: Mapping[str, Any]) -> list[str]:
    """The `credits` of `run.json`, otherwise those of the concept sets that are named in its settings or as sources."""
    own = run.get("credits")
    if own:
        return [own] if isinstance(own, str) else [str(line) for line in own]
    text = json.dumps([run.get("settings"), [q.get("source") for sample in samples for q in sample.get("qa", ())]])
    return [_HOST_CREDIT, *(credit for name, credit in _CREDITS.items() if name in text.lower())]


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SynthesisError(f"{file} cannot be read ({error}); make the folder again or name another one.") from error


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
