"""The rules without a model on dialogues of two people: `python -m tests.bench dialogue [--held-out] [--sessions N] [--verbose]`.

What they keep of LoCoMo's conversations, and what they answer. Three of the six conversations are there to build on; the other
three are held out, and looked at when a change is done. Nobody asks to have anything forgotten in them, so that whatever is
forgotten is a mistake, and of the corrections most are.
"""

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import select

from m2a.benchmarks.dialogue import Dialogue, Question
from m2a.benchmarks.locomo import read_locomo
from m2a.benchmarks.progress import Progress
from m2a.evaluation.answer_metrics import accepted_match, declines
from m2a.evaluation.rows import utterance, words_of
from m2a.evaluation.tune import NoPhotos
from m2a.memory.schema import entry, entry_history
from m2a.systems import registry
from m2a.systems.shared import Parts, SharedStores
from m2a.systems.system import MemorySystem, Meter
from m2a.systems.system import Question as Asked
from m2a.wiring import cache_dir, offline_rules
from models.load import load_text_encoder
from models.text_encoder import MINILM, TokenEncoder
from tests.dialogues import NamingCaptioner

DATA = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "locomo_dev6.json"
BUILT_ON = 3
_QUOTED = re.compile(r'"([^"]{3,})"')


@dataclass(frozen=True, slots=True)
class Replied:
    """A question with its reply, the messages that the reply quotes, in order, and the words of its gold evidence.

    `found_first` are the messages of what the search alone finds first.
    """

    question: Question
    reply: str
    quoted: Sequence[frozenset[str]]
    evidence_words: str
    found_first: frozenset[str]


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one conversation."""

    name: str
    messages: int
    seconds: float
    cpu_seconds: float
    entries: int
    changes: Mapping[str, int]
    corrections: Sequence[str]
    asked: Sequence[Replied]


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench dialogue", description=__doc__)
    parser.add_argument("--held-out", action="store_true", help="the conversations that nothing was built on")
    parser.add_argument("--sessions", type=int, help="of each conversation, the first")
    parser.add_argument("--only", help="one conversation, by its id")
    parser.add_argument("--verbose", action="store_true", help="print corrections, and each reply that went wrong")
    options = parser.parse_args(list(arguments))
    dialogues = read_locomo(DATA).dialogues
    dialogues = dialogues[BUILT_ON:] if options.held_out else dialogues[:BUILT_ON]
    dialogues = tuple(one for one in dialogues if options.only in (None, one.dialogue_id))
    encoder = load_text_encoder(MINILM, cache_dir())
    heard = [asyncio.run(hear(one, encoder, options.sessions)) for one in dialogues]
    print("\n".join(table(heard)))
    if options.verbose:
        print("\n".join(line for one in heard for line in faults(one)))
    return 0


async def hear(dialogue: Dialogue, encoder: TokenEncoder, sessions: int | None = None) -> Heard:
    """Take a conversation in, and ask the questions whose evidence is in what was taken in."""
    said = [session for session in dialogue.sessions if session.turns][:sessions]
    turns = {turn.reference: turn for session in said for turn in session.turns}
    questions = [one for one in dialogue.questions if one.evidence and turns.keys() >= set(one.evidence)]
    progress = Progress(len(turns) + len(questions))
    with tempfile.TemporaryDirectory() as folder:
        stores = SharedStores(Path(folder), lambda: encoder, NoPhotos)
        parts = Parts(stores, None, False, lambda _: NamingCaptioner(), offline_rules, 1)
        parts.rules()
        memory = stores.fresh_memory("m2a")
        system = await registry.open_system("m2a", memory, parts)
        written = [memory.record([utterance(turn) for turn in session.turns]) for session in said]
        references = {message.message_id: message.reference for messages in written for message in messages}
        began, cpu_began = time.perf_counter(), time.process_time()
        for messages in written:
            await system.observe(messages)
            progress.step(f"{dialogue.dialogue_id} is taken in", len(messages))
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        asked = []
        for question in questions:
            asked_at = written[-1][-1].said_at
            reply = await _ask(system, question, asked_at)
            first = await system.retrieve(_asked(question, asked_at), 1)
            quoted = [
                frozenset(reference for reference, turn in turns.items() if _plain(words) in _plain(words_of(turn)))
                for words in _QUOTED.findall(reply)
            ]
            evidence = " ".join(words_of(turns[reference]) for reference in question.evidence)
            asked.append(Replied(question, reply, quoted, evidence, frozenset(references[one] for one in first or ())))
            progress.step(f"{dialogue.dialogue_id} is asked of")
        with stores.database.snapshot() as connection:
            texts = {row.memory_id: row for row in connection.execute(select(entry))}
            changes = Counter(connection.scalars(select(entry_history.c.change)))
        stores.close()
    progress.close()
    corrections = [f"{row.text} <- {texts[row.corrects].text}" for row in texts.values() if row.corrects is not None]
    entries = [row for row in texts.values() if row.alive]
    return Heard(dialogue.dialogue_id, len(turns), seconds, cpu_seconds, len(entries), changes, corrections, asked)


async def _ask(system: MemorySystem, question: Question, asked_at: datetime) -> str:
    return (await system.answer(_asked(question, asked_at), Meter())).text


def _asked(question: Question, asked_at: datetime) -> Asked:
    return Asked(question.text, question.asked_at or asked_at, (), question.instructions)


def table(heard: Sequence[Heard]) -> list[str]:
    """A column for each conversation, and one for all."""
    columns = [figures([one]) for one in heard] + [figures(heard)]
    names = [one.name for one in heard] + ["all"]
    lines = [f"{'':<44}" + "".join(f"{name:>12}" for name in names)]
    return lines + [f"{row:<44}" + "".join(f"{column[row]:>12}" for column in columns) for row in columns[0]]


def figures(heard: Sequence[Heard]) -> dict[str, str]:
    """What is wanted stands in brackets."""
    messages = sum(one.messages for one in heard)
    changes = sum((Counter(one.changes) for one in heard), Counter[str]())
    asked = [each for one in heard for each in one.asked]
    answerable = [one for one in asked if one.question.answer is not None]
    others = [one for one in asked if one.question.answer is None]
    return {
        "messages": str(messages),
        "messages a second (20)": f"{messages / sum(one.seconds for one in heard):.1f}",
        "messages a second of processor time": f"{messages / sum(one.cpu_seconds for one in heard):.1f}",
        "entries": str(sum(one.entries for one in heard)),
        "replaced": str(changes["replaced"] + changes["superseded"]),
        "forgotten, which nobody asked for (0)": str(changes["deleted"] + changes["forgotten"]),
        "corrections": str(sum(len(one.corrections) for one in heard)),
        "questions with an answer": str(len(answerable)),
        "first quoted message is evidence (0.45)": _share(answerable, _quotes_evidence_first),
        "the search's own first is evidence": _share(answerable, _finds_evidence_first),
        "neither evidence nor decline (0.15)": _share(answerable, _misleads),
        "words a reply (60)": f"{sum(len(one.reply.split()) for one in asked) / max(1, len(asked)):.0f}",
        "accepted match": _share(answerable, _is_accepted),
        "its ceiling: gold words in the evidence": _share(answerable, _holds_gold),
        "false abstention": _share(answerable, lambda one: declines(one.reply)),
        "questions without an answer": str(len(others)),
        "declined of those": _share(others, lambda one: declines(one.reply)),
    }


def faults(one: Heard) -> list[str]:
    lines = [f"correction in {one.name}: {each}" for each in one.corrections]
    for each in one.asked:
        if each.question.answer is not None and not _quotes_evidence_first(each):
            lines.append(f"\n{each.question.question_id} {each.question.text}\n  gold  {each.question.answer}")
            lines.append(f"  of    {each.evidence_words}\n  reply {each.reply}")
    return lines


def _share(asked: Sequence[Replied], holds: Callable[[Replied], bool]) -> str:
    return f"{sum(map(holds, asked)) / len(asked):.3f}" if asked else "–"


def _quotes_evidence_first(one: Replied) -> bool:
    return bool(one.quoted) and not one.quoted[0].isdisjoint(one.question.evidence)


def _finds_evidence_first(one: Replied) -> bool:
    return not one.found_first.isdisjoint(one.question.evidence)


def _misleads(one: Replied) -> bool:
    quotes_any = any(not messages.isdisjoint(one.question.evidence) for messages in one.quoted)
    return not quotes_any and not declines(one.reply)


def _is_accepted(one: Replied) -> bool:
    return not declines(one.reply) and accepted_match(one.reply, _gold(one))


def _holds_gold(one: Replied) -> bool:
    return accepted_match(one.evidence_words, _gold(one))


def _gold(one: Replied) -> list[str]:
    return [*([] if one.question.answer is None else [one.question.answer]), *one.question.accepted]


def _plain(text: str) -> str:
    return " ".join(text.replace('"', "").split()).casefold()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
