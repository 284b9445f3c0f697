"""The query stage: search both layers for a question, then finish with the memories that answer it.

If no memory answers, the raw log is searched: it also has what these rules could not read or did not keep.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from m2a.agents.offline.answer_checks import has_answer_of_kind
from m2a.agents.offline.corrections import perhaps_changed_by
from m2a.agents.offline.follow_ups import asks_further, followed_up
from m2a.agents.offline.interpretation import Interpretation
from m2a.agents.offline.messages import (
    find_message_about,
    find_messages,
    find_messages_for_unread,
    ids_with_corrections,
    statements_among,
)
from m2a.agents.offline.names import mentioned
from m2a.agents.offline.photo_answers import asks_for_newest_photos, asks_for_photos, memories_of, with_photos
from m2a.agents.offline.questions import Question
from m2a.agents.offline.relevance import PERHAPS, SURE, Match, as_one, cannot_answer, find_matches, is_sure
from m2a.agents.offline.selection import selected
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.skills import listed_kind
from m2a.agents.offline.stated_answers import asks_for_all
from m2a.agents.offline.text import has_equivalent, stem, stems, words_for
from m2a.agents.state import Opened, Searched, TurnState
from m2a.types import (
    Action,
    Certainty,
    DateInterval,
    FetchRawMessages,
    FetchRawMessagesByTime,
    Finish,
    MemoryEntry,
    Message,
    SearchRawMessages,
    SearchSemanticMemories,
)

_NEAREST = "Not the answer, but the nearest to it:"
_MAX_QUERY = 800  # characters
_MAX_WITH_PHOTOS = 4  # messages
_MAX_CHANGES = 2  # later memories quoted after an answer that they may change
_MAX_OPENED = 500  # ids of messages
_NEWEST = timedelta(days=90)  # in which photos are looked for if no day is named


def next_step(state: TurnState, interpretation: Interpretation, sense: Sense) -> Action:
    """Returns the next search, for the question, its message or its words, and then `Finish` with the memories that answer."""
    question = next((question for question in interpretation.questions if question.text == state.request), None)
    if question is None:
        return Finish()
    if question.kind.reply_form == "recognised":
        return (
            _finish(memories_of(state.photos, state.hits)) if state.steps else SearchSemanticMemories(use_photos=True)
        )
    if step := _step_of_days(question, state, sense) or _next_search(question, state):
        return step
    matches = find_matches(question, state.hits, state.concepts, sense) if question.is_read else []
    if is_sure(matches):
        return _finish(_with_changes(question, matches, sense))
    if entries := followed_up(question, matches, state):
        return _finish(entries)
    raw_search = SearchRawMessages(query=question.text[:_MAX_QUERY])
    if raw_search not in [step.action for step in state.steps] and state.rounds_left > 1:
        return raw_search
    return _from_raw_log(question, matches, state, sense) or _with_the_nearest(question, matches, state, sense)


def _step_of_days(question: Question, state: TurnState, sense: Sense) -> Action | None:
    """Returns the next step for what was told or shown on days that the question names, or of late; None if it asks otherwise."""
    wants_photos, wants_statements = asks_for_photos(question), question.kind.reply_form == "said on the day"
    days = _newest_days(state) if asks_for_newest_photos(question) else question.within
    if days is None or not (wants_photos or wants_statements):
        return None
    if opening := _next_opening(days, state):
        return opening
    messages = _opened_of(days, state)
    if wants_statements:
        return Finish(message_ids=_ids(statements_among(messages, state, sense)))
    shown = with_photos(messages)
    if question.within is None:  # a photo beside a question was shown to ask, not to tell
        shown = [message for message in shown if not message.text.rstrip().endswith("?")] or shown
    if shown or question.kind.reply_form != "shown":
        return Finish(message_ids=_ids(shown[-_MAX_WITH_PHOTOS:]))
    return None


def _next_search(question: Question, state: TurnState) -> SearchSemanticMemories | None:
    """Returns the next search of the memories, None if all are done or too few rounds are left."""
    queries = _queries(question, state) if question.is_read else []
    searched = sum(isinstance(step.action, SearchSemanticMemories) for step in state.steps)
    if searched < len(queries) and (not state.steps or state.rounds_left > 2):
        return SearchSemanticMemories(query=queries[searched][:_MAX_QUERY])
    return None


def _from_raw_log(question: Question, matches: Sequence[Match], state: TurnState, sense: Sense) -> Finish | None:
    """Returns the end with messages that answer, or the memories made from them; None if no message does."""
    messages = _found_messages(state)
    if asks_for_photos(question) and (shown := with_photos(messages)):
        return Finish(message_ids=_ids(shown[:_MAX_WITH_PHOTOS]))
    found = find_messages(question, messages, state, sense)
    answering = [message for message in found if not cannot_answer(question, message.text)]
    from_messages = [m for m in matches if any(m.entry.rests_on_message(told.message_id) for told in answering)]
    if from_messages:  # shared words make the memory more certain than the learned decision
        best = [replace(match, score=max(match.score, SURE)) for match in from_messages]
        others = [match for match in matches if match not in from_messages]
        return _finish(_with_changes(question, [*best, *others], sense))
    if answering:
        ids = ids_with_corrections(question, answering, state)
        return Finish(context=" ".join(f'"{message.text}"' for message in answering), message_ids=ids)
    return None


def _with_the_nearest(question: Question, matches: Sequence[Match], state: TurnState, sense: Sense) -> Finish:
    """Returns the end without a sure answer: with the nearest memories, or else messages, if there are any."""
    if nearest := _with_changes(question, matches, sense):
        best = matches[0]
        has_answer = has_answer_of_kind(question, as_one(best.group).text) is not False
        may_answer = has_answer and not best.tells_otherwise and best.score >= PERHAPS
        return _finish(nearest, answers="perhaps" if may_answer else "no")
    if matches:
        return Finish(answers="no")
    messages = _found_messages(state)
    if question.is_read:
        near_messages = find_message_about(question, messages, state, sense)
    else:
        near_messages = find_messages_for_unread(question, messages, state)
    ids = ids_with_corrections(question, near_messages, state)
    return Finish(context=_NEAREST if near_messages else "", message_ids=ids, answers="no")


def _with_changes(question: Question, matches: Sequence[Match], sense: Sense) -> list[MemoryEntry]:
    """Returns the memories that answer or are nearest, and what was told since then that may change the first, or any listed."""
    chosen = selected(question, matches)
    if not chosen or question.kind.reply_form != "quoted":
        return chosen
    others = [match.entry for match in matches if match.entry not in chosen]
    first = chosen if asks_for_all(question) else chosen[:1]
    changes = {later.memory_id: later for entry in first for later in perhaps_changed_by(entry, others, sense)}
    return [*chosen, *[changes[memory_id] for memory_id in sorted(changes)][-_MAX_CHANGES:]]


def _newest_days(state: TurnState) -> DateInterval:
    today = state.message.said_at.date()
    return DateInterval(today - _NEWEST, today)


def _next_opening(days: DateInterval, state: TurnState) -> FetchRawMessagesByTime | FetchRawMessages | None:
    """Returns the action that opens the messages of these days, or the rest of them; None if all are open."""
    opened = [step.observation for step in state.steps if isinstance(step.observation, Opened)]
    if not opened:
        return FetchRawMessagesByTime(start=days.first, end=days.last)
    if not opened[-1].more or state.rounds_left < 2:
        return None
    first = opened[-1].messages[-1].message_id + 1
    last = min(first + _MAX_OPENED, state.message.message_id) - 1
    return FetchRawMessages(ranges=((first, last),)) if first <= last else None


def _finish(entries: Sequence[MemoryEntry], *, answers: Certainty = "surely") -> Finish:
    quoted = " ".join(f'"{entry.text}"' for entry in entries)
    ids = tuple(entry.memory_id for entry in entries)
    context = f"{_NEAREST} {quoted}" if entries and answers != "surely" else quoted
    return Finish(context=context, memory_ids=ids, answers=answers)


def _ids(messages: Sequence[Message]) -> tuple[int, ...]:
    return tuple(message.message_id for message in messages)


def _opened_of(days: DateInterval, state: TurnState) -> list[Message]:
    """Returns the opened messages of these days before the user's new message."""
    opened = [step.observation for step in state.steps if isinstance(step.observation, Opened)]
    messages = [message for observation in opened for message in observation.messages]
    return [
        message
        for message in messages
        if days.first <= message.said_at.date() <= days.last and message.message_id < state.message.message_id
    ]


