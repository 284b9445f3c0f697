"""The rules that choose the steps of both agents where no language model is connected. They know English only.

They rest on grammar rather than on stories: what a sentence does (`speech`), which facts it holds (`statements`),
which memory it contradicts (`corrections`), what a question asks for (`questions`) and whether a memory answers it
(`relevance`). Every stage reads the state anew, so a step never depends on an earlier call.
"""

from collections.abc import AsyncIterator, Sequence

from m2a.agents.offline.answers import DECLINED, answer, photo_concepts, selected
from m2a.agents.offline.corrections import find_forgotten, find_target, is_known
from m2a.agents.offline.names import mentioned
from m2a.agents.offline.questions import Question, parse, questions_of
from m2a.agents.offline.relevance import answers
from m2a.agents.offline.replies import CONNECT, acknowledgement, cannot, small_talk
from m2a.agents.offline.speech import utterances
from m2a.agents.offline.statements import Observation, Reading, read, with_concepts
from m2a.agents.offline.text import equivalents
from m2a.agents.state import Decision, MemoryContext, Rejected, Searched, Staged, TurnState
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

_OBSERVATIONS = 6
_EXPANDED_WORDS = 30
# Answers that want everything there is, not the first that fits.
_WIDE = ("count", "about", "identity", "show", "thing", "noun")


class OfflineRules:
    """The policy without a language model: it looks up, quotes, counts and keeps, and never invents."""

    name = "offline rules"
    calls_model = False

    async def decide(self, state: TurnState) -> Decision:
        decide = {
            "query": _query,
            "manage query": _manage_query,
            "update": _update,
            "manage update": _manage_update,
        }[state.stage]
        return Decision(decide(state))

    async def reply(self, state: TurnState) -> AsyncIterator[str | TokenUsage]:
        parts = [part for part in _reply_parts(state) if part]
        for index, part in enumerate(parts):
            yield part if index == 0 else f"\n\n{part}"


def _query(state: TurnState) -> Action:
    asked = _questions(state)
    done = sum(isinstance(step.action, QueryMemory) for step in state.steps)
    return QueryMemory(query=asked[done].text) if done < len(asked) else Answer()


def _manage_query(state: TurnState) -> Action:
    question = parse(state.request, state.message.said_at.date(), has_photos=bool(state.photos))
    searches = [step.observation for step in state.steps if isinstance(step.observation, Searched)]
    hits = tuple(hit for search in searches for hit in search.hits)
    tried = len(state.steps)
    if question.asks == "who is this":
        if not tried:
            return SearchSemanticMemories(use_photos=True)
        found = photo_concepts(MemoryContext("", hits, ()), state.concepts)[:2]
        return Finish(
            context=_summary([entry for _, _, entry in found]),
            memory_ids=tuple(entry.memory_id for _, _, entry in found),
        )
    if not tried:
        return SearchSemanticMemories(query=state.request)
    matches = answers(question, hits, state.concepts)
    if (not matches or question.asks in _WIDE) and tried < 2 and state.rounds_left > 1:
        return SearchSemanticMemories(query=_expanded(question, state))
    chosen = selected(question, matches) if matches else []
    return Finish(
        context=_summary([match.entry for match in chosen]),
        memory_ids=tuple(match.entry.memory_id for match in chosen),
    )


def _update(state: TurnState) -> Action:
    reading = _reading(state)
    if not reading:
        return Finish()
    wishes = [one.text for one in reading.observations] + [f"Forget: {what}" for what in reading.forgets]
    return UpdateMemory(request="\n".join(wishes))


def _manage_update(state: TurnState) -> Action:
    """Search for each thing to keep or forget, then write; one step a call."""
    reading = _reading(state)
    wanted = _searches(state, reading)
    searched = [step.action.query for step in state.steps if isinstance(step.action, SearchSemanticMemories)]
    for query in wanted:
        if query not in searched:
            return SearchSemanticMemories(query=query)
    writes = _writes(state, reading)
    tried = sum(
        isinstance(step.action, AddMemory | DeleteMemory) and isinstance(step.observation, Staged | Rejected)
        for step in state.steps
    )
    return writes[tried] if tried < len(writes) else Finish()


def _searches(state: TurnState, reading: Reading) -> list[str]:
    queries = [one.text for one in reading.observations] + list(reading.forgets)
    if reading.forgets or any(one.corrects for one in reading.observations):
        previous = [message.text for message in state.recent if message.role == "user" and message.text.strip()]
        queries += previous[-1:]
    return list(dict.fromkeys(queries))


