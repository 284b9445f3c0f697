"""The query stage: search both layers for a question, then finish with the memories that answer it.

If no memory answers, the raw log is searched: it also has what these rules could not read or did not keep.
"""

from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.offline.corrections import perhaps_changed_by
from m2a.agents.offline.interpretation import Interpretation
from m2a.agents.offline.names import mentioned
from m2a.agents.offline.questions import Question
from m2a.agents.offline.recognised import memories_of
from m2a.agents.offline.relevance import SURE, Match, answers, is_sure, rests_on, tells_anothers
from m2a.agents.offline.said import find_nearest_unread, find_said, find_spoken_of, told_then
from m2a.agents.offline.selection import selected
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.shown import asks_for_photos, showing
from m2a.agents.offline.skills import listed_kind
from m2a.agents.offline.text import meets, stem, stems, words_for
from m2a.agents.state import Opened, Searched, TurnState
from m2a.types import (
    Action,
    DateInterval,
    FetchRawMessages,
    FetchRawMessagesByTime,
    Finish,
    Hit,
    MemoryEntry,
    Message,
    SearchRawMessages,
    SearchSemanticMemories,
)

_NEAREST = "Not the answer, but the nearest to it:"
_MAX_QUERY = 800  # characters
_MAX_SHOWN = 4  # messages with photos
_MAX_CHANGES = 2  # later memories quoted after an answer that they may change
_MAX_OPENED = 500  # ids of messages


def next_step(state: TurnState, heard: Interpretation, sense: Sense) -> Action:
    """Returns the next search, for the question, its message or its words, and then `Finish` with the memories that answer."""
    question = next((q for q in heard.questions if q.text == state.request), None)
    if question is None:
        return Finish()
    hits = _hits(state)
    actions = [step.action for step in state.steps]
    if question.kind.answer == "recognised":
        return _next_of_photos(state, hits, actions)
    wants_photos = asks_for_photos(question)
    if (wants_photos or question.kind.answer == "said on the day") and question.within is not None:
        if opening := _next_of_days(question.within, state):
            return opening
        if question.kind.answer == "said on the day":
            return Finish(message_ids=_ids(told_then(_said_on(question.within, state), state, sense)))
        on_day = showing(_said_on(question.within, state), state.message.message_id)
        if on_day or question.kind.answer != "shown":
            return Finish(message_ids=_ids(on_day[-_MAX_SHOWN:]))
    if question.is_read:
        lookups = _lookups(question, state)
        searched = sum(isinstance(action, SearchSemanticMemories) for action in actions)
        if searched < len(lookups) and (not actions or state.rounds_left > 2):
            return SearchSemanticMemories(query=lookups[searched][:_MAX_QUERY])
    matches: list[Match] = answers(question, hits, state.concepts, sense) if question.is_read else []
    if is_sure(matches):
        return _finish(_with_changes(question, matches, sense))
    raw_search = SearchRawMessages(query=question.text[:_MAX_QUERY])
    if raw_search not in actions and state.rounds_left > 1:
        return raw_search
    if wants_photos and (shown := showing(_messages(state), state.message.message_id)):
        return Finish(message_ids=_ids(shown[:_MAX_SHOWN]))
    found = [m for m in find_said(question, _messages(state), state) if not tells_anothers(question.text, m.text)]
    from_found = [match for match in matches if any(rests_on(match.entry, [m.message_id]) for m in found)]
    if from_found:  # shared words make the memory more certain than the learned decision
        best = [replace(match, score=max(match.score, SURE)) for match in from_found]
        return _finish(selected(question, [*best, *(match for match in matches if match not in from_found)]))
    if found:
        return Finish(context=" ".join(f'"{message.text}"' for message in found), message_ids=_ids(found))
    if not question.is_read:
        near = find_nearest_unread(question, _messages(state), state)
        return Finish(context=_NEAREST, message_ids=_ids(near), only_near=True)
    nearest = _with_changes(question, matches, sense)
    if not nearest and (spoken := find_spoken_of(question, _messages(state), state, sense)):
        return Finish(context=_NEAREST, message_ids=_ids(spoken), only_near=True)
    return _finish(nearest, only_near=True)


