"""Counts what is lost, rewritten, wrongly corrected, needlessly kept, or not found again, without a language model.

`python -m tests.bench integrity [--cases FILE] [--every N] [--verbose]` plays the cases of the file in the default mode:

- pairs: two statements that must both stay, in either order; then all of them in one memory, with a question each;
- corrections: superseded or tied to what they correct, and what the answer is afterwards;
- lookalikes: corrections among similar memories, and how many hit another one;
- repeated: a value told again and again, of which the newest must answer;
- nothing: messages with nothing to keep, and how many are kept;
- stories: tell, correct, forget, ask: no forgotten words in an answer, no superseded ones but as history.
"""

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.corpus import INTEGRITY
from tests.integrity_cases import Stage, every_nth, holds, open_stage, read_cases

CASES_AT_ONCE = 25  # with owners of their own in one index, which holds all their collections in memory


@dataclass
class Figures:
    """Counts by name, in order, and descriptions of the faults."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def count(self, name: str, happened: bool, fault: str = "") -> None:
        right, total = self.counts.get(name, (0, 0))
        self.counts[name] = right + happened, total + 1
        if fault:
            self.faults.append(f"{name}: {fault}")

    def add(self, other: "Figures") -> None:
        for name, (happened, total) in other.counts.items():
            before = self.counts.get(name, (0, 0))
            self.counts[name] = before[0] + happened, before[1] + total
        self.faults += other.faults


async def pairs(stage: Stage, cases: Sequence[list[str]]) -> Figures:
    figures = Figures()
    for first, second, question, _keys in cases:
        for order in ((first, second), (second, first)):
            teller = stage.teller()
            for text in order:
                await teller.say(text)
            lost = [text for text in order if not teller.keeps(text)]
            figures.count("pairs: lost", bool(lost), f"{lost} of {order}" if lost else "")
            rewritten = [entry.text for entry in teller.rewritten()]
            figures.count("pairs: rewritten", bool(rewritten), f"{rewritten} of {order}" if rewritten else "")
            tied = any(change.change != "added" for change in teller.talk.changes)
            figures.count("pairs: told as a correction", tied, f"{order}" if tied else "")
            if order[0] == first:
                await teller.say(question)
                false = teller.false_quotations()
                figures.count("pairs: false quotations", bool(false), f"{false} of {order}" if false else "")
    return figures


async def together(stage: Stage, cases: Sequence[list[str]]) -> Figures:
    figures = Figures()
    teller = stage.teller()
    for first, second, _question, _keys in cases:
        for text in (first, second):
            teller.new_conversation()
            await teller.say(text)
    teller.new_conversation()
    for _first, _second, question, keys in cases:
        reply = await teller.say(question)
        right = holds(reply, keys.split(";"))
        fault = "" if right else f"{question} [{keys}] -> {reply[:300]}"
        figures.count("one memory: answered", right, fault)
        figures.count("one memory: answered outright", right and not reply.startswith("I don't have that"))
    false = teller.false_quotations()
    figures.count("one memory: false quotations", bool(false), f"{false}" if false else "")
    return figures


async def corrections(stage: Stage, cases: Sequence[list[str]]) -> Figures:
    figures = Figures()
    for statement, correction, question, new, _old in cases:
        teller = stage.teller()
        await teller.say(statement)
        before = {entry.memory_id for entry in teller.entries()}
        await teller.say(correction)
        hit = [c.change for c in teller.talk.changes if c.previous and c.previous.memory_id in before]
        figures.count("corrections: superseded or tied", bool(hit), "" if hit else f"{statement} -> {correction}")
        figures.count("corrections: superseded", "replaced" in hit)
        reply = await teller.say(question)
        right = holds(reply, [new])
        figures.count(
            "corrections: the new value answers", right, "" if right else f"{question} [{new}] -> {reply[:300]}"
        )
        false = teller.false_quotations()
        figures.count("corrections: false quotations", bool(false), f"{false}" if false else "")
    return figures


async def lookalikes(stage: Stage, cases: Sequence[list[str]]) -> Figures:
    figures = Figures()
    for statement, others, correction, _new, _old in cases:
        similar = others.split(" // ")
        for messages in ([statement, *similar], [*similar, statement]):
            teller = stage.teller()
            for text in messages:
                await teller.say(text)
            meant = {entry.memory_id for entry in teller.entries_of(statement)}
            await teller.say(correction)
            hit = [c.previous for c in teller.talk.changes if c.change in ("replaced", "corrected") and c.previous]
            wrong = [entry.text for entry in hit if entry.memory_id not in meant]
            figures.count("lookalikes: hit another memory", bool(wrong), f"{correction} -> {wrong}" if wrong else "")
            right = any(entry.memory_id in meant for entry in hit)
            figures.count("lookalikes: superseded or tied", right, "" if right else f"{messages} -> {correction}")
    return figures


async def repeated(stage: Stage, cases: Sequence[list[str]]) -> Figures:
    figures = Figures()
    for sentence, values, question in cases:
        teller = stage.teller()
        for value in values.split(" // "):
            await teller.say(sentence.replace("{}", value))
        reply = await teller.say(question)
        newest, older = values.split(" // ")[-1], values.split(" // ")[:-1]
        outdated = [value for value in older if sentence.replace("{}", value).rstrip(".") in reply]
        right = holds(reply, [newest]) and not outdated
        figures.count("repeated: the newest answers", right, "" if right else f"{question} [{newest}] -> {reply[:300]}")
    return figures


async def nothing(stage: Stage, cases: Sequence[list[str]]) -> Figures:
    figures = Figures()
    for (text,) in cases:
        teller = stage.teller()
        await teller.say(text)
        texts = [entry.text for entry in teller.entries()]
        figures.count("nothing: kept", bool(texts), f"{texts}" if texts else "")
    return figures


async def stories(stage: Stage, cases: Sequence[list[str]]) -> Figures:
    figures = Figures()
    for lines in cases:
        teller = stage.teller()
        for line in lines:
            act, _, text = line.partition(": ")
            if line.strip() == "new conversation":
                teller.new_conversation()
            elif act in ("tell", "correct", "forget"):
                await teller.say(text)
            else:
                question, absent, present = (part.strip() for part in text.split(" | "))
                stage.prompts_since()
                reply = await teller.say(question)
                prompts = _lines(stage.prompts_since())
                unwanted, wanted = _listed(absent, "must not appear:"), _listed(present, "must appear:")
                in_reply = [word for word in unwanted if word.casefold() in reply.casefold()]
                right = bool(wanted) and holds(reply, wanted)
                if wanted:
                    fault = "" if right else f"{question} {wanted} -> {reply[:300]}"
                    figures.count("stories: answered", right, fault)
                if wanted and unwanted:  # the words of a superseded value, which an answer may tell as history
                    alone = bool(in_reply) and not right
                    fault = f"{question} {in_reply} -> {reply[:300]}" if alone else ""
                    figures.count("stories: answers with a superseded value alone", alone, fault)
                elif unwanted:
                    await stage.teller().say(question)  # its prompts hold what stands in all ("material" for "Mater")
                    own = "\n".join(prompts - _lines(stage.prompts_since())).casefold()
                    named = [word for word in unwanted if word.casefold() in own]
                    fault = f"{question} {named}" if named else ""
                    figures.count("stories: prompts with forgotten words", bool(named), fault)
                    fault = f"{question} {in_reply} -> {reply[:300]}" if in_reply else ""
                    figures.count("stories: answers with forgotten words", bool(in_reply), fault)
        false = teller.false_quotations()
        figures.count("stories: false quotations", bool(false), f"{false}" if false else "")
    return figures


def _lines(prompts: Sequence[str]) -> set[str]:
    """The lines of the prompts; the marks around data are drawn anew for each."""
    return {re.sub(r"data-[0-9a-f]+", "data", line) for prompt in prompts for line in prompt.splitlines()}


def _listed(text: str, label: str) -> list[str]:
    return [part.strip() for part in text.removeprefix(label).split(";") if part.strip()]


MEASURES: dict[str, Sequence[Callable[[Stage, Sequence[list[str]]], Awaitable[Figures]]]] = {
    "pairs": (pairs, together),
    "corrections": (corrections,),
    "lookalikes": (lookalikes,),
    "repeated": (repeated,),
    "nothing": (nothing,),
    "stories": (stories,),
}


async def measure(path: Path, every: int = 1, only: Sequence[str] = ()) -> Figures:
    """Returns all figures of the file's cases, or of every nth case."""
    cases = read_cases(path)
    figures = Figures()
    for section, measures in MEASURES.items():
        chosen = every_nth(cases.get(section, []), every)
        for play in measures:
            if only and play.__name__ not in only:
                continue
            size = len(chosen) if play is together else CASES_AT_ONCE
            for first in range(0, len(chosen), max(1, size)):
                async with open_stage() as stage:
                    figures.add(await play(stage, chosen[first : first + size]))
    return figures


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench integrity", description=__doc__)
    parser.add_argument("--cases", type=Path, default=INTEGRITY)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="play every Nth case of each section")
    parser.add_argument(
        "--only",
        nargs="*",
        default=(),
        help="of the measures: " + ", ".join(play.__name__ for measures in MEASURES.values() for play in measures),
    )
    parser.add_argument("--verbose", action="store_true", help="print every case that went wrong")
    options = parser.parse_args(list(arguments))
    started = time.monotonic()
    figures = asyncio.run(measure(options.cases, options.every, options.only))
    for name, (happened, total) in figures.counts.items():
        print(f"{name:<40}{happened:>6} of {total:<6}{happened / total:>8.1%}")
    print(f"{time.monotonic() - started:.0f} s")
    if options.verbose:
        print("\n".join(figures.faults))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
