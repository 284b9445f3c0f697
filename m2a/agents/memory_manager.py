"""The MemoryManager: searches the memory, and decides what is written to it (M2A, section 4.3). The assistant writes that."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from m2a.agents.consent import Consent, concepts_used, consented, refusal_of
from m2a.agents.consent_request import ConsentCheck, Proposal
from m2a.agents.in_thread import in_thread
from m2a.agents.introductions import introduction
from m2a.agents.material import one_line, shorten
from m2a.agents.photo_views import caption_photo
from m2a.agents.policy import Policy
from m2a.agents.state import SEARCH_HITS, MemoryContext, Opened, Rejected, Searched, Staged, Step, TurnState
from m2a.agents.steps import GaveUpError, UsageMeter, next_action, with_step
from m2a.agents.writes import Write, draft_change, words_going
from m2a.memory.bank import MemoryBank
from m2a.memory.quotations import sentence_spans
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.words import finished_words
from m2a.types import (
    Action,
    AddMemory,
    Change,
    Concept,
    DeleteMemory,
    Emit,
    EvidenceOpened,
    EvidenceRange,
    FetchRawMessages,
    FetchRawMessagesByTime,
    Finish,
    Forgetting,
    Hit,
    MemoryEntry,
    MemorySearched,
    Message,
    Query,
    RecordKey,
    RecordKind,
    Refusal,
    SearchRawMessages,
    SearchSemanticMemories,
    Update,
)
from models.captioner import Captioner

BOTH_LAYERS: frozenset[RecordKind] = frozenset({"entry", "message"})
UNNAMED_HITS = 5
FOLLOWING_HITS = 5  # that a message finds together with the one before it
RECALL_CHARACTERS = 1000
NAMES_AT_MOST, SENTENCES_AT_MOST = 3, 4  # of a message, that are searched for by themselves
MESSAGES_OPENED = 40
MESSAGES_FOLLOWED = 500  # in which facts are looked for
MESSAGES_IN_RANGES = 1000
WRITES_AT_MOST = 10
MISSING_CHARACTERS = 200
NOTHING_LIKE_IT = "I found nothing like it, in my memory or in what you told me."
MAY_BE_MEANT = "You may want this forgotten; I was not sure."
OFFERED_AT_MOST = 3
PUT_IT_DIFFERENTLY = (
    "If the user did tell or show it, put it forward once more, so that the user's own words and photos say every part of it; "
    "else finish."
)
FORGET_A_PART = (
    "If the user wants a part of it forgotten, put that forward once more, with its words as they stand in the message in words "
    "and what stays of the memory in rest; else finish."
)
TOO_MANY = f"At most {WRITES_AT_MOST} changes are made after one message; tell me the rest again."


class MemoryManager:
    """Carries out what the ChatAgent asks of the memory, in rounds that the policy chooses."""

    def __init__(self, bank: MemoryBank, policy: Policy, captioner: Captioner, *, max_rounds: int) -> None:
        self._bank = bank
        self._policy = policy
        self._captioner = captioner
        self._max_rounds = max_rounds

    async def query(self, state: TurnState, request: str, meter: UsageMeter, emit: Emit) -> MemoryContext:
        """Search, open evidence, search again (progressive narrowing); the context that was found.

        What is searched and opened is emitted. Out of rounds, or out of usable answers, the context is what the last search
        found, and says so.
        """
        state = replace(state, stage="manage query", request=request, steps=())
        if (followed := await in_thread(self._followed, state)) is not None:
            return followed
        for rounds_left in range(self._max_rounds, 0, -1):
            try:
                action, state = await next_action(self._policy, replace(state, rounds_left=rounds_left), meter)
            except GaveUpError:
                break
            if isinstance(action, Finish):
                outcome = await in_thread(self._finish_query, state, action)
                if isinstance(outcome, MemoryContext):
                    return outcome
                state = with_step(state, Step(action, outcome))
                continue
            state = with_step(state, await self.look(state, action, emit))
        return await in_thread(self._unfinished, state)

    async def recall(self, state: TurnState, emit: Emit, *, nearest: int) -> MemoryContext:
        """What the message finds by itself, and together with what the user said before it; without a call of a model.

        Also by the known names in it, and by its sentences where little was found: a message that speaks of several things
        is near to no memory of one. Where the message finds nothing by its own words, whatever the one before it found, the
        `nearest` records come along as such: "27 years, not 30" shares little with what it corrects, and "the thing with the
        archive, I don't want it to come up again" holds many words beside those that name it.
        """
        before = next((message.text for message in reversed(state.recent) if message.role == "user"), "")
        photo_ids = tuple(photo.photo_id for photo in state.photos)
        text = state.message.text.strip()[:RECALL_CHARACTERS]
        queries = [Query(text, photo_ids)] if text or photo_ids else []
        if before.strip() and text:
            queries.append(Query(f"{before.strip()[:RECALL_CHARACTERS]}\n{text}"))
        queries += map(Query, _names_in(text, state.concepts))
        sentences = [query for query in map(Query, _sentences_of(text)) if query not in queries]
        searched, context = await in_thread(self._recalled, state, queries, sentences, nearest)
        for search in searched:
            emit(search)
        return context

    async def look(self, state: TurnState, action: Action, emit: Emit) -> Step:
        """Carry out a search or a fetch; what is searched and opened is emitted."""
        step, event = await in_thread(self._look, state, action)
        if event is not None:
            emit(event)
        return step

    async def context_of(self, observation: Searched | Opened) -> MemoryContext:
        """What was seen as something that a reply can rest on."""
        if isinstance(observation, Searched):
            return await in_thread(self._context, "", observation.hits)
        return await in_thread(self._context, "", [Hit(message, 0.0, {}) for message in observation.messages])

    async def update(self, state: TurnState, request: str, meter: UsageMeter) -> Update:
        """Look at what is known, then decide what to write: changes that are checked, and not written yet.

        The consent check of the policy, if it has one, has the last word; what it refuses of what the user told may be put
        forward once more in other words. Raises `GaveUpError` where the policy gives no usable answer; nothing is to be
        written then.
        """
        state = replace(state, stage="manage update", request=request, steps=())
        proposed, state = await self._proposed(state, meter)
        if not proposed.proposals:
            return Update(refusals=proposed.refusals)
        check = self._policy.consent
        if check is None:
            return Update(tuple(proposal.change for proposal in proposed.proposals), proposed.refusals)
        consent = await self._consented(check, state, proposed.proposals, meter)
        changes, refusals, unasked = consent.changes, consent.refusals, consent.unasked
        if consent.refused:
            again, state = await self._proposed(_refused(state, consent.refused), meter)
            if again.proposals:
                consent = await self._consented(check, state, again.proposals, meter)
                changes, unasked = (*changes, *consent.changes), unasked + consent.unasked
                refusals = (*_left(refusals, again.proposals), *consent.refusals)
        update = await in_thread(self._writable, Update(changes, refusals, unasked))
        return replace(update, refusals=(*update.refusals, *proposed.refusals))

    async def _consented(
        self, check: ConsentCheck, state: TurnState, proposals: Sequence[Proposal], meter: UsageMeter
    ) -> Consent:
        concepts = await in_thread(self._bank.concepts)
        used = concepts_used(concepts, proposals)
        introductions = await in_thread(lambda: {one.concept_id: self._introduction(one, state) for one in used})
        return await consented(check, state, proposals, concepts, meter, introductions=introductions)

    def _introduction(self, concept: Concept, state: TurnState) -> str:
        """How the user first gave the name, in a message before this one; "" where they only ever began with it."""
        messages = self._bank.find_messages(concept.name, MESSAGES_FOLLOWED)
        own = [one for one in messages if one.role == "user" and one.message_id < state.message.message_id]
        return introduction(concept.name, sorted(own, key=lambda message: message.message_id))

    async def _proposed(self, state: TurnState, meter: UsageMeter) -> tuple["_Proposed", TurnState]:
        """What the policy wants written, checked by code, and the state with the steps that led to it."""
        proposals: tuple[Proposal, ...] = ()
        dropped: dict[str, Refusal] = {}
        answered = len(state.steps)
        for rounds_left in range(self._max_rounds + WRITES_AT_MOST, 0, -1):
            asked = state.planned is None or not state.planned.actions
            action, state = await next_action(self._policy, replace(state, rounds_left=rounds_left), meter)
            if asked:
                answered = len(state.steps)  # what was malformed before is no part of this answer
            if isinstance(action, Finish):
                if action.missing:
                    missing = Refusal(
                        f"Forget “{shorten(one_line(action.missing), MISSING_CHARACTERS)}”", NOTHING_LIKE_IT, None
                    )
                    dropped[missing.text] = missing
                for offer in await in_thread(self._offers, state, action.doubtful_ids):
                    dropped[offer.text] = offer
                break
            if isinstance(action, Write):
                if isinstance(action, AddMemory):
                    await self._ensure_captions(state, action, meter)
                step, proposal = await in_thread(self._stage, state, action, proposals)
                if proposal is not None and len(proposals) < WRITES_AT_MOST:
                    proposals = (*proposals, proposal)
                elif proposal is not None:
                    refusal = refusal_of(proposal, TOO_MANY)
                    dropped[refusal.text] = refusal
            else:
                step, _event = await in_thread(self._look, state, action)
            state = with_step(state, step)
            carried_out = state.planned is None or not state.planned.actions
            if carried_out and not self._policy.published_stages and _is_whole(state.steps[answered:]):
                break
        return _Proposed(proposals, tuple(dropped.values())), state

    def _look(self, state: TurnState, action: Action) -> tuple[Step, MemorySearched | EvidenceOpened | None]:
        if isinstance(action, SearchSemanticMemories):
            photo_ids = tuple(photo.photo_id for photo in state.photos) if action.use_photos else ()
            if not action.query.strip() and not photo_ids:
                return Step(action, Rejected("Give words to look for, or use_photos where photos are attached.")), None
            query = Query(action.query, photo_ids)
            hits = self._found(state, query, SEARCH_HITS if state.steps else self._policy.first_search_hits)
            superseded = self._bank.superseded_in([key.record_id for hit in hits if (key := hit.key).kind == "message"])
            return Step(action, Searched(hits, superseded, self._captions(hits))), MemorySearched(query, hits)
        if isinstance(action, SearchRawMessages):
            messages = self._bank.find_messages(action.query, 4 * SEARCH_HITS + len(state.recent) + 1)
            earlier = [
                message
                for message in messages
                if message.message_id < state.message.message_id
                and (message.role == "user" or not self._policy.quotes_user_alone)
            ][:SEARCH_HITS]
            hits = tuple(Hit(message, 1 / rank, {"bm25": rank}) for rank, message in enumerate(earlier, start=1))
            superseded = self._bank.superseded_in([message.message_id for message in earlier])
            return Step(action, Searched(hits, superseded, self._captions(hits))), MemorySearched(
                Query(action.query), hits
            )
        if isinstance(action, FetchRawMessagesByTime):
            messages = self._bank.messages_between(action.start, action.end)
            ranges = _spans(messages)
        else:
            assert isinstance(action, FetchRawMessages)
            ranges = tuple(EvidenceRange(first, last) for first, last in action.ranges)
            if (asked := sum(max(0, last - first + 1) for first, last in ranges)) > MESSAGES_IN_RANGES:
                reason = f"These ranges hold {asked} ids, and {MESSAGES_IN_RANGES} is the most; ask for fewer."
                return Step(action, Rejected(reason)), None
            messages = self._bank.messages_in_ranges(ranges)
        shown = tuple(messages[:MESSAGES_OPENED])
        superseded = self._bank.superseded_in([message.message_id for message in shown])
        captions = self._bank.photos.captions([photo_id for message in shown for photo_id in message.photos])
        observation = Opened(shown, len(messages) - len(shown), superseded, captions)
        return Step(action, observation), EvidenceOpened(ranges, shown)

    def _recalled(
        self, state: TurnState, queries: Sequence[Query], sentences: Sequence[Query], nearest: int
    ) -> tuple[list[MemorySearched], MemoryContext]:
        """The searches of `recall`, the message's own first, with what they brought, and all of that as a context."""
        searched: list[MemorySearched] = []
        found: dict[RecordKey, Hit] = {}

        def search(some: Sequence[Query], enough: float) -> None:
            brought = self._searched(state, some, SEARCH_HITS)
            corrections = self._corrections_of([hit for hits in brought for hit in hits])
            for query, best in zip(some, brought, strict=True):
                if len(found) >= enough:
                    break
                first = best if not found else best[:FOLLOWING_HITS]
                hits = _with_evidence(_with_corrections(_worth_recalling(first), corrections))
                searched.append(MemorySearched(query, hits))
                for hit in hits:
                    found.setdefault(hit.key, hit)

        search(queries, math.inf)
        finds_itself = any(search.hits for search in searched[:1])
        if sentences and not (finds_itself and len(found) >= FOLLOWING_HITS):
            search(sentences, FOLLOWING_HITS if finds_itself else math.inf)
        left: list[Hit] = []
        if queries and not finds_itself:
            [anything] = self._searched(state, queries[:1], nearest, relevance_floor=False)
            left = _worth_recalling(anything)
            for hit in left:
                found.pop(hit.key, None)
        return searched, self._context("", tuple(found.values()), nearest=tuple(left))

    def _found(self, state: TurnState, query: Query, k: int) -> tuple[Hit, ...]:
        """What a search brings, each memory with what corrects a part of it, and with the words that fit better than its own."""
        [hits] = self._searched(state, [query], k)
        return _with_evidence(_with_corrections(hits, self._corrections_of(hits)))

    def _searched(
        self, state: TurnState, queries: Sequence[Query], k: int, *, relevance_floor: bool | None = None
    ) -> list[list[Hit]]:
        """What each search brings: memories, and where the policy reads them also messages from before the new one.

        The floor is the policy's, where none is given.
        """
        floor = self._policy.relevance_floor if relevance_floor is None else relevance_floor
        if self._policy.searches_messages:
            before = state.message.message_id
            return self._bank.search_all(queries, BOTH_LAYERS, k=k, relevance_floor=floor, before=before)
        return self._bank.search_all(queries, k=k, relevance_floor=floor)

    def _followed(self, state: TurnState) -> MemoryContext | None:
        """The messages of the facts that lead to the answer, where the policy finds such facts."""
        if self._policy.follow is None:
            return None

        def find(text: str) -> list[Message]:
            messages = self._bank.find_messages(text, MESSAGES_FOLLOWED)
            return [one for one in messages if one.role == "user" and one.message_id < state.message.message_id]

        facts = self._policy.follow(state.request, find)
        if not facts:
            return None
        messages = self._bank.messages({fact.message_id for fact in facts})
        hits = [Hit(messages[number], 0.0, {}) for number in dict.fromkeys(fact.message_id for fact in facts)]
        return replace(self._context("", hits), facts=facts)

    def _finish_query(self, state: TurnState, action: Finish) -> MemoryContext | Rejected:
        seen = {hit.record.memory_id: hit for hit in _hits(state) if isinstance(hit.record, MemoryEntry)}
        unknown = [memory_id for memory_id in action.memory_ids if memory_id not in seen]
        if unknown:
            return Rejected(f"No search found memory {unknown[0]}; name only memories that were found.")
        messages = self._bank.messages(action.message_ids)
        missing = [message_id for message_id in action.message_ids if message_id not in messages]
        if missing:
            return Rejected(f"There is no message {missing[0]}.")
        hits = [seen[memory_id] for memory_id in dict.fromkeys(action.memory_ids)]
        hits += [Hit(messages[message_id], 0.0, {}) for message_id in dict.fromkeys(action.message_ids)]
        # Who judges every hit and names none found none; a model that names none often forgot to.
        if not hits and self._policy.relevance_floor:
            hits += _last_found(state)
        return self._context(action.context, hits)

    def _unfinished(self, state: TurnState) -> MemoryContext:
        hits = _last_found(state)
        text = "The search was not finished; this is what it had found."
        return self._context(text, hits, complete=False)

    def _context(
        self, text: str, hits: Sequence[Hit], *, nearest: tuple[Hit, ...] = (), complete: bool = True
    ) -> MemoryContext:
        evidence = self._evidence((*hits, *nearest))
        superseded = self._bank.superseded_in([message.message_id for message in evidence])
        captions = self._bank.photos.captions([photo_id for message in evidence for photo_id in message.photos])
        return MemoryContext(text, tuple(hits), evidence, nearest, complete, superseded, captions)

    def _captions(self, hits: Sequence[Hit]) -> dict[str, str]:
        """Of the photos of messages; an entry has its caption with it."""
        messages = [hit.record for hit in hits if isinstance(hit.record, Message)]
        return self._bank.photos.captions([photo_id for message in messages for photo_id in message.photos])

    def _corrections_of(self, hits: Iterable[Hit]) -> Mapping[int, Sequence[MemoryEntry]]:
        return self._bank.corrections_of({hit.record.memory_id for hit in hits if isinstance(hit.record, MemoryEntry)})

    def _evidence(self, hits: Sequence[Hit]) -> tuple[Message, ...]:
        """The original words under the hits, in order."""
        ranges = [
            evidence for hit in hits if isinstance(hit.record, MemoryEntry) for evidence in hit.record.evidence_ids
        ]
        ranges += [
            EvidenceRange(hit.record.message_id, hit.record.message_id)
            for hit in hits
            if isinstance(hit.record, Message)
        ]
        return tuple(self._bank.messages_in_ranges(ranges)[:MESSAGES_OPENED])

    def _stage(self, state: TurnState, action: Write, staged: tuple[Proposal, ...]) -> tuple[Step, Proposal | None]:
        """Check a write against everything that is known and staged; it is written when the update ends."""
        try:
            change = draft_change(self._bank, state, action)
            if any(change == proposal.change for proposal in staged):
                return Step(action, Rejected("That is staged already; finish when all is done.")), None
            self._bank.check((*(proposal.change for proposal in staged), change))
        except RejectedWriteError as error:
            return Step(action, Rejected(str(error))), None
        observation = Staged(change) if len(staged) < WRITES_AT_MOST else Rejected(TOO_MANY)
        return Step(action, observation), self._proposal(action, change)

    def _offers(self, state: TurnState, memory_ids: Sequence[int]) -> list[Refusal]:
        """To forget each of the memories, not done: the user is asked."""
        own = (state.message.message_id, state.message.message_id)
        offers = []
        for memory_id in memory_ids[:OFFERED_AT_MOST]:
            deletion = DeleteMemory(memory_id=memory_id, reason="The user asked to forget it.", evidence_ids=(own,))
            _step, proposal = self._stage(state, deletion, ())
            if proposal is not None:
                offers.append(refusal_of(proposal, MAY_BE_MEANT))
        return offers

    def _proposal(self, action: Write, change: Change) -> Proposal:
        """The change with what the consent check sees of it."""
        memory_id = action.corrects if type(action) is AddMemory else getattr(action, "memory_id", None)
        memory = None
        if memory_id is not None:
            memory = self._bank.entry(memory_id) or self._bank.replaced_entries([memory_id])[memory_id]
        words = getattr(action, "words", "")
        sentences: tuple[str, ...] = ()
        if isinstance(action, DeleteMemory) and not words and memory is not None:
            held = set(finished_words(memory.text))
            sentences = tuple(said for said in words_going(self._bank, action) if set(finished_words(said)) - held)
        photos = action.photos if isinstance(action, AddMemory) else ()
        return Proposal(change, memory, words=(words,) if words else (), sentences=sentences, photos=photos)

    def _writable(self, update: Update) -> Update:
        """The update less the changes that cannot be written together; the user is told of those."""
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

    async def _ensure_captions(self, state: TurnState, action: AddMemory, meter: UsageMeter) -> None:
        for photo in state.views:
            if photo.number in action.photos and not await in_thread(self._bank.photos.caption, photo.photo_id):
                await caption_photo(self._bank, self._captioner, photo.photo_id, meter.count)


