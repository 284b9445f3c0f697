"""Searches one owner's memory and opens the evidence of what it finds, for both agents."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from m2a.agents.courtesies import only_thanks
from m2a.agents.introductions import introduction
from m2a.agents.policy import Policy
from m2a.agents.state import (
    SEARCH_HITS,
    SENTENCES_FOR_FACTS,
    MemoryContext,
    Opened,
    Rejected,
    Searched,
    Step,
    TurnState,
)
from m2a.agents.traces import load_trace
from m2a.memory.bank import MemoryBank
from m2a.memory.quotations import sentence_spans
from m2a.types import (
    Action,
    Concept,
    EvidenceOpened,
    EvidenceRange,
    FetchRawMessages,
    FetchRawMessagesByTime,
    Hit,
    MemoryEntry,
    MemorySearched,
    Message,
    Query,
    RecordKey,
    RecordKind,
    SearchRawMessages,
    SearchSemanticMemories,
)

BOTH_LAYERS: frozenset[RecordKind] = frozenset({"entry", "message"})
JUDGED_HITS = 25  # if a value was told twenty times, the newest must be among them
HITS_PER_FURTHER_QUERY = 5  # of a recall
RECALL_CHARACTERS = 1000
NAMES_AT_MOST, SENTENCES_AT_MOST = 3, 4  # in a message, that a recall searches for separately
MESSAGES_OPENED = 40
MESSAGES_SEARCHED = 500  # by the words of a question or a name
MESSAGES_IN_RANGES = 1000


class MemorySearch:
    """The searches that a policy may make. Every call blocks."""

    def __init__(self, bank: MemoryBank, policy: Policy) -> None:
        self._bank = bank
        self._policy = policy

    def search_or_fetch(self, state: TurnState, action: Action) -> tuple[Step, MemorySearched | EvidenceOpened | None]:
        """Carries out a search or a fetch. Returns the step, and the event that reports it unless it was rejected."""
        match action:
            case SearchSemanticMemories():
                return self._search_memory(state, action)
            case SearchRawMessages():
                return self._search_messages(state, action)
            case FetchRawMessagesByTime():
                messages = self._bank.messages_between(action.start, action.end)
                return self._open(action, _ranges(messages), messages)
            case FetchRawMessages():
                ranges = tuple(EvidenceRange(first, last) for first, last in action.ranges)
                if (count := sum(max(0, last - first + 1) for first, last in ranges)) > MESSAGES_IN_RANGES:
                    reason = f"These ranges hold {count} ids, and {MESSAGES_IN_RANGES} is the most; ask for fewer."
                    return Step(action, Rejected(reason)), None
                return self._open(action, ranges, self._bank.messages_in_ranges(ranges))
            case _:
                raise TypeError(f"{type(action).__name__} is neither a search nor a fetch.")

    def recall(self, state: TurnState, *, nearest: int) -> tuple[list[MemorySearched], MemoryContext]:
        """Returns the hits for the new message, with the searches that found them; see `MemoryManager.recall`."""
        before = _statement_before(state.recent)
        photo_ids = tuple(photo.photo_id for photo in state.photos)
        text = state.message.text.strip()[:RECALL_CHARACTERS]
        queries = [Query(text, photo_ids)] if text or photo_ids else []
        if before.strip() and text:
            queries.append(Query(f"{before.strip()[:RECALL_CHARACTERS]}\n{text}"))
        queries += map(Query, _names_in(text, state.concepts))
        sentences = [query for query in map(Query, _sentences_of(text)) if query not in queries]
        searches: list[MemorySearched] = []
        hits_by_key: dict[RecordKey, Hit] = {}

        def search(queries: Sequence[Query], enough: float) -> None:
            results = self._searched(state, queries, SEARCH_HITS)
            corrections = self._corrections_of([hit for hits in results for hit in hits])
            for query, result in zip(queries, results, strict=True):
                if len(hits_by_key) >= enough:
                    break
                best = result if not hits_by_key else result[:HITS_PER_FURTHER_QUERY]
                hits = _with_evidence(_with_corrections(_worth_recalling(best), corrections))
                searches.append(MemorySearched(query, hits))
                for hit in hits:
                    hits_by_key.setdefault(hit.key, hit)

        search(queries, math.inf)
        finds_itself = any(search.hits for search in searches[:1])
        if sentences and not (finds_itself and len(hits_by_key) >= HITS_PER_FURTHER_QUERY):
            search(sentences, HITS_PER_FURTHER_QUERY if finds_itself else math.inf)
        nearest_hits: list[Hit] = []
        if queries and not finds_itself:
            [result] = self._searched(state, queries[:1], nearest, with_far=True)
            nearest_hits = _worth_recalling(result)
            for hit in nearest_hits:
                hits_by_key.pop(hit.key, None)
        return searches, self.context("", tuple(hits_by_key.values()), nearest=nearest_hits, is_corrected=True)

    def follow(self, state: TurnState) -> MemoryContext | None:
        """Returns the messages of the chain of facts that leads to the answer, if the policy finds one in long messages."""
        if self._policy.follow is None or not self._bank.may_have_long_message(SENTENCES_FOR_FACTS):
            return None

        facts = self._policy.follow(state.request, partial(self._earlier_of_user, state))
        if not facts:
            return None
        messages = self._bank.messages({fact.message_id for fact in facts})
        hits = [Hit(messages[number], 0.0, {}) for number in dict.fromkeys(fact.message_id for fact in facts)]
        return replace(self.context("", hits), facts=facts)

    def found_for(self, reply: Message) -> tuple[MemoryContext, ...]:
        """Returns what the searches of a reply found; see `MemoryManager.found_for`."""
        hits_by_key: dict[RecordKey, Hit] = {}
        for search in load_trace(self._bank, reply.message_id).searches:
            for hit in search.hits:
                if not (isinstance(hit.record, MemoryEntry) and hit.record.superseded_by is not None):
                    hits_by_key.setdefault(hit.key, hit)
        return (self.context("", tuple(hits_by_key.values())),) if hits_by_key else ()

    def introductions(self, state: TurnState, concepts: Iterable[Concept]) -> dict[int, str]:
        """Returns, by concept id, the words with which the user introduced each concept before the new message.

        They are "" if the user wrote its name only without words before it.
        """
        introductions = {}
        for concept in concepts:
            earlier = sorted(self._earlier_of_user(state, concept.name), key=lambda message: message.message_id)
            introductions[concept.concept_id] = introduction(concept.name, earlier)
        return introductions

    def context(
        self,
        text: str,
        hits: Sequence[Hit],
        *,
        nearest: Sequence[Hit] = (),
        complete: bool = True,
        is_corrected: bool = False,
    ) -> MemoryContext:
        """Returns a context of these hits and nearest records, with the entries that correct a part of them and with the
        original messages that they rest on. `is_corrected` is whether what corrects the hits is among them already."""
        corrections = self._corrections_of((*(() if is_corrected else hits), *nearest))
        nearest = _with_corrections(nearest, corrections)
        near = {hit.key for hit in nearest}
        hits = [hit for hit in _with_corrections(hits, corrections) if hit.key not in near]
        evidence = self._evidence((*hits, *nearest))
        revisions = self._bank.revisions_in([message.message_id for message in evidence])
        captions = self._captions(evidence)
        return MemoryContext(text, tuple(hits), evidence, tuple(nearest), complete, revisions, captions)

    def _search_memory(
        self, state: TurnState, action: SearchSemanticMemories
    ) -> tuple[Step, MemorySearched | EvidenceOpened | None]:
        photo_ids = tuple(photo.photo_id for photo in state.photos) if action.use_photos else ()
        if not action.query.strip() and not photo_ids:
            return Step(action, Rejected("Give words to look for, or use_photos where photos are attached.")), None
        query = Query(action.query, photo_ids)
        is_first = self._policy.judges_hits and not state.steps
        [results] = self._searched(state, [query], JUDGED_HITS if is_first else SEARCH_HITS)
        return self._searched_step(
            action, query, _with_evidence(_with_corrections(results, self._corrections_of(results)))
        )

    def _search_messages(
        self, state: TurnState, action: SearchRawMessages
    ) -> tuple[Step, MemorySearched | EvidenceOpened | None]:
        messages = self._bank.find_messages(action.query, 4 * SEARCH_HITS + len(state.recent) + 1)
        earlier = [
            message
            for message in messages
            if message.message_id < state.message.message_id
            and (message.role == "user" or not self._policy.judges_hits)
        ][:SEARCH_HITS]
        hits = tuple(Hit(message, 1 / rank, {"bm25": rank}) for rank, message in enumerate(earlier, start=1))
        return self._searched_step(action, Query(action.query), hits)

    def _searched_step(self, action: Action, query: Query, hits: tuple[Hit, ...]) -> tuple[Step, MemorySearched]:
        messages = [hit.record for hit in hits if isinstance(hit.record, Message)]
        revisions = self._bank.revisions_in([message.message_id for message in messages])
        return Step(action, Searched(hits, revisions, self._captions(messages))), MemorySearched(query, hits)

    def _open(
        self, action: Action, ranges: tuple[EvidenceRange, ...], messages: Sequence[Message]
    ) -> tuple[Step, EvidenceOpened]:
        shown = tuple(messages[:MESSAGES_OPENED])
        revisions = self._bank.revisions_in([message.message_id for message in shown])
        observation = Opened(shown, len(messages) - len(shown), revisions, self._captions(shown))
        return Step(action, observation), EvidenceOpened(ranges, shown)

    def _searched(
        self, state: TurnState, queries: Sequence[Query], k: int, *, with_far: bool = False
    ) -> list[list[Hit]]:
        """Returns the hits of each query: memories, and if the policy reads them also messages before the new one.

        Hits far from their words are among them `with_far`, or if the policy judges each hit itself.
        """
        judges = self._policy.judges_hits
        floor = not (with_far or judges)
        if state.stage in self._policy.searches_messages_in:
            before = state.message.message_id
            results = self._bank.search_all(
                queries, BOTH_LAYERS, k=2 * k if judges else k, relevance_floor=floor, before=before
            )
            # Replies of such a policy mostly quote what is found anyway.
            return [[hit for hit in hits if not (judges and _is_the_assistants(hit))][:k] for hits in results]
        return self._bank.search_all(queries, k=k, relevance_floor=floor)

    def _earlier_of_user(self, state: TurnState, text: str) -> list[Message]:
        """Returns the user's messages before the new one that contain words of the text, best match first."""
        messages = self._bank.find_messages(text, MESSAGES_SEARCHED)
        return [m for m in messages if m.role == "user" and m.message_id < state.message.message_id]

    def _captions(self, messages: Sequence[Message]) -> dict[str, str]:
        return self._bank.photos.captions([photo_id for message in messages for photo_id in message.photos])

    def _corrections_of(self, hits: Iterable[Hit]) -> Mapping[int, Sequence[MemoryEntry]]:
        return self._bank.corrections_of({hit.record.memory_id for hit in hits if isinstance(hit.record, MemoryEntry)})

    def _evidence(self, hits: Sequence[Hit]) -> tuple[Message, ...]:
        """Returns the original messages of the hits, in order."""
        ranges = [
            evidence for hit in hits if isinstance(hit.record, MemoryEntry) for evidence in hit.record.evidence_ids
        ]
        ranges += [
            EvidenceRange(hit.record.message_id, hit.record.message_id)
            for hit in hits
            if isinstance(hit.record, Message)
        ]
        return tuple(self._bank.messages_in_ranges(ranges)[:MESSAGES_OPENED])