def _with_changes(question: Question, matches: Sequence[Match], sense: Sense) -> list[MemoryEntry]:
    """Returns the memories that answer or are nearest, and what was told since then that may change the first of them."""
    chosen = selected(question, matches)
    if not chosen or question.kind.answer != "quoted":
        return chosen
    others = [match.entry for match in matches if match.entry not in chosen]
    return [*chosen, *perhaps_changed_by(chosen[0], others, sense)[-_MAX_CHANGES:]]


def _next_of_days(days: DateInterval, state: TurnState) -> FetchRawMessagesByTime | FetchRawMessages | None:
    """Returns the action that opens the messages of these days, or the rest of them; None if all are open."""
    opened = [step.observation for step in state.steps if isinstance(step.observation, Opened)]
    if not opened:
        return FetchRawMessagesByTime(start=days.first, end=days.last)
    last = opened[-1].messages[-1].message_id if opened[-1].messages else 0
    end = min(last + _MAX_OPENED, state.message.message_id - 1)
    if not opened[-1].more or state.rounds_left < 2 or last >= end:
        return None
    return FetchRawMessages(ranges=((last + 1, end),))


def _next_of_photos(state: TurnState, hits: Sequence[Hit], actions: Sequence[Action | None]) -> Action:
    """Returns a search with the photos, then one by the recognised names if that did not find all memories, then `Finish`."""
    if not actions:
        return SearchSemanticMemories(use_photos=True)
    names = {match.concept.name for view in state.photos if (match := view.recognition.recognised)}
    memories = memories_of(state.photos, hits)
    by_name = SearchSemanticMemories(query=" ".join(sorted(names))[:_MAX_QUERY])
    if len(memories) < len(names) and by_name not in actions and state.rounds_left > 1:
        return by_name
    return _finish(memories)


def _finish(entries: Sequence[MemoryEntry], *, only_near: bool = False) -> Finish:
    quoted = " ".join(f'"{entry.text}"' for entry in entries)
    ids = tuple(entry.memory_id for entry in entries)
    context = f"{_NEAREST} {quoted}" if entries and only_near else quoted
    return Finish(context=context, memory_ids=ids, only_near=only_near)


def _ids(messages: Sequence[Message]) -> tuple[int, ...]:
    return tuple(message.message_id for message in messages)


def _hits(state: TurnState) -> tuple[Hit, ...]:
    searches = [step.observation for step in state.steps if isinstance(step.observation, Searched)]
    return tuple(hit for search in searches for hit in search.hits)


def _opened(state: TurnState) -> list[Message]:
    return [m for step in state.steps if isinstance(step.observation, Opened) for m in step.observation.messages]


def _said_on(days: DateInterval, state: TurnState) -> list[Message]:
    return [message for message in _opened(state) if days.first <= message.said_at.date() <= days.last]


def _messages(state: TurnState) -> list[Message]:
    """Returns the messages that the raw log search found by words; a memory search also brings messages that are only near."""
    return [
        hit.record
        for step in state.steps
        if isinstance(step.action, SearchRawMessages) and isinstance(step.observation, Searched)
        for hit in step.observation.hits
        if isinstance(hit.record, Message)
    ]


def _lookups(question: Question, state: TurnState) -> list[str]:
    """Returns the queries in order: the question, and its message, which may name what the question means; if many memories
    answer together, also the names and nouns that it is about, or the members of the kind that it lists."""
    lookups = [question.text, question.context]
    if question.kind.answer in ("counted", "with photos", "shown"):
        noun = stem(question.noun)
        names = [concept.name for concept in mentioned(question.text, state.concepts)]
        names += [c.name for c in state.concepts if noun and any(meets(noun, stems(alias)) for alias in c.aliases)]
        lookups.append(" ".join(list(dict.fromkeys([*question.names, *names]))[:3]))
        lookups.append(" ".join(words_for(noun)[:12]) if noun else "")
    elif listed_kind(question):  # first, since the first search brings the most
        lookups.insert(0, " ".join(words_for(stem(question.noun))))
    return list(dict.fromkeys(text for text in lookups if text.strip()))