def _found_messages(state: TurnState) -> list[Message]:
    """Returns the messages that the raw log search found by words; a memory search also brings messages that are only near."""
    return [
        hit.record
        for step in state.steps
        if isinstance(step.action, SearchRawMessages) and isinstance(step.observation, Searched)
        for hit in step.observation.hits
        if isinstance(hit.record, Message)
    ]


def _queries(question: Question, state: TurnState) -> list[str]:
    """Returns the queries in order: the question, and its message, which may name what the question means.

    If many memories answer together, the names and nouns that the question is about follow. The members of a kind that it
    lists come first, since the first search brings the most.
    """
    queries = [question.text, question.context]
    if asks_further(question):
        queries += [message.text for message in state.recent[-2:]]  # the last question and its answer
    if question.kind.is_answered_by_many:
        noun = stem(question.noun)
        names = [concept.name for concept in mentioned(question.text, state.concepts)]
        names += [
            c.name for c in state.concepts if noun and any(has_equivalent(noun, stems(alias)) for alias in c.aliases)
        ]
        queries.append(" ".join(list(dict.fromkeys([*question.names, *names]))[:3]))
        queries.append(" ".join(words_for(noun)[:12]) if noun else "")
    elif listed_kind(question):
        queries.insert(0, " ".join(words_for(stem(question.noun))))
    return list(dict.fromkeys(text for text in queries if text.strip()))
