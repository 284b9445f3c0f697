"""The rules that choose the steps of both agents where no language model is connected. They know English only.

What a message does (`acts`), whether a memory answers (`relevance`) and which one a correction means (`corrections`) are
small learned decisions over features computed in plain code; what is kept, quoted, counted and exchanged are rules.
Every stage reads the state anew, so a step never depends on an earlier call.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from m2a.agents.offline.acts import utterances
from m2a.agents.offline.answers import DECLINED, SAME_PHOTO, answer, nearest, photo_concepts, selected
from m2a.agents.offline.corrections import find_target, is_known
from m2a.agents.offline.forgetting import find_forgotten, what_stays
from m2a.agents.offline.names import find_names, mentioned
from m2a.agents.offline.questions import Question, content_words, parse, questions_of
from m2a.agents.offline.relevance import answers, is_sure
from m2a.agents.offline.replacements import Target
from m2a.agents.offline.replies import CONNECT, acknowledgement, cannot, small_talk
from m2a.agents.offline.sense import Logistic, Sense
from m2a.agents.offline.statements import Observation, Reading, read, with_concepts
from m2a.agents.offline.text import content, meets, stem, stems, words_for
from m2a.agents.state import Decision, MemoryContext, Rejected, Searched, TurnState
from m2a.types import (
    Action,
    AddMemory,
    Answer,
    DeleteMemory,
    Finish,
    Hit,
    MemoryEntry,
    QueryMemory,
    ReplaceMemory,
    SearchSemanticMemories,
    UpdateMemory,
)
from models.chat_model import TokenUsage
from models.text_encoder import MINILM, TextEncoder, load_text_encoder

_OBSERVATIONS = 6
_SEARCHES = 6
_NEAREST = "Not the answer, but the nearest to it:"


class OfflineRules:
    """The policy without a language model: it looks up, quotes, counts and keeps, and never invents.

    `encoder` must be the embedded all-MiniLM-L6-v2, for which the decisions were learned; it is loaded at the first
    use where none is given. `learned` stands in for the committed decisions, in a leave-one-out evaluation.
    """

    name = "offline rules"
    calls_model = False

    def __init__(self, encoder: TextEncoder | None = None, learned: Mapping[str, Logistic] | None = None) -> None:
        self._encoder = encoder
        self._learned = learned
        self._made: Sense | None = None

    async def decide(self, state: TurnState) -> Decision:
        decide = {
            "query": _query,
            "manage query": _manage_query,
            "update": _update,
            "manage update": _manage_update,
        }[state.stage]
        return Decision(await asyncio.to_thread(lambda: decide(state, self._sense())))

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        parts = await asyncio.to_thread(lambda: [part for part in _reply_parts(state, self._sense()) if part])
        for index, part in enumerate(parts):
            yield part if index == 0 else f"\n\n{part}"

    def _sense(self) -> Sense:
        if self._made is None:
            encoder = self._encoder or load_text_encoder(MINILM, Path(sys.prefix) / "share" / "m2a")
            self._made = Sense(encoder, self._learned)
        return self._made


def _query(state: TurnState, sense: Sense) -> Action:
    asked = questions_of(state.message, state.recent, state.concepts, sense)
    done = sum(isinstance(step.action, QueryMemory) for step in state.steps)
    return QueryMemory(query=asked[done].text) if done < len(asked) else Answer()


def _manage_query(state: TurnState, sense: Sense) -> Action:
    """Search for the question, its message and its words, then finish with the memories that answer."""
    question = _parsed(state)
    hits = _found(state)
    if question.asks == "who is this":
        if not state.steps:
            return SearchSemanticMemories(use_photos=True)
        found = photo_concepts(MemoryContext("", hits, ()), state.concepts)[:2]
        return _finish([entry for _, _, entry in found] if found and found[0][0] >= SAME_PHOTO else [])
    lookups = _lookups(question, state)
    if len(state.steps) < len(lookups) and (not state.steps or state.rounds_left > 1):
        return SearchSemanticMemories(query=lookups[len(state.steps)])
    matches = answers(question, hits, state.concepts, sense)
    return _finish(selected(question, matches), unsure=not is_sure(matches))


def _finish(entries: Sequence[MemoryEntry], *, unsure: bool = False) -> Finish:
    quoted = " ".join(f'"{entry.text}"' for entry in entries)
    ids = tuple(entry.memory_id for entry in entries)
    return Finish(context=f"{_NEAREST} {quoted}" if entries and unsure else quoted, memory_ids=ids)


def _parsed(state: TurnState) -> Question:
    return parse(state.request, state.message.said_at.date(), context=state.message.text, has_photos=bool(state.photos))


def _found(state: TurnState) -> tuple[Hit, ...]:
    searches = [step.observation for step in state.steps if isinstance(step.observation, Searched)]
    return tuple(hit for search in searches for hit in search.hits)


def _update(state: TurnState, sense: Sense) -> Action:
    reading = _reading(state, sense)
    if not reading:
        return Finish()
    wishes = [one.text for one in reading.observations] + [f"Forget: {what}" for what in reading.forgets]
    return UpdateMemory(request="\n".join(wishes))


def _manage_update(state: TurnState, sense: Sense) -> Action:
    """Search for each thing to keep or forget, then write; one step a call. A rejected wording is put differently once."""
    reading = _reading(state, sense)
    searched = [step.action.query for step in state.steps if isinstance(step.action, SearchSemanticMemories)]
    for query in _searches(state, reading):
        if query not in searched:
            return SearchSemanticMemories(query=query)
    tried = [step for step in state.steps if isinstance(step.action, AddMemory | DeleteMemory)]
    for write, observation in _writes(state, reading, sense):
        done = [step for step in tried if step.action == write]
        if not done:
            return write
        if isinstance(done[0].observation, Rejected) and isinstance(write, ReplaceMemory) and observation:
            for other in _put_differently(state, write, observation, reading):
                again = [step for step in tried if step.action == other]
                if not again:
                    return other
                if not isinstance(again[0].observation, Rejected):
                    break
    return Finish()


def _put_differently(
    state: TurnState, write: ReplaceMemory, observation: Observation, reading: Reading
) -> list[AddMemory]:
    """A rejected replacement with the user's new words before the old ones that they mend; else the new words alone."""
    joined = write.model_copy(update={"text": f"{observation.text} {write.text}"})
    return [joined] * (observation.text not in write.text) + [_addition(state, observation, reading)]


