"""Long texts among messages: `python -m tests.bench pasted`.

One conversation of LoCoMo is remembered turn by turn. Another is pasted into it as messages of up to 20,000 characters, as if its
user had pasted the protocols of a chat. Prints evidence recall@1, @3 and @10 of the questions about each, how many of the ten
records found are pasted texts, and the processor time of a search. The weights that ship have seen both conversations, but no
long record, so the figures compare ways to rank long records.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from m2a.benchmarks.dialogue import Dialogue, Turn
from m2a.benchmarks.locomo import read_locomo
from m2a.evaluation.rows import utterance
from m2a.evaluation.tune import NoPhotos
from m2a.systems.shared import SharedStores, Utterance
from m2a.types import Query
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.bench.visual import FUSIONS, LOCOMO, K

SPOKEN, PASTED = "conv-26", "conv-49"
LONGEST = 20_000
EVERY = 4  # sessions, after which a text is pasted


def pasted_texts(dialogue: Dialogue) -> Iterator[tuple[list[Turn], str]]:
    """Yields the turns of the dialogue in texts of up to LONGEST characters."""
    turns, text = list[Turn](), ""
    for turn in (turn for session in dialogue.sessions for turn in session.turns):
        line = f"{turn.speaker}: {utterance(turn).text}\n"
        if len(text) + len(line) > LONGEST:
            yield turns, text
            turns, text = [], ""
        turns.append(turn)
        text += line
    yield turns, text


def main(arguments: Sequence[str] = ()) -> None:
    dialogues = {dialogue.dialogue_id: dialogue for dialogue in read_locomo(LOCOMO).dialogues}
    spoken, pasted = dialogues[SPOKEN], dialogues[PASTED]
    text_encoder = load_text_encoder(MINILM, cache_dir())
    with tempfile.TemporaryDirectory() as folder:
        stores = SharedStores(Path(folder), lambda: text_encoder, NoPhotos)
        memory = stores.fresh_memory("pasted")
        memory.fusion = "best"
        ids: dict[tuple[str, str], int] = {}
        texts = list(pasted_texts(pasted))
        for number, session in enumerate(spoken.sessions, start=1):
            for message in memory.record([utterance(turn) for turn in session.turns]):
                ids[SPOKEN, message.reference or ""] = message.message_id
            if texts and number % EVERY == 0:
                turns, text = texts.pop(0)
                [message] = memory.record(
                    [Utterance("", "user", session.turns[0].speaker, text, session.turns[-1].said_at)]
                )
                ids |= {(PASTED, turn.reference): message.message_id for turn in turns}
        memory.index()
        long = {message_id for (dialogue_id, _), message_id in ids.items() if dialogue_id == PASTED}
        print(f"| fusion | questions about | n | recall@1 | @3 | @{K} | pasted texts among {K} | processor, ms |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for fusion in FUSIONS:
            search = stores.retrieval(fusion).retriever.search
            for name, dialogue in (("the turns", spoken), ("the pasted texts", pasted)):
                recalls, hits_of_long = list[list[float]](), list[int]()
                began = time.process_time()
                for question in dialogue.questions:
                    gold = {ids.get((dialogue.dialogue_id, reference), 0) for reference in question.evidence} - {0}
                    if question.answerable and gold:
                        hits = search(memory.owner, Query(question.text), ["message"], K, relevance_floor=False)
                        keys = [hit.key.record_id for hit in hits]
                        recalls.append([len(gold.intersection(keys[:k])) / len(gold) for k in (1, 3, K)])
                        hits_of_long.append(len(long.intersection(keys)))
                seconds = (time.process_time() - began) / len(recalls)
                means = " | ".join(f"{mean:.3f}" for mean in np.mean(recalls, axis=0))
                among = np.mean(hits_of_long)
                print(
                    f"| {fusion} | {name} | {len(recalls)} | {means} | {among:.2f} | {1000 * seconds:.0f} |", flush=True
                )
        stores.close()


if __name__ == "__main__":
    main()