def _names_in(text: str, concepts: Sequence[Concept]) -> list[str]:
    folded = text.casefold()
    known = [one for one in concepts if re.search(rf"(?<!\w){re.escape(one.name.casefold())}(?:['’]?s)?(?!\w)", folded)]
    return [one.name for one in known[-NAMES_AT_MOST:]]


def _sentences_of(text: str) -> list[str]:
    """The first sentences of a text that has several."""
    spans = sentence_spans(text)
    return [text[first:last].strip() for first, last in spans[:SENTENCES_AT_MOST]] if len(spans) > 1 else []


@dataclass(frozen=True, slots=True)
class _Proposed:
    """What a writer wants written, and what code refuses."""

    proposals: tuple[Proposal, ...]
    refusals: tuple[Refusal, ...]


def _refused(state: TurnState, refused: Sequence[tuple[Proposal, str]]) -> TurnState:
    """The state in which the writer reads why these were refused."""
    steps = []
    for step in state.steps:
        if isinstance(step.observation, Staged):
            change = step.observation.change
            again = next((_again(*one) for one in refused if one[0].change == change), None)
            step = step if again is None else replace(step, observation=Rejected(again))
        steps.append(step)
    return replace(state, steps=tuple(steps))


def _again(proposal: Proposal, reason: str) -> str:
    """Why a proposal was refused and what may be put forward instead, for the writer."""
    if not isinstance(proposal.change, Forgetting) or proposal.memory is None:
        return f"{reason} {PUT_IT_DIFFERENTLY}"
    said = "".join(f" The user said: “{one_line(sentence)}”." for sentence in proposal.sentences)
    return f"{reason}{said} {FORGET_A_PART}"


