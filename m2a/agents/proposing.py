"""Collects the changes that a policy proposes in an update, checked by code and not yet written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from m2a.agents.consent import refusal_of
from m2a.agents.consent_request import Proposal
from m2a.agents.in_thread import in_thread
from m2a.agents.material import one_line, shorten
from m2a.agents.memory_search import MemorySearch
from m2a.agents.own_words import own_words
from m2a.agents.photo_views import PhotoViews, caption_photo
from m2a.agents.policy import Policy
from m2a.agents.state import Rejected, Staged, Step, TurnState, records_of
from m2a.agents.steps import UsageMeter, next_action, with_step
from m2a.agents.writes import Write, draft_change, words_going
from m2a.memory.bank import MemoryBank
from m2a.memory.quotations import sentence_spans
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.words import finished_words
from m2a.types import AddMemory, Change, DeleteMemory, Finish, Forgetting, MemoryEntry, Refusal, Update
from models.captioner import Captioner

WRITES_AT_MOST = 10
MISSING_CHARACTERS = 200
NOTHING_LIKE_IT = "I found nothing like it, in my memory or in what you told me."
_WORDED = ("text", "words", "rest", "reason", "request")  # fields of writes
_ASKS_OR_ANNOUNCES = ("?", ":", "]")  # "]" ends the mark of a pasted text
_TELLING_WORDS = 2  # a sentence with fewer, such as "Good morning." or "All is well.", hardly tells anything
PUT_IT_DIFFERENTLY = (
    "If the user did tell or show it, put it forward once more, so that the user's own words and photos say every part of it; "
    "otherwise finish."
)
FORGET_A_PART = (
    "If the user wants a part of it forgotten, put that forward once more, with the exact words of the message in `words`, and "
    "what should remain of the memory in `rest`; otherwise finish."
)
TOO_MANY = f"At most {WRITES_AT_MOST} changes are made after one message; tell me the rest again."


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposals of an update, and what code refused."""

    proposals: tuple[Proposal, ...]
    refusals: tuple[Refusal, ...]


class Proposer:
    """Asks the policy for changes to one owner's memory."""

    def __init__(
        self,
        bank: MemoryBank,
        policy: Policy,
        captioner: Captioner,
        search: MemorySearch,
        photos: PhotoViews,
        *,
        max_rounds: int,
    ) -> None:
        self._bank = bank
        self._policy = policy
        self._captioner = captioner
        self._search = search
        self._photos = photos
        self._max_rounds = max_rounds

    async def propose(self, state: TurnState, meter: UsageMeter) -> tuple[Proposed, TurnState]:
        """Returns the changes that the policy wants, and the state with the steps that led to them.

        An answer of writes ends the update, unless it announces more, or makes a single call that leaves sentences of the
        message untouched: then the policy is asked once more, of those. Raises `GaveUpError` if the policy gives no usable
        answer.
        """
        proposals: tuple[Proposal, ...] = ()
        refusals: dict[str, Refusal] = {}
        answer_start = len(state.steps)
        for rounds_left in range(self._max_rounds + WRITES_AT_MOST, 0, -1):
            asks_policy = state.planned is None or not state.planned.actions
            action, state = await next_action(self._policy, replace(state, rounds_left=rounds_left), meter)
            if asks_policy:
                answer_start = len(state.steps)  # malformed attempts before it do not belong to this answer
            if isinstance(action, Finish):
                if action.missing:
                    missing = shorten(one_line(action.missing), MISSING_CHARACTERS)
                    refusal = Refusal(f"Forget “{missing}”", NOTHING_LIKE_IT, None)
                    refusals[refusal.text] = refusal
                break
            if isinstance(action, Write):
                if isinstance(action, AddMemory):
                    await self._ensure_captions(state, action, meter)
                step, proposal = await in_thread(self._stage, state, action, proposals)
                if proposal is not None and len(proposals) < WRITES_AT_MOST:
                    proposals = (*proposals, proposal)
                elif proposal is not None:
                    refusal = refusal_of(proposal, TOO_MANY)
                    refusals[refusal.text] = refusal
            else:
                step, _event = await in_thread(self._search.search_or_fetch, state, action)
                photos = await in_thread(self._photos.named, records_of(step.observation), state)
                state = replace(state, recalled=(*state.recalled, *photos))
            state = with_step(state, step)
            is_carried_out = state.planned is None or not state.planned.actions
            if is_carried_out and not self._policy.published_stages and _is_complete(state.steps[answer_start:]):
                is_single = len(state.steps) - answer_start == 1
                untouched = _untouched(state, proposals) if is_single and not state.untouched else ()
                if not untouched:
                    break
                state = replace(state, untouched=untouched)
        return Proposed(proposals, tuple(refusals.values())), replace(state, untouched=())

    def writable(self, update: Update) -> Update:
        """Returns the update with those changes as refusals that cannot be written together with the others."""
        changes: tuple[Change, ...] = ()
        refusals = update.refusals
        for change in update.changes:
            try:
                self._bank.check((*changes, change))
            except RejectedWriteError as error:
                refusals = (*refusals, refusal_of(Proposal(change), str(error)))
            else:
                changes = (*changes, change)
        return replace(update, changes=changes, refusals=refusals)

    def _stage(self, state: TurnState, action: Write, staged: tuple[Proposal, ...]) -> tuple[Step, Proposal | None]:
        """Checks a write against the memory and the staged changes. It is written when the update ends."""
        try:
            change = draft_change(self._bank, state, action)
            if any(change == proposal.change for proposal in staged):
                return Step(action, Rejected("That is staged already; finish when all is done.")), None
            self._bank.check((*(proposal.change for proposal in staged), change))
        except RejectedWriteError as error:
            return Step(action, Rejected(str(error))), None
        if len(staged) >= WRITES_AT_MOST:
            return Step(action, Rejected(TOO_MANY)), self._proposal(action, change)
        alongside = self._alongside(state, action) if isinstance(change, Forgetting) else ()
        return Step(action, Staged(change, alongside)), self._proposal(action, change)

    def _alongside(self, state: TurnState, action: Write) -> tuple[MemoryEntry, ...]:
        """Returns the memories that rest on the same messages as the one to be forgotten, and that the policy has not seen."""
        entry = self._bank.entry(action.memory_id) if isinstance(action, DeleteMemory) else None
        if entry is None or self._policy.consent is None:
            return ()
        observations = (*state.context, *(step.observation for step in state.steps))
        records = (record for observation in observations for record in records_of(observation))
        seen = {entry.memory_id, *(record.memory_id for record in records if isinstance(record, MemoryEntry))}
        seen |= {step.action.memory_id for step in state.steps if isinstance(step.action, DeleteMemory)}
        messages = self._bank.messages_in_ranges(entry.evidence_ids)
        resting = (memory for message in messages for memory in self._bank.resting_on(message.message_id))
        return tuple({memory.memory_id: memory for memory in resting if memory.memory_id not in seen}.values())

    def _proposal(self, action: Write, change: Change) -> Proposal:
        """Returns the change with what the consent check sees of it."""
        memory_id = action.corrects if type(action) is AddMemory else getattr(action, "memory_id", None)
        memory = None
        if memory_id is not None:
            memory = self._bank.entry(memory_id) or self._bank.asked().get(memory_id)
            memory = memory or self._bank.replaced_entries([memory_id])[memory_id]
        words = getattr(action, "words", "")
        sentences: tuple[str, ...] = ()
        if isinstance(action, DeleteMemory) and not words and memory is not None and self._policy.consent is not None:
            memory_words = set(finished_words(memory.text))
            going = words_going(self._bank, action)
            sentences = tuple(sentence for sentence in going if set(finished_words(sentence)) - memory_words)
        photos = action.photos if isinstance(action, AddMemory) else ()
        return Proposal(change, memory, words=(words,) if words else (), sentences=sentences, photos=photos)

    async def _ensure_captions(self, state: TurnState, action: AddMemory, meter: UsageMeter) -> None:
        for photo in state.views:
            if photo.number in action.photos and not await in_thread(self._bank.photos.caption, photo.photo_id):
                await caption_photo(self._bank, self._captioner, photo.photo_id, meter.count)


