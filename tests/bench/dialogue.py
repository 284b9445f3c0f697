"""The rules without a model on dialogues of two people: `python -m tests.bench dialogue [--held-out] [--sessions N] [--verbose]`.

Measures what they keep of LoCoMo's conversations, and what they answer. Three of the six conversations are for development; the
other three are held out, and used once a change is done. Nobody in them asks to have anything forgotten, so everything that is
forgotten is a mistake, and so are most corrections.
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
from m2a.systems.system import Question as SystemQuestion
from m2a.wiring import cache_dir, offline_rules
from models.load import load_text_encoder
from models.text_encoder import MINILM, TokenEncoder
from tests.dialogues import NamingCaptioner

DATA = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "locomo_dev6.json"
BUILT_ON = 3
_QUOTED = re.compile(r'"([^"]{3,})"')


@dataclass(frozen=True, slots=True)
class Result:
    """A question, its reply, the messages that the reply quotes, in order, and the words of its gold evidence.

    `first_hits` are the messages of the first hit of the search alone.
    """

    question: Question
    reply: str
    quoted: Sequence[frozenset[str]]
    evidence_words: str
    first_hits: frozenset[str]


@dataclass(frozen=True, slots=True)
class Talk:
    """The results of one conversation."""

    name: str
    messages: int
    seconds: float
    cpu_seconds: float
    entries: int
    changes: Mapping[str, int]
    corrections: Sequence[str]
    results: Sequence[Result]


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench dialogue", description=__doc__)
    parser.add_argument("--held-out", action="store_true", help="the conversations that nothing was built on")
    parser.add_argument("--sessions", type=int, help="of each conversation, the first")
    parser.add_argument("--only", help="one conversation, by its id")
    parser.add_argument("--verbose", action="store_true", help="print corrections, and each reply that went wrong")
    options = parser.parse_args(list(arguments))
    dialogues = read_locomo(DATA).dialogues
    dialogues = dialogues[BUILT_ON:] if options.held_out else dialogues[:BUILT_ON]
    dialogues = tuple(dialogue for dialogue in dialogues if options.only in (None, dialogue.dialogue_id))
    encoder = load_text_encoder(MINILM, cache_dir())
    talks = [asyncio.run(play_dialogue(talk, encoder, options.sessions)) for talk in dialogues]
    print("\n".join(table(talks)))
    if options.verbose:
        print("\n".join(line for talk in talks for line in faults(talk)))
    return 0


async def play_dialogue(dialogue: Dialogue, encoder: TokenEncoder, limit: int | None = None) -> Talk:
    """Plays the conversation, then asks the questions whose evidence is in the sessions played."""
    sessions = [session for session in dialogue.sessions if session.turns][:limit]
    turns = {turn.reference: turn for session in sessions for turn in session.turns}
    questions = [q for q in dialogue.questions if q.evidence and turns.keys() >= set(q.evidence)]
    progress = Progress(len(turns) + len(questions))
    with tempfile.TemporaryDirectory() as folder:
        stores = SharedStores(Path(folder), lambda: encoder, NoPhotos)
        parts = Parts(stores, None, False, lambda _: NamingCaptioner(), offline_rules, 1)
        parts.rules()
        memory = stores.fresh_memory("m2a")
        system = await registry.open_system("m2a", memory, parts)
        batches = [memory.record([utterance(turn) for turn in session.turns]) for session in sessions]
        references = {message.message_id: message.reference for messages in batches for message in messages}
        began, cpu_began = time.perf_counter(), time.process_time()
        for messages in batches:
            await system.observe(messages)
            progress.step(f"{dialogue.dialogue_id} is taken in", len(messages))
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        results = []
        for question in questions:
            asked_at = batches[-1][-1].said_at
            reply = await _ask(system, question, asked_at)
            first = await system.retrieve(_system_question(question, asked_at), 1)
            quoted = [
                frozenset(reference for reference, turn in turns.items() if _plain(words) in _plain(words_of(turn)))
                for words in _QUOTED.findall(reply)
            ]
            evidence = " ".join(words_of(turns[reference]) for reference in question.evidence)
            results.append(Result(question, reply, quoted, evidence, frozenset(references[m] for m in first or ())))
            progress.step(f"{dialogue.dialogue_id} is asked of")
        with stores.database.snapshot() as connection:
            texts = {row.memory_id: row for row in connection.execute(select(entry))}
            changes = Counter(connection.scalars(select(entry_history.c.change)))
        stores.close()
    progress.close()
    corrections = [f"{row.text} <- {texts[row.corrects].text}" for row in texts.values() if row.corrects is not None]
    entries = [row for row in texts.values() if row.alive]
    return Talk(dialogue.dialogue_id, len(turns), seconds, cpu_seconds, len(entries), changes, corrections, results)


async def _ask(system: MemorySystem, question: Question, asked_at: datetime) -> str:
    return (await system.answer(_system_question(question, asked_at), Meter())).text


def _system_question(question: Question, asked_at: datetime) -> SystemQuestion:
    return SystemQuestion(question.text, question.asked_at or asked_at, (), question.instructions)


def table(talks: Sequence[Talk]) -> list[str]:
    """A column for each conversation, and one for all."""
    columns = [figures([talk]) for talk in talks] + [figures(talks)]
    names = [talk.name for talk in talks] + ["all"]
    lines = [f"{'':<44}" + "".join(f"{name:>12}" for name in names)]
    return lines + [f"{row:<44}" + "".join(f"{column[row]:>12}" for column in columns) for row in columns[0]]


def figures(talks: Sequence[Talk]) -> dict[str, str]:
    """Returns the figures by name; the target stands in brackets."""
    messages = sum(talk.messages for talk in talks)
    changes = sum((Counter(talk.changes) for talk in talks), Counter[str]())
    results = [result for talk in talks for result in talk.results]
    answerable = [result for result in results if result.question.answer is not None]
    others = [result for result in results if result.question.answer is None]
    return {
        "messages": str(messages),
        "messages a second (20)": f"{messages / sum(talk.seconds for talk in talks):.1f}",
        "messages a second of processor time": f"{messages / sum(talk.cpu_seconds for talk in talks):.1f}",
        "entries": str(sum(talk.entries for talk in talks)),
        "replaced": str(changes["replaced"] + changes["superseded"]),
        "forgotten, which nobody asked for (0)": str(changes["deleted"] + changes["forgotten"]),
        "corrections": str(sum(len(talk.corrections) for talk in talks)),
        "questions with an answer": str(len(answerable)),
        "first quoted message is evidence (0.45)": _share(answerable, _quotes_evidence_first),
        "the search's own first is evidence": _share(answerable, _finds_evidence_first),
        "neither evidence nor decline (0.15)": _share(answerable, _misleads),
        "words a reply (60)": f"{sum(len(result.reply.split()) for result in results) / max(1, len(results)):.0f}",
        "accepted match": _share(answerable, _is_accepted),
        "its ceiling: gold words in the evidence": _share(answerable, _holds_gold),
        "false abstention": _share(answerable, lambda result: declines(result.reply)),
        "questions without an answer": str(len(others)),
        "declined of those": _share(others, lambda result: declines(result.reply)),
    }


def faults(talk: Talk) -> list[str]:
    lines = [f"correction in {talk.name}: {correction}" for correction in talk.corrections]
    for result in talk.results:
        if result.question.answer is not None and not _quotes_evidence_first(result):
            lines.append(f"\n{result.question.question_id} {result.question.text}\n  gold  {result.question.answer}")
            lines.append(f"  of    {result.evidence_words}\n  reply {result.reply}")
    return lines


def _share(results: Sequence[Result], holds: Callable[[Result], bool]) -> str:
    return f"{sum(map(holds, results)) / len(results):.3f}" if results else "–"


def _quotes_evidence_first(result: Result) -> bool:
    return bool(result.quoted) and not result.quoted[0].isdisjoint(result.question.evidence)


def _finds_evidence_first(result: Result) -> bool:
    return not result.first_hits.isdisjoint(result.question.evidence)


def _misleads(result: Result) -> bool:
    quotes_any = any(not messages.isdisjoint(result.question.evidence) for messages in result.quoted)
    return not quotes_any and not declines(result.reply)


def _is_accepted(result: Result) -> bool:
    return not declines(result.reply) and accepted_match(result.reply, _gold(result))


def _holds_gold(result: Result) -> bool:
    return accepted_match(result.evidence_words, _gold(result))


def _gold(result: Result) -> list[str]:
    return [*([] if result.question.answer is None else [result.question.answer]), *result.question.accepted]


def _plain(text: str) -> str:
    return " ".join(text.replace('"', "").split()).casefold()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