def _left(refusals: Sequence[Refusal], again: Sequence[Proposal]) -> list[Refusal]:
    """The refusals less those that were put forward again: for each of `again` the one that shares most words with it."""
    left = list(refusals)
    for proposal in again:
        words = set(refusal_of(proposal, "").text.casefold().split())
        if left:
            left.remove(max(left, key=lambda refusal: len(words & set(refusal.text.casefold().split()))))
    return left


def _is_whole(answer: Sequence[Step]) -> bool:
    """Whether nothing is to follow: it wrote, all of it could be staged, and it announced no more."""
    return bool(answer) and all(
        isinstance(step.action, Write) and not step.action.more and isinstance(step.observation, Staged)
        for step in answer
    )


def _hits(state: TurnState) -> Iterable[Hit]:
    """Every hit of the stage, the later search first."""
    for step in state.steps:
        if isinstance(step.observation, Searched):
            yield from step.observation.hits


def _with_corrections(hits: Sequence[Hit], corrections: Mapping[int, Sequence[MemoryEntry]]) -> tuple[Hit, ...]:
    """The hits, each followed by the entries that correct a part of it: they are told together."""
    found = {hit.record.memory_id for hit in hits if isinstance(hit.record, MemoryEntry)}
    together: list[Hit] = []
    for hit in hits:
        together.append(hit)
        if isinstance(hit.record, MemoryEntry):
            tied = corrections.get(hit.record.memory_id, ())
            together += [Hit(entry, hit.score, {}) for entry in tied if entry.memory_id not in found]
            found |= {entry.memory_id for entry in tied}
    return tuple(together)