def _untouched(state: TurnState, proposals: Sequence[Proposal]) -> tuple[str, ...]:
    """Returns the sentences of the message, in the user's own words, that share no word with what is to be written.

    A model that makes a single call in an answer may have left out the rest, and forgotten to announce it. If no sentence at all
    shares a word with it, it is in another language or all in other words, and there is nothing to compare: returns none.
    """
    writes = [step.action for step in state.steps if isinstance(step.action, Write)]
    written = [getattr(write, name, "") for write in writes for name in _WORDED]
    written += [proposal.memory.text for proposal in proposals if proposal.memory is not None]
    words = {word for text in written for word in finished_words(text)}
    text = "\n".join(own_words(part).text for part in state.parts or (state.message.text,))
    sentences = [text[first:last].strip() for first, last in sentence_spans(text)]
    asserting = (sentence for sentence in sentences if not sentence.endswith(_ASKS_OR_ANNOUNCES))
    statements = {sentence: set(finished_words(sentence)) for sentence in asserting}
    if all(map(words.isdisjoint, statements.values())):
        return ()
    return tuple(
        sentence for sentence, own in statements.items() if len(own) >= _TELLING_WORDS and words.isdisjoint(own)
    )


def with_reasons(state: TurnState, refused: Sequence[tuple[Proposal, str]]) -> TurnState:
    """Returns the state in which the writer reads why these proposals were refused."""
    steps = []
    for step in state.steps:
        if isinstance(step.observation, Staged):
            change = step.observation.change
            for proposal, reason in refused:
                if proposal.change == change:
                    step = replace(step, observation=Rejected(_feedback(proposal, reason)))
                    break
        steps.append(step)
    return replace(state, steps=tuple(steps))


def _feedback(proposal: Proposal, reason: str) -> str:
    """Returns why a proposal was refused and what the writer may propose instead."""
    if not isinstance(proposal.change, Forgetting) or proposal.memory is None:
        return f"{reason} {PUT_IT_DIFFERENTLY}"
    quoted = "".join(f" The user said: “{one_line(sentence)}”." for sentence in proposal.sentences)
    return f"{reason}{quoted} {FORGET_A_PART}"


def without_repeated(refusals: Sequence[Refusal], repeated: Sequence[Proposal]) -> list[Refusal]:
    """Returns the refusals without those proposed again: for each of `repeated`, the one that shares most words with it."""
    remaining = list(refusals)
    for proposal in repeated:
        words = set(refusal_of(proposal, "").text.casefold().split())
        if remaining:
            remaining.remove(max(remaining, key=lambda refusal: len(words & set(refusal.text.casefold().split()))))
    return remaining


def _is_complete(answer: Sequence[Step]) -> bool:
    """Returns whether an answer ends the update: it consists of writes, all could be staged, and nothing remains to be said."""
    return bool(answer) and all(
        isinstance(step.action, Write)
        and not step.action.more
        and isinstance(step.observation, Staged)
        and not step.observation.alongside
        for step in answer
    )
