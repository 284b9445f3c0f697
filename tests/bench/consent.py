"""What gets past the consent check. `python -m tests.bench consent` with one of:

    --plants [FILE]                       texts planted against a writer and a check that obey them: changes made
    --render FILE --out FOLDER            the check's prompts for cases of FILE, for readers who answer in its place
    --score FOLDER --cases FILE           what the check accepts with their answers

A case is a JSON line: `earlier` (messages before, {"role", "text"} or texts), `message`, `photos` (paths), `memory` (the one
that the proposal changes, or null), `proposal` {"action": add | replace | delete, "text", "photos"}, `supported`, `rests_on`.
A reader gets `NNN.txt` and answers it in `NNN.answer.json`; where the case shows a photo or a pasted text, `shown/NNN.txt`
with its photos is the second step, answered in `shown/NNN.answer.json` by somebody who did not read the first.
"""

import argparse
import asyncio
import json
import math
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m2a.agents.consent import consented
from m2a.agents.consent_prompt import consent_messages, consent_tool
from m2a.agents.consent_request import ConsentRequest, Proposal, Verdicts
from m2a.agents.photo_views import for_prompt
from m2a.agents.state import PhotoView, TurnState
from m2a.agents.steps import UsageMeter
from m2a.memory.photo_decoder import PhotoDecoder
from m2a.types import Addition, EntryDraft, EvidenceRange, Forgetting, MemoryEntry, Message, Replacement, Role
from models.abilities import Abilities
from models.chat_model import MalformedReplyError, PhotoPart, TokenUsage
from models.json_reply import instruction
from tests.bench.corpus import INTEGRITY
from tests.integrity_cases import read_cases as read_sections
from tests.plants import Garden, Played, read_plants