def _worth_recalling(hits: Sequence[Hit]) -> list[Hit]:
    """The hits less what the assistant said that is not near itself: it is found where something else is, and says little.

    Where all that is near are words of the assistant, as in a search for "thanks!", nothing else is worth it.
    """
    kept = [hit for hit in hits if hit.is_near or not _is_the_assistants(hit)]
    near = [hit for hit in kept if hit.is_near]
    return near if near and all(map(_is_the_assistants, near)) else kept


def _is_the_assistants(hit: Hit) -> bool:
    return isinstance(hit.record, Message) and hit.record.role == "assistant"


def _with_evidence(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The hits, each entry followed by the messages of its evidence that fit better than its own words."""
    return tuple(each for hit in hits for each in (hit, *(Hit(message, hit.score, {}) for message in hit.evidence)))


def _last_found(state: TurnState) -> tuple[Hit, ...]:
    """The best of what the last search brought that brought anything."""
    searches = [step.observation.hits for step in state.steps if isinstance(step.observation, Searched)]
    return next((hits[:UNNAMED_HITS] for hits in reversed(searches) if hits), ())


def _spans(messages: Sequence[Message]) -> tuple[EvidenceRange, ...]:
    """One range per run of messages of a conversation."""
    spans: list[EvidenceRange] = []
    previous: Message | None = None
    for message in messages:
        if previous is not None and previous.conversation_id == message.conversation_id:
            spans[-1] = EvidenceRange(spans[-1].first, message.message_id)
        else:
            spans.append(EvidenceRange(message.message_id, message.message_id))
        previous = message
    return tuple(spans)