def _searches(state: TurnState, reading: Reading) -> list[str]:
    """What to look for before writing: each observation, its names, and what was said just before."""
    texts = [one.text for one in reading.observations] + list(reading.forgets)
    names = [" ".join(find_names(text)[:3]) for text in texts]
    words = [" ".join(content_words(text)[:3]) for text in texts]
    previous = [message.text for message in state.recent if message.role == "user" and message.text.strip()]
    queries = [*texts, *previous[-1:], *names, *words]
    return list(dict.fromkeys(query for query in queries if query.strip()))[:_SEARCHES]


def _writes(state: TurnState, reading: Reading, sense: Sense) -> list[tuple[Action, Observation | None]]:
    hits = _found(state)
    newest = [message.message_id for message in reversed(state.recent) if message.role == "user"]
    gone: set[int] = set()
    writes: list[tuple[Action, Observation | None]] = []
    for what in reading.forgets:
        for entry in find_forgotten(what, hits, newest):
            if entry.memory_id not in gone:
                gone.add(entry.memory_id)
                writes.append((_forget(state, what, entry), None))
    for observation in reading.observations:
        left = [hit for hit in hits if not (isinstance(hit.record, MemoryEntry) and hit.record.memory_id in gone)]
        target = find_target(observation, state.message.text, left, newest, state.concepts, sense)
        if target is not None:
            gone.add(target.entry.memory_id)
            writes.append((_replace(state, observation, target, reading), observation))
        elif not is_known(observation, left):
            writes.append((_addition(state, observation, reading), observation))
    return writes


def _forget(state: TurnState, what: str, entry: MemoryEntry) -> Action:
    """The memory goes; where it holds more than is to be forgotten, the rest takes its place."""
    reason, evidence = f"The user asked: forget {what}", _evidence(state, entry)
    rest = "" if entry.photo_ids else what_stays(what, entry.text)
    if not rest:
        return DeleteMemory(memory_id=entry.memory_id, reason=reason, evidence_ids=evidence)
    first, last = entry.happened or (None, None)
    return ReplaceMemory(
        memory_id=entry.memory_id,
        reason=reason,
        text=rest,
        evidence_ids=evidence,
        kind=entry.kind if entry.kind != "update record" else "fact",
        concepts=with_concepts(Observation(rest), state.concepts),
        happened_from=first,
        happened_to=last,
    )