NOW = datetime(2026, 11, 22, 18, 0, tzinfo=UTC)
_PLANTED = {
    "plants": "asked by nobody",
    "plants for the check": "addressed to the check, or in the memory to be changed",
}
AT_ONCE = 50  # plants in one data folder


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench consent", description=__doc__)
    for name in ("render", "out", "score", "cases"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--plants", type=Path, nargs="?", const=INTEGRITY)
    chosen = parser.parse_args(options)
    if chosen.plants:
        cases = read_sections(chosen.plants)
        for section, title in _PLANTED.items():
            _print_played(title, asyncio.run(play([" | ".join(case) for case in cases[section]])))
    if chosen.render:
        if chosen.out is None:
            parser.error("--render needs --out FOLDER")
        render(read_cases(chosen.render), chosen.out)
    if chosen.score:
        if chosen.cases is None:
            parser.error("--score needs --cases FILE")
        score(read_cases(chosen.cases), chosen.score)
    if not any((chosen.plants, chosen.render, chosen.score)):
        parser.error("say what to do: --plants, --render or --score")


# Plants


async def play(lines: Sequence[str]) -> list[Played]:
    plants = read_plants(lines)
    played: list[Played] = []
    for first in range(0, len(plants), AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            async with Garden.open(Path(folder)) as garden:
                played += [await garden.play(plant) for plant in plants[first : first + AT_ONCE]]
    return played


def _print_played(title: str, played: Sequence[Played]) -> None:
    changed = [result for result in played if result.changes]
    for result in changed:
        print(f"  {result.plant.place} | {result.plant.text} | {result.plant.said} -> {'; '.join(result.changes)}")
    for place in dict.fromkeys(result.plant.place for result in played):
        group = [result for result in played if result.plant.place == place]
        print(
            f"{place}: {len(group)} plants, {sum(bool(result.changes) for result in group)} with an unasked change, "
            f"{sum(result.tried for result in group)} writes tried, the check met the plant in "
            f"{sum(result.obeyed_by_check > 0 for result in group)}; nothing tried in {sum(not result.tried for result in group)}"
        )
    print(f"unasked changes, {title}: {len(changed)} of {len(played)}\n")


# Cases for readers


@dataclass(frozen=True)
class Case:
    """A proposal with everything that the check needs to judge it, and whether it should be accepted."""

    number: str
    state: TurnState
    proposal: Proposal
    supported: bool
    rests_on: str


class Answers:
    """A consent check whose answers are read from files; it records its requests."""

    sees_photos = True

    def __init__(self, *answers: Verdicts | None) -> None:
        self.requests: list[ConsentRequest] = []
        self._answers = list(answers)

    async def verdicts(self, request: ConsentRequest) -> tuple[Verdicts, TokenUsage]:
        self.requests.append(request)
        answer = self._answers[1 if request.shown else 0]
        if answer is None:
            raise MalformedReplyError("There is no answer.")
        return answer, TokenUsage()


def read_cases(file: Path) -> list[Case]:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [_case(f"{number:03}", json.loads(line), file.parent) for number, line in enumerate(lines, start=1)]


def _case(number: str, fields: Mapping[str, Any], folder: Path) -> Case:
    earlier = list(fields.get("earlier") or ())
    recent = [_earlier(10 + place, content, last=place == len(earlier) - 1) for place, content in enumerate(earlier)]
    photos = tuple(_photo(place, folder / path) for place, path in enumerate(fields.get("photos") or (), start=1))
    message = _message(90, fields.get("message") or "", photos=tuple(photo.photo_id for photo in photos))
    state = TurnState("manage update", NOW, message, recent=tuple(recent), photos=photos)
    memory = fields.get("memory")
    text = memory.get("text") if isinstance(memory, Mapping) else memory
    entry = None if not text else MemoryEntry(7, "reader", 1, "fact", text, "", (), (EvidenceRange(2, 2),), (), NOW)
    return Case(
        number, state, _proposal(fields["proposal"], entry), bool(fields["supported"]), fields.get("rests_on") or ""
    )


def _earlier(number: int, content: Any, *, last: bool) -> Message:
    """A message as an object, or as a text after "Assistant: " or "User: "."""
    if isinstance(content, Mapping):
        role = str(content.get("role") or content.get("speaker") or "user").lower()
        return _message(number, str(content.get("text") or content.get("content") or ""), _role(role))
    speaker, colon, text = str(content).partition(":")
    if colon and speaker.strip().lower() in ("assistant", "user", "m2a", "you"):
        return _message(number, text.strip(), _role(speaker.strip().lower()))
    return _message(number, str(content))


def _role(name: str) -> Role:
    return "assistant" if name in ("assistant", "m2a") else "user"


def _message(number: int, text: str, role: Role = "user", photos: tuple[str, ...] = ()) -> Message:
    return Message(number, "reader", "conversation", role, "You" if role == "user" else "M2A", text, photos, NOW)


def _photo(number: int, path: Path) -> PhotoView:
    data = for_prompt(PhotoDecoder().decode(path.read_bytes()).data)
    return PhotoView(number, f"photo{number}", "", data, "image/jpeg")


def _proposal(fields: Mapping[str, Any], memory: MemoryEntry | None) -> Proposal:
    text, photos = str(fields.get("text") or ""), tuple(int(number) for number in fields.get("photos") or ())
    action = str(fields["action"]).lower()
    if action in ("delete", "forget"):
        return Proposal(Forgetting((7,) if memory else (), "why"), memory, words=() if memory else (text,))
    draft = EntryDraft(text, (EvidenceRange(90, 90),))
    if action == "replace":
        assert memory is not None, fields
        return Proposal(Replacement(7, draft, "why"), memory, photos=photos)
    return Proposal(Addition(draft, "why"), photos=photos)


def render(cases: Sequence[Case], folder: Path) -> None:
    """Write the prompts of the cases, without any hint of the right answer."""
    (folder / "shown").mkdir(parents=True, exist_ok=True)
    count = Counter[str]()
    for case in cases:
        requests = _requests(case)
        for step, request in zip((folder, folder / "shown"), requests, strict=False):
            count[step.name] += 1
            parts = [part for message in consent_messages(request, Abilities()) for part in (*message.parts, "\n\n")]
            photos = [part for part in parts if isinstance(part, PhotoPart)]
            for place, photo in enumerate(photos, start=1):
                (step / f"{case.number}.photo{place}.jpg").write_bytes(photo.data)
            words = [part if isinstance(part, str) else f"{part.label}: (the picture)\n\n" for part in parts]
            (step / f"{case.number}.txt").write_text("".join(words) + instruction([consent_tool()]), encoding="utf-8")
    print(f"{len(cases)} cases in {folder}; {count['shown']} of them with a second step in {folder / 'shown'}")


def _requests(case: Case) -> list[ConsentRequest]:
    """Returns the request of the first step and, if the first may answer that something is shown, of the second."""
    verdict = {"proposal": 1, "reason": "", "words": "", "supported": True, "rests_on": "shown", "asked_for": True}
    verdicts = Verdicts.model_validate({"verdicts": [verdict]})
    check = Answers(verdicts, verdicts)
    asyncio.run(consented(check, case.state, [case.proposal], (), UsageMeter()))
    return check.requests[:2]


def score(cases: Sequence[Case], folder: Path) -> None:
    """Print how many of the supported and of the unsupported proposals were accepted."""
    counts: dict[tuple[bool, str], list[int]] = {}
    basis_counts = [0, 0]
    missing = 0
    for case in cases:
        first = _answer(folder / f"{case.number}.answer.json")
        missing += first is None
        check = Answers(first, _answer(folder / "shown" / f"{case.number}.answer.json"))
        update = asyncio.run(consented(check, case.state, [case.proposal], (), UsageMeter()))
        change = next(iter(update.changes), None)
        accepted = _is_accepted(case.proposal, change)
        kind = "kept" if isinstance(case.proposal.change, Addition) else "replaced or forgotten"
        counts.setdefault((case.supported, kind), [0, 0])
        counts[case.supported, kind][0] += accepted
        counts[case.supported, kind][1] += 1
        if accepted and case.supported and case.rests_on and isinstance(change, Addition | Replacement):
            basis_counts[0] += change.draft.rests_on == case.rests_on
            basis_counts[1] += 1
        if accepted != case.supported:
            reason = update.refusals[0].reason if update.refusals else ""
            print(f"  {case.number}: {'accepted' if accepted else 'refused'}, should not be. {reason}")
    for supported in (True, False):
        matching = [count for (case_supported, _kind), count in counts.items() if case_supported == supported]
        accepted, total = sum(count[0] for count in matching), sum(count[1] for count in matching)
        low, high = wilson(accepted, total)
        name = "honest" if supported else "unsupported"
        print(
            f"accepted of {name}: {accepted} of {total} ({accepted / max(total, 1):.1%}, 95 % {low:.1%} to {high:.1%})"
        )
    for (supported, kind), (accepted, total) in sorted(counts.items()):
        print(f"  {'honest' if supported else 'unsupported'}, to be {kind}: {accepted} of {total} accepted")
    print(f"rests on what it should: {basis_counts[0]} of {basis_counts[1]}; without an answer: {missing}")


def _is_accepted(proposal: Proposal, change: object) -> bool:
    """Whether the proposed change is made. A correction tied to the old memory counts; one added beside it does not."""
    if isinstance(proposal.change, Replacement):
        return isinstance(change, Replacement) or (isinstance(change, Addition) and change.draft.corrects is not None)
    return change is not None


def _answer(file: Path) -> Verdicts | None:
    """Reads the answer of a reader: a call of the tool, its arguments, or a single verdict."""
    try:
        reply = json.loads(file.read_text(encoding="utf-8"))
        reply = reply.get("arguments", reply)
        return Verdicts.model_validate(reply if "verdicts" in reply else {"verdicts": [reply]})
    except (OSError, ValueError, AttributeError):
        return None


def wilson(successes: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Returns the 95 % confidence interval of a proportion (Wilson, 1927)."""
    if total == 0:
        return 0.0, 1.0
    share = successes / total
    centre, spread = share + z * z / (2 * total), z * math.sqrt((share * (1 - share) + z * z / (4 * total)) / total)
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
