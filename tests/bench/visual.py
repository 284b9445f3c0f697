"""Questions about photos among what people said: `python -m tests.bench visual`.

The set of `python -m data_synthesis --groups 2 --seed N` over LoCoMo with DreamBooth's photos, or the folder that `--data` names.
Each conversation is a memory of its raw turns. Prints evidence recall@10 by category, of the ranking that ships and of the
published fusion, and that of LoCoMo's own questions in the same memories. The weights that ship have seen LoCoMo's own turns
and questions, but neither the woven sessions nor the questions about them.

The cost of finding more: each conversation without the woven sessions is asked the questions of the other conversations of its
half, and should find nothing (`floor` says how the halves are used).
"""

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from m2a.benchmarks.dialogue import Dialogue
from m2a.benchmarks.locomo import read_locomo
from m2a.benchmarks.visual import VISUAL_CENTRIC, read_visual
from m2a.evaluation.rows import utterance
from m2a.systems.shared import Fusion, Memory, SharedStores
from m2a.types import Query
from m2a.wiring import cache_dir
from models.image_encoder import EFFICIENTNET
from models.load import load_image_encoder, load_text_encoder
from models.text_encoder import MINILM
from tests.bench.floor import FIRST_HALF

SHARED = Path(__file__).parents[3] / "shared" / "data"
LOCOMO, DREAMBOOTH = SHARED / "locomo" / "locomo_dev6.json", SHARED / "dreambooth"
FUSIONS: tuple[Fusion, ...] = ("best", "paper")
K = 10


def make_set(folder: Path, seed: int) -> None:
    sources = ["--locomo", str(LOCOMO), "--concepts", str(DREAMBOOTH), "--out", str(folder)]
    options = ["--groups", "2", "--seed", str(seed)]
    subprocess.run([sys.executable, "-m", "data_synthesis", *sources, *options], check=True)


def remember(stores: SharedStores, dialogue: Dialogue) -> tuple[Memory, dict[str, int]]:
    """Returns a memory of the dialogue's turns, and the message id of each reference."""
    memory = stores.fresh_memory(dialogue.dialogue_id)
    memory.fusion = "best"
    ids: dict[str, int] = {}
    for session in dialogue.sessions:
        if session.turns:
            messages = memory.record([utterance(turn) for turn in session.turns])
            ids |= {message.reference or "": message.message_id for message in messages}
    memory.index()
    return memory, ids


def recalls(stores: SharedStores, dialogue: Dialogue) -> Iterator[tuple[str, Fusion, float]]:
    """Yields category, fusion and evidence recall for each question that names its evidence, and each fusion."""
    memory, ids = remember(stores, dialogue)
    for question in dialogue.questions:
        if not question.answerable or not question.evidence:
            continue
        gold = {ids[reference] for reference in question.evidence}
        photos = tuple(memory.add_photos(question.photos).values())
        for fusion in FUSIONS:
            hits = stores.retrieval(fusion).retriever.search(
                memory.owner, Query(question.text, photos), ["message"], K, relevance_floor=fusion == "best"
            )
            category = question.category if question.category in VISUAL_CENTRIC else "LoCoMo's own"
            yield category, fusion, len(gold.intersection(hit.key.record_id for hit in hits)) / len(gold)
    memory.remove_from_index()


def refused(stores: SharedStores, dialogue: Dialogue, strangers: Sequence[Dialogue]) -> list[bool]:
    """Returns for each question of the other dialogues whether nothing is found."""
    memory, _ = remember(stores, dialogue)
    search = stores.retrieval("best").retriever.search
    texts = [q.text for other in strangers for q in other.questions if q.answerable and q.evidence]
    nothing = [not search(memory.owner, Query(text), ["message"], 1) for text in texts]
    memory.remove_from_index()
    return nothing


def measure(data: Path, folder: Path) -> None:
    text_encoder = load_text_encoder(MINILM, cache_dir())
    image_encoder = load_image_encoder(EFFICIENTNET, text_encoder, cache_dir())
    stores = SharedStores(folder, lambda: text_encoder, lambda: image_encoder)
    by_category: dict[str, dict[Fusion, list[float]]] = defaultdict(lambda: defaultdict(list))
    for dialogue in read_visual(data).dialogues:
        for category, fusion, recall in recalls(stores, dialogue):
            by_category[category][fusion].append(recall)
            if category in VISUAL_CENTRIC:
                by_category["all about photos"][fusion].append(recall)
    print(f"| recall@{K} | questions | best | paper |\n| --- | --- | --- | --- |")
    for category in sorted(by_category, key=lambda name: (name not in VISUAL_CENTRIC, name)):
        cells = [f"{np.mean(by_category[category][fusion]):.3f}" for fusion in FUSIONS]
        print(f"| {category} | {len(by_category[category]['best'])} | {' | '.join(cells)} |", flush=True)
    dialogues = read_locomo(LOCOMO).dialogues
    for is_first in (True, False):
        half = [dialogue for dialogue in dialogues if (dialogue.dialogue_id in FIRST_HALF) == is_first]
        nothing = [
            refusal
            for dialogue in half
            for refusal in refused(stores, dialogue, [other for other in half if other is not dialogue])
        ]
        names = ", ".join(dialogue.dialogue_id for dialogue in half)
        print(f"Strangers' questions refused, {names}: {np.mean(nothing):.1%} of {len(nothing)}", flush=True)
    stores.close()


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench visual")
    parser.add_argument("--data", type=Path, help="a folder that data_synthesis made from the same conversations")
    parser.add_argument("--seed", type=int, default=1, help="of the set that is made where no folder is named")
    options = parser.parse_args(list(arguments))
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or Path(folder) / "set"
        if options.data is None:
            make_set(data, options.seed)
        measure(data, Path(folder) / "stores")


if __name__ == "__main__":
    main()