def _statement_before(recent: Sequence[Message]) -> str:
    """Returns the text of the user's latest message before the new one, without those that only say thanks."""
    for at in reversed(range(len(recent))):
        if recent[at].role == "user" and not only_thanks(recent[at], recent[:at]):
            return recent[at].text
    return ""


def _names_in(text: str, concepts: Sequence[Concept]) -> list[str]:
    folded = text.casefold()
    names = [
        concept.name
        for concept in concepts
        if re.search(rf"(?<!\w){re.escape(concept.name.casefold())}(?:['’]?s)?(?!\w)", folded)
    ]
    return names[-NAMES_AT_MOST:]


def _sentences_of(text: str) -> list[str]:
    """Returns the first sentences of a text that has several."""
    spans = sentence_spans(text)
    return [text[first:last].strip() for first, last in spans[:SENTENCES_AT_MOST]] if len(spans) > 1 else []


def _with_corrections(hits: Sequence[Hit], corrections: Mapping[int, Sequence[MemoryEntry]]) -> tuple[Hit, ...]:
    """Returns the hits, each followed by the entries that correct a part of it."""
    included = {hit.record.memory_id for hit in hits if isinstance(hit.record, MemoryEntry)}
    together: list[Hit] = []
    for hit in hits:
        together.append(hit)
        if isinstance(hit.record, MemoryEntry):
            correcting = corrections.get(hit.record.memory_id, ())
            together += [Hit(entry, hit.score, {}) for entry in correcting if entry.memory_id not in included]
            included |= {entry.memory_id for entry in correcting}
    return tuple(together)


def _worth_recalling(hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits without the assistant's messages that are not near: they are found with others, and say little.

    If all near hits are the assistant's, as in a search for "thanks!", returns only these.
    """
    recalled = [hit for hit in hits if hit.is_near or not _is_the_assistants(hit)]
    near = [hit for hit in recalled if hit.is_near]
    return near if near and all(map(_is_the_assistants, near)) else recalled


def _is_the_assistants(hit: Hit) -> bool:
    return isinstance(hit.record, Message) and hit.record.role == "assistant"


def _with_evidence(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Returns the hits, each entry followed by those of its evidence messages that match better than its own words."""
    return tuple(part for hit in hits for part in (hit, *(Hit(message, hit.score, {}) for message in hit.evidence)))


def _ranges(messages: Sequence[Message]) -> tuple[EvidenceRange, ...]:
    """Returns one range per run of messages in the same conversation."""
    ranges: list[EvidenceRange] = []
    previous: Message | None = None
    for message in messages:
        if previous is not None and previous.conversation_id == message.conversation_id:
            ranges[-1] = EvidenceRange(ranges[-1].first, message.message_id)
        else:
            ranges.append(EvidenceRange(message.message_id, message.message_id))
        previous = message
    return tuple(ranges)