def _writes(state: TurnState, reading: Reading) -> list[Action]:
    hits = tuple(hit for step in state.steps if isinstance(step.observation, Searched) for hit in step.observation.hits)
    newest = [message.message_id for message in reversed(state.recent) if message.role == "user"]
    gone: set[int] = set()
    writes: list[Action] = []
    for what in reading.forgets:
        for entry in find_forgotten(what, hits, newest):
            if entry.memory_id not in gone:
                gone.add(entry.memory_id)
                evidence = _evidence(state, entry)
                writes.append(
                    DeleteMemory(
                        memory_id=entry.memory_id, reason=f"The user asked: forget {what}", evidence_ids=evidence
                    )
                )
    for observation in reading.observations:
        left = [hit for hit in hits if not (isinstance(hit.record, MemoryEntry) and hit.record.memory_id in gone)]
        write = _write(state, observation, left, newest)
        if isinstance(write, ReplaceMemory):
            gone.add(write.memory_id)
        if write is not None:
            writes.append(write)
    return writes


def _write(state: TurnState, observation: Observation, hits: Sequence[Hit], newest: Sequence[int]) -> Action | None:
    target = find_target(observation, hits, state.concepts, newest)
    first, last = observation.happened or (None, None)
    if target is not None:
        text = target.text
        return ReplaceMemory(
            memory_id=target.entry.memory_id,
            reason=f"The user corrected it: {state.message.text}"[:500],
            text=text,
            evidence_ids=_evidence(state, target.entry),
            kind=observation.kind
            if target.entry.kind == "update record" or not target.keeps_old
            else target.entry.kind,  # type: ignore[arg-type]
            photos=_photos(state, observation),
            concepts=with_concepts(Observation(text, concepts=observation.concepts), state.concepts),
            happened_from=first
            or (target.entry.happened.first if target.keeps_old and target.entry.happened else None),
            happened_to=last or (target.entry.happened.last if target.keeps_old and target.entry.happened else None),
        )
    if is_known(observation, hits):
        return None
    return AddMemory(
        text=observation.text,
        evidence_ids=_own_evidence(state),
        kind=observation.kind,
        photos=_photos(state, observation),
        concepts=with_concepts(observation, state.concepts),
        happened_from=first,
        happened_to=last,
    )


def _photos(state: TurnState, observation: Observation) -> tuple[int, ...]:
    """A message's photos go with the observation that names something, or else with its first."""
    if not state.photos:
        return ()
    observations = _reading(state).observations
    naming = [one for one in observations if one.concepts] or list(observations[:1])
    return tuple(photo.number for photo in state.photos) if observation in naming else ()


def _own_evidence(state: TurnState) -> tuple[tuple[int, int], ...]:
    """The message, and the user's message before it where a pronoun was resolved from there."""
    own = (state.message.message_id, state.message.message_id)
    return (own,)


def _evidence(state: TurnState, entry: MemoryEntry) -> tuple[tuple[int, int], ...]:
    own = (state.message.message_id, state.message.message_id)
    return (*((first, last) for first, last in entry.evidence_ids if (first, last) != own), own)


def _expanded(question: Question, state: TurnState) -> str:
    """The question's words with those that may stand for them, for the word path."""
    words: dict[str, None] = dict.fromkeys(question.names)
    for concept in mentioned(question.text, state.concepts):
        words[concept.name] = None
    for word in question.words:
        words.update(dict.fromkeys(sorted(equivalents(word), key=lambda one: (one != word, one))))
    return " ".join(list(words)[:_EXPANDED_WORDS]) or question.text


def _summary(entries: Sequence[MemoryEntry]) -> str:
    return " ".join(f'"{entry.text}"' for entry in entries)


def _questions(state: TurnState) -> list[Question]:
    return questions_of(state.message, state.recent, state.concepts)


def _reading(state: TurnState) -> Reading:
    reading = read(state.message, state.recent, state.concepts)
    return Reading(reading.observations[:_OBSERVATIONS], reading.forgets[:3])


def _reply_parts(state: TurnState) -> list[str]:
    parts = [acknowledgement(_reading(state))]
    asked = _questions(state)
    for index, question in enumerate(asked):
        context = state.context[index] if index < len(state.context) else MemoryContext("", (), ())
        said = answer(question, context, state.concepts, state.message.said_at.date(), state.recalled)
        general = said == DECLINED and not question.about_self and not question.names
        parts.append(f"{said} {CONNECT}" if general and not _speaks_of_owner(question) else said)
    if not any(parts):
        parts.append(_other(state))
    return parts


def _speaks_of_owner(question: Question) -> bool:
    words = question.text.lower().split()
    return any(word in ("i", "my", "me", "we", "our", "us", "he", "she", "his", "her") for word in words)


def _other(state: TurnState) -> str:
    said = utterances(state.message.text)
    if state.photos and not state.message.text.strip():
        return "I've seen the photo. Tell me who or what it shows, and I'll remember it."
    for utterance in said:
        if utterance.act == "command":
            return cannot(utterance)
    return small_talk(state.message.text)
