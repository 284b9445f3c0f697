"""The consent check: before a language model's changes are written, a model is asked whether the user wants them.

The check sees little, so that little can mislead it: the user's own words, the assistant's message before them, the
proposals, and of the memory only the one entry that a proposal changes. Additions are checked together, and so is all that is
to be forgotten; each other change to an entry is checked on its own. What only a photo or a pasted text shows is checked in a
second step, which can at most mark it as `shown`: no text in a photo or a mail can speak for the user. Code enforces the limits
of the answer: the words that it cites must be where it says, shown and agreed entries never supersede stated ones, and the old
memory stays unless the user said that it changed.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from m2a.agents.consent_request import ConsentCheck, ConsentRequest, Proposal, Verdict
from m2a.agents.own_words import own_words
from m2a.agents.state import PhotoView, TurnState
from m2a.agents.steps import UsageMeter
from m2a.types import (
    Addition,
    Change,
    Concept,
    EvidenceRange,
    Forgetting,
    MemoryEntry,
    Message,
    Refusal,
    Replacement,
    Restoration,
)
from models.chat_model import MalformedReplyError

EARLIER_MESSAGES = 4
EARLIER_CHARACTERS = 2000
LONGEST_NAME = 40
_WORDS_OF_A_NAME = 4
_TRIES = 2
_UNUSABLE = "I could not check whether you want this: the chat model gave no usable answer."
_CANNOT_SEE = "The chat model cannot see photos, so nothing is kept of what they show."
_NOT_SHOWN = "Neither a photo nor a pasted text of your message shows it."
_NOT_SAID = "Your message does not say that this memory should change."
_STILL_TRUE = "Another part of this memory still holds, and would be lost."


@dataclass(frozen=True, slots=True)
class Consent:
    """The changes of an update to write, in order; the refused proposals of the user, each with the reason; and the number of
    changes that nobody asked for."""

    changes: tuple[Change, ...] = ()
    refused: tuple[tuple[Proposal, str], ...] = ()
    unasked: int = 0

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(refusal_of(proposal, reason) for proposal, reason in self.refused)


@dataclass(slots=True)
class _Open:
    """A proposal that is being decided on: it becomes a change to write, or a refusal."""

    proposal: Proposal
    decision: Change | None = None
    rests_on_shown: bool = False
    reason: str = ""
    asked_for: bool = True


async def consented(
    check: ConsentCheck,
    state: TurnState,
    proposals: Sequence[Proposal],
    concepts: Sequence[Concept],
    meter: UsageMeter,
    *,
    introductions: Mapping[int, str] = MappingProxyType({}),
) -> Consent:
    """Decides which proposals to write. Raises `ChatModelError` and decides nothing if the model's service fails.

    `introductions` are the words with which the user introduced the concepts, by concept id.
    """
    material = _Material.of(state, introductions)
    open_proposals = [_Open(proposal) for proposal in proposals]
    for group in _groups(open_proposals):
        request = material.request(group, concepts)
        verdicts = await _verdicts(check, request, meter, material)
        for item, verdict in zip(group, verdicts, strict=True):
            _decide(item, verdict, material)
    shown = [item for item in open_proposals if item.rests_on_shown]
    if seen := [item for item in shown if _can_be_seen(item, material, check)]:
        request = material.request_of_shown(seen, concepts)
        verdicts = await _verdicts(check, request, meter, material)
        for item, verdict in zip(seen, verdicts, strict=True):
            _decide_shown(item, verdict, material)
    refused = [item for item in open_proposals if item.decision is None]
    return Consent(
        changes=tuple(item.decision for item in open_proposals if item.decision is not None),
        refused=tuple((item.proposal, item.reason) for item in refused if item.asked_for),
        unasked=sum(not item.asked_for for item in refused),
    )


def refusal_of(proposal: Proposal, reason: str) -> Refusal:
    """Returns the refusal for the user, with the change to make if they insist."""
    change, memory = proposal.change, proposal.memory
    if isinstance(change, Replacement) and memory is not None:
        # A user who insists states it.
        insisted: Change = replace(change, draft=replace(change.draft, rests_on="stated"))
        return Refusal(f"Replace: {memory.text} → {change.draft.text}", reason, insisted)
    if isinstance(change, Addition):
        rests_on = "agreed" if change.draft.rests_on == "stated" else change.draft.rests_on
        return Refusal(
            f"Keep: {change.draft.text}", reason, replace(change, draft=replace(change.draft, rests_on=rests_on))
        )
    act = "Bring back" if isinstance(change, Restoration) else "Forget"
    # Only what a message says is quoted; a memory's words are M2A's own.
    what = f": {memory.text}" if memory is not None else f" “{' … '.join(proposal.words)}”"
    return Refusal(act + what, reason, change)


@dataclass(frozen=True, slots=True)
class _Material:
    """The texts that a check may cite, by source."""

    now: datetime
    message: Message
    earlier: tuple[Message, ...]
    before: Message | None
    pasted: tuple[str, ...]
    photos: tuple[PhotoView, ...]
    numbers: Mapping[str, int]
    given: tuple[Message, ...]
    people: tuple[str, ...]
    introductions: Mapping[int, str]

    @classmethod
    def of(cls, state: TurnState, introductions: Mapping[int, str]) -> "_Material":
        """Collects the user's newest messages and the assistant's last one before them, without the reply of this turn."""
        own, pasted = list[str](), list[str]()
        for part in state.parts or (state.message.text,):  # a pasted text ends where the next person speaks
            words = own_words(part, first=len(pasted) + 1)
            own.append(words.text)
            pasted += words.pasted
        earlier = []
        for message in [message for message in state.recent if message.role == "user"][-EARLIER_MESSAGES:]:
            theirs = own_words(message.text[:EARLIER_CHARACTERS], first=len(pasted) + 1)
            earlier.append(replace(message, text=theirs.text))
            pasted += theirs.pasted
        last = state.recent[-1] if state.recent else None
        return cls(
            now=state.now,
            message=replace(state.message, text="\n".join(own)),
            earlier=tuple(earlier),
            before=last if last is not None and last.role == "assistant" else None,
            pasted=tuple(pasted),
            photos=state.views,
            numbers=state.photo_numbers,
            given=(*state.recent, state.message),
            people=state.people,
            introductions=introductions,
        )

    def request(self, group: Sequence[_Open], concepts: Sequence[Concept]) -> ConsentRequest:
        proposals = tuple(item.proposal for item in group)
        return ConsentRequest(
            now=self.now,
            message=self.message,
            earlier=self.earlier,
            before=self.before,
            proposals=proposals,
            numbers=self.numbers,
            names=self._names(concepts, proposals),
            people=self.people,
        )

    def request_of_shown(self, group: Sequence[_Open], concepts: Sequence[Concept]) -> ConsentRequest:
        """Returns the request for the second step.

        It contains the user's own words, which say who is in a photo, and the names with the photos that the user gave them
        to, since a photo names nobody itself.
        """
        proposals = tuple(replace(item.proposal, memory=None) for item in group)
        named = {number for proposal in proposals for number in proposal.photos}
        return ConsentRequest(
            now=self.now,
            message=self.message,
            earlier=self.earlier,
            proposals=proposals,
            shown=True,
            photos=tuple(photo for photo in self.photos if photo.number in named),
            numbers=self.numbers,
            pasted=self.pasted,
            names=self._names(concepts, proposals, {photo.photo_id: photo.number for photo in self.photos}),
            people=self.people,
        )

    def _names(
        self, concepts: Sequence[Concept], proposals: Sequence[Proposal], numbers: Mapping[str, int] | None = None
    ) -> tuple[str, ...]:
        """Returns the names that the proposals use, each with its kind, the words that introduced it, and the numbers of the
        photos that show it."""
        lines = []
        for concept, name in _names_used(concepts, proposals):
            introduction = self.introductions.get(concept.concept_id)
            shown = [str(numbers[photo_id]) for photo_id in concept.photo_ids if numbers and photo_id in numbers]
            lines.append(
                f"{name} ({concept.kind})"
                + (f", in the user's words: “{introduction}”" if introduction else "")
                + (f", shown in photo {', '.join(shown)}" if shown else "")
            )
        return tuple(lines)

    def holder(self, verdict: Verdict, *, in_new_message: bool) -> Message | None:
        """Returns the message that contains the words of the verdict, trying the new message first."""
        if verdict.rests_on == "agreed":
            places = [self.before] if self.before is not None else []
        else:
            places = [self.message, *(() if in_new_message else reversed(self.earlier))]
        return next((message for message in places if _appears_in(verdict.words, message.text)), None)

    def evidence(
        self, change: Addition | Replacement, holder: Message | None, memory: MemoryEntry | None
    ) -> tuple[EvidenceRange, ...]:
        """Returns the evidence of a change: the new message, the message with the cited words, and what the writer named, as
        far as the check saw it.

        A replacement keeps the old memory's evidence that the writer named, because its text repeats a part of that memory.
        """
        newest = [message.message_id for message in self.given]
        ids = {self.message.message_id} | ({holder.message_id} if holder else set())
        ids |= {n for n in newest if any(first <= n <= last for first, last in change.draft.evidence_ids)}
        of_memory = memory.evidence_ids if isinstance(change, Replacement) and memory is not None else ()
        named = {
            span
            for span in of_memory
            if any(span.first <= last and first <= span.last for first, last in change.draft.evidence_ids)
        }
        return tuple(sorted({*named, *_ranges(sorted(ids), newest)}))


def _groups(items: Sequence[_Open]) -> list[list[_Open]]:
    """Groups the proposals: all additions together, all that is to be forgotten together, and each other change to an entry
    alone, so that others cannot influence its verdict.

    A request to forget often names several memories at once, and a forgetting can be undone.
    """
    additions = [item for item in items if _is_plain_addition(item.proposal)]
    forgettings = [item for item in items if isinstance(item.proposal.change, Forgetting)]
    together = [group for group in (additions, forgettings) if group]
    grouped = {id(item) for group in together for item in group}
    return together + [[item] for item in items if id(item) not in grouped]


def _is_plain_addition(proposal: Proposal) -> bool:
    return isinstance(proposal.change, Addition) and proposal.memory is None


async def _verdicts(
    check: ConsentCheck, request: ConsentRequest, meter: UsageMeter, material: _Material
) -> list[Verdict | str]:
    """Returns one verdict per proposal, in order, or a sentence in place of an unusable one.

    After an unusable answer, the check is asked once more.
    """
    count = len(request.proposals)
    verdicts: list[Verdict | str] = [_UNUSABLE] * count
    for _try in range(_TRIES):
        try:
            answer, usage = await check.verdicts(request)
        except MalformedReplyError as error:
            meter.count(error.usage)
            request = replace(request, fault=str(error))
            continue
        meter.count(usage)
        verdicts, faults = [_UNUSABLE] * count, []
        for number, proposal in enumerate(request.proposals, start=1):
            on_proposal = [verdict for verdict in answer.verdicts if verdict.proposal == number]
            fault = (
                ""
                if len(on_proposal) == 1
                else f"There must be one verdict on proposal {number}, not {len(on_proposal)}."
            )
            fault = fault or _fault(on_proposal[0], proposal, request, material)
            if fault:
                faults.append(fault)
            else:
                verdicts[number - 1] = on_proposal[0]
        if not faults:
            break
        request = replace(request, fault=" ".join(faults))
    return verdicts


def _fault(verdict: Verdict, proposal: Proposal, request: ConsentRequest, material: _Material) -> str:
    """Returns why a verdict cannot be used, as feedback for the check, or "" if it can."""
    if not verdict.supported:
        return ""
    number = verdict.proposal
    if request.shown:
        if proposal.photos or any(_appears_in(verdict.words, text) for text in request.pasted):
            return ""
        return f"The words for proposal {number} must be copied exactly from a pasted text."
    if verdict.rests_on == "shown":
        return ""
    if material.holder(verdict, in_new_message=_is_change(proposal)) is not None:
        return ""
    where = "the assistant's message" if verdict.rests_on == "agreed" else "the user's messages"
    if _is_change(proposal) and verdict.rests_on == "stated":
        where = "the user's new message"
    return f"The words for proposal {number} must be copied exactly from {where}; {verdict.words!r} is not there."


def _decide(item: _Open, verdict: Verdict | str, material: _Material) -> None:
    """Decides on a proposal after the first step."""
    if isinstance(verdict, str):
        item.reason = verdict
        return
    item.reason, item.asked_for = verdict.reason, verdict.asked_for
    if not verdict.supported:
        return
    proposal = item.proposal
    change = proposal.change
    if not isinstance(change, Addition | Replacement):
        if verdict.rests_on != "stated" or not verdict.user_says_so:
            item.reason = _NOT_SAID
        elif proposal.memory is not None and not verdict.nothing_lost:
            item.reason = _STILL_TRUE
        else:
            item.decision = change
        return
    holder = None if verdict.rests_on == "shown" else material.holder(verdict, in_new_message=_is_change(proposal))
    draft = replace(
        change.draft, rests_on=verdict.rests_on, evidence_ids=material.evidence(change, holder, proposal.memory)
    )
    if isinstance(change, Replacement):
        item.decision = _replaced(replace(change, draft=draft), proposal.memory, verdict)
    elif change.draft.corrects is not None and not verdict.user_says_so:
        item.decision = replace(change, draft=replace(draft, corrects=None), rivals=(change.draft.corrects,))
    else:
        item.decision = replace(change, draft=draft)
    item.rests_on_shown = verdict.rests_on == "shown"


def _replaced(change: Replacement, memory: MemoryEntry | None, verdict: Verdict) -> Addition | Replacement:
    """Returns the replacement, or an addition if the old memory stays.

    It stays if the user did not say that it changed, or if a part of it still holds.
    """
    assert memory is not None
    if not verdict.user_says_so or (verdict.rests_on != "stated" and memory.rests_on == "stated"):
        return Addition(change.draft, "the user said so", rivals=(memory.memory_id,))
    if not verdict.nothing_lost:
        return Addition(replace(change.draft, corrects=memory.memory_id), change.why)
    return change


def _can_be_seen(item: _Open, material: _Material, check: ConsentCheck) -> bool:
    """Returns whether the second step has anything to look at, and refuses the proposal if not."""
    if material.pasted or (item.proposal.photos and check.sees_photos):
        return True
    item.decision, item.reason = None, _CANNOT_SEE if item.proposal.photos else _NOT_SHOWN
    return False


def _decide_shown(item: _Open, verdict: Verdict | str, material: _Material) -> None:
    if isinstance(verdict, str) or not verdict.supported:
        item.decision = None
        item.reason = verdict if isinstance(verdict, str) else verdict.reason
        return
    assert isinstance(item.decision, Addition | Replacement)
    # Only names that the user gave are linked, since photos and pasted texts identify nobody.
    draft = item.decision.draft
    words = " ".join(message.text for message in (material.message, *material.earlier))
    concepts = tuple(mention for mention in draft.concepts if _appears_in(mention.name, words))
    item.decision = replace(item.decision, draft=replace(draft, concepts=concepts))


def _is_change(proposal: Proposal) -> bool:
    """Returns whether the proposal removes or restores something, so that the new message itself must say so."""
    return not isinstance(proposal.change, Addition)


def _names_used(concepts: Iterable[Concept], proposals: Sequence[Proposal]) -> list[tuple[Concept, str]]:
    """Returns the names that the proposals use in their texts or list among their concepts, since a text may inflect a name.

    A name that is as long as a sentence, or is most of the proposed text, could manipulate the check and is left out.
    """
    drafts = [proposal.change.draft for proposal in proposals if isinstance(proposal.change, Addition | Replacement)]
    return [
        (concept, name)
        for concept in concepts
        for name in (concept.name, *concept.aliases)
        if len(name) <= LONGEST_NAME
        and len(name.split()) <= _WORDS_OF_A_NAME
        and any(
            2 * len(name.split()) <= len(draft.text.split())
            and (_appears_in(name, draft.text) or _plain(name) in {_plain(mention.name) for mention in draft.concepts})
            for draft in drafts
        )
    ]


def concepts_used(concepts: Iterable[Concept], proposals: Sequence[Proposal]) -> list[Concept]:
    """Returns the concepts of which the check reads a name."""
    return list({concept.concept_id: concept for concept, _name in _names_used(concepts, proposals)}.values())


def _ranges(ids: Sequence[int], newest: Sequence[int]) -> Iterable[EvidenceRange]:
    """Yields the ids as ranges, joining ids that follow each other in the conversation."""
    first = last = ids[0]
    for number in ids[1:]:
        if newest.index(number) != newest.index(last) + 1:
            yield EvidenceRange(first, last)
            first = number
        last = number
    yield EvidenceRange(first, last)


def _appears_in(words: str, text: str) -> bool:
    """Returns whether the text contains the words as whole words in this order, ignoring case, spaces and kinds of quotes."""
    plain_words = _plain(words)
    pattern = rf"(?<!{_SPACED}){re.escape(plain_words)}(?!{_SPACED})"
    return bool(plain_words) and re.search(pattern, _plain(text)) is not None


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().translate(_MARKS)
    return " ".join(text.split()).strip(" .,;:!?…\"'")


# Letters of scripts that put spaces between words.
_SPACED = "[0-9A-Za-z\u00c0-\u058f]"
_MARKS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "–": "-", "—": "-"})