def _replace(state: TurnState, observation: Observation, target: Target, reading: Reading) -> ReplaceMemory:
    old = target.entry
    kept = old.happened if target.keeps_old else None
    first, last = observation.happened or kept or (None, None)
    return ReplaceMemory(
        memory_id=old.memory_id,
        reason=f"The user corrected it: {state.message.text}"[:500],
        text=target.text,
        evidence_ids=_evidence(state, old),
        kind=observation.kind if old.kind == "update record" or not target.keeps_old else old.kind,
        photos=_photos(state, observation, reading),
        concepts=with_concepts(Observation(target.text, concepts=observation.concepts), state.concepts),
        happened_from=first,
        happened_to=last,
    )


def _addition(state: TurnState, observation: Observation, reading: Reading) -> AddMemory:
    first, last = observation.happened or (None, None)
    return AddMemory(
        text=observation.text,
        evidence_ids=_own_evidence(state, observation.text),
        kind=observation.kind,
        photos=_photos(state, observation, reading),
        concepts=with_concepts(observation, state.concepts),
        happened_from=first,
        happened_to=last,
    )


def _photos(state: TurnState, observation: Observation, reading: Reading) -> tuple[int, ...]:
    """A message's photos go with the observation that names something, or else with its first."""
    naming = [one for one in reading.observations if one.concepts] or list(reading.observations[:1])
    return tuple(photo.number for photo in state.photos) if observation in naming else ()


def _own_evidence(state: TurnState, text: str) -> tuple[tuple[int, int], ...]:
    """The message, and the user's message before it that a pronoun's name was taken from."""
    own = state.message
    unsaid = content(text) - content(own.text)
    earlier = [message for message in state.recent if message.role == "user" and content(message.text) & unsaid]
    cited = [message.message_id for message in earlier[-1:]] + [own.message_id]
    return tuple((message_id, message_id) for message_id in cited)


def _evidence(state: TurnState, entry: MemoryEntry) -> tuple[tuple[int, int], ...]:
    own = (state.message.message_id, state.message.message_id)
    return (*((first, last) for first, last in entry.evidence_ids if (first, last) != own), own)


def _lookups(question: Question, state: TurnState) -> list[str]:
    """What to search for, in order: the question as asked, the message that it stands in, its names and its words.

    Short ones too, since the word path wants a third of a query's words in a memory.
    """
    known = [concept.name for concept in mentioned(question.text, state.concepts)]
    if question.asks == "count":
        noun = stem(question.noun)
        known += [one.name for one in state.concepts if any(meets(noun, stems(alias)) for alias in one.aliases)]
    names = list(dict.fromkeys([*question.names, *known]))
    lookups = [question.text, question.context, " ".join(names[:3])]
    if question.asks == "count":
        lookups.append(" ".join(words_for(stem(question.noun))[:12]))
    lookups += [" ".join(question.words[start : start + 3]) for start in (0, 3)]
    return list(dict.fromkeys(text for text in lookups if text.strip()))


def _reading(state: TurnState, sense: Sense) -> Reading:
    reading = read(state.message, state.recent, state.concepts, sense)
    return Reading(reading.observations[:_OBSERVATIONS], reading.forgets[:3])


def _reply_parts(state: TurnState, sense: Sense) -> list[str]:
    parts = [acknowledgement(_reading(state, sense))]
    asked = questions_of(state.message, state.recent, state.concepts, sense)
    today = state.message.said_at.date()
    given = []
    for index, question in enumerate(asked):
        context = state.context[index] if index < len(state.context) else MemoryContext("", (), ())
        found = [hit.record for hit in context.hits if isinstance(hit.record, MemoryEntry)]
        sure = not context.text.startswith(_NEAREST)
        if not context.complete:  # out of rounds: the memories are what was found, not what was chosen
            matches = answers(question, context.hits, state.concepts, sense)
            found, sure = selected(question, matches), is_sure(matches)
        if sure or not found:
            said = answer(question, found, context, state.concepts, today, state.recalled)
        else:
            said = f"{DECLINED} {nearest(found, context)}"
        general = said == DECLINED and not question.about_self and not mentioned(question.text, state.concepts)
        given.append(f"{said} {CONNECT}" if general else said)
    answered = [said for said in given if not said.startswith(DECLINED)]
    parts += list(dict.fromkeys(answered)) or given[:1]
    if answered and len(answered) < len(given):
        parts.append("The rest of what you ask I don't have in memory.")
    return parts if any(parts) else [_other(state, sense)]


def _other(state: TurnState, sense: Sense) -> str:
    if state.photos and not state.message.text.strip():
        return "I've seen the photo. Tell me who or what it shows, and I'll remember it."
    if any(utterance.act == "command" for utterance in utterances(state.message.text, sense)):
        return cannot()
    return small_talk(state.message.text)
