"""The rules that choose the steps of both agents where no language model is connected. They know English only.

They rest on grammar rather than on stories: what a sentence does (`speech`), which facts it holds (`statements`),
which memory it contradicts (`corrections`), what a question asks for (`questions`) and whether a memory answers it
(`relevance`). Every stage reads the state anew, so a step never depends on an earlier call.
"""

from collections.abc import AsyncGenerator, Sequence

from m2a.agents.offline.answers import DECLINED, answer, photo_concepts, selected
from m2a.agents.offline.corrections import LIGHT, content, find_forgotten, find_target, is_known
from m2a.agents.offline.names import find_names, mentioned
from m2a.agents.offline.questions import Question, parse, questions_of
from m2a.agents.offline.relevance import answers
from m2a.agents.offline.replies import CONNECT, acknowledgement, cannot, small_talk
from m2a.agents.offline.speech import utterances
from m2a.agents.offline.statements import Observation, Reading, read, with_concepts
from m2a.agents.offline.text import meets, plain_words, stem, stems, words_for
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

_OBSERVATIONS = 6
# How people tell what "what do I do?" asks for.
_SELF_LOOKUPS = {"job": ("I work as", "My job is", "I am a"), "age": ("I am years old", "I was born in", "I turned")}
_SEARCHES = 9
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

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
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
    lookups = _lookups(question, state)
    matches = answers(question, hits, state.concepts)
    if not tried or ((not matches or question.asks in _WIDE) and tried < len(lookups) and state.rounds_left > 1):
        return SearchSemanticMemories(query=lookups[tried])
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
    """Search for each thing to keep or forget, then write; one step a call. A rejected wording is put differently once."""
    reading = _reading(state)
    searched = [step.action.query for step in state.steps if isinstance(step.action, SearchSemanticMemories)]
    for query in _searches(state, reading):
        if query not in searched:
            return SearchSemanticMemories(query=query)
    tried = [step for step in state.steps if isinstance(step.action, AddMemory | DeleteMemory)]
    for write in _writes(state, reading):
        done = [step for step in tried if step.action == write]
        if not done:
            return write
        if isinstance(done[0].observation, Rejected) and isinstance(write, ReplaceMemory):
            for other in _put_differently(state, write, reading):
                again = [step for step in tried if step.action == other]
                if not again:
                    return other
                if not isinstance(again[0].observation, Rejected):
                    break
    return Finish()


def _put_differently(state: TurnState, write: ReplaceMemory, reading: Reading) -> list[AddMemory]:
    """A rejected replacement with the user's new words before the old ones that they mend; else the new words alone."""
    mends = next((one for one in reading.observations if one.corrects), None)
    if mends is None:
        return []
    joined = [write.model_copy(update={"text": f"{mends.text} {write.text}"})] if mends.text != write.text else []
    return [*joined, _addition(state, mends)]


def _searches(state: TurnState, reading: Reading) -> list[str]:
    """What to look for before writing: each observation, and for a correction its names and words in short queries."""
    queries = [one.text for one in reading.observations] + list(reading.forgets)
    for text in [*(one.text for one in reading.observations if one.corrects), *reading.forgets]:
        names = find_names(text)
        words = [word for word in plain_words(text) if not any(word in name for name in names)]
        queries += names[:2] + [" ".join(words[start : start + 3]) for start in range(0, min(len(words), 6), 3)]
        queries += [
            " ".join(words_for(stem(word))[:3])
            for word in words
            if stem(word) not in LIGHT and len(words_for(stem(word))) > 1
        ]
    if reading.forgets or any(one.corrects for one in reading.observations):
        previous = [message.text for message in state.recent if message.role == "user" and message.text.strip()]
        queries[1:1] = previous[-1:]
    return list(dict.fromkeys(queries))[:_SEARCHES]


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
    target = find_target(observation, hits, newest, state.message.said_at.date(), state.concepts)
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
            else target.entry.kind,
            photos=_photos(state, observation),
            concepts=with_concepts(Observation(text, concepts=observation.concepts), state.concepts),
            happened_from=first
            or (target.entry.happened.first if target.keeps_old and target.entry.happened else None),
            happened_to=last or (target.entry.happened.last if target.keeps_old and target.entry.happened else None),
        )
    if is_known(observation, hits):
        return None
    return _addition(state, observation)


def _addition(state: TurnState, observation: Observation) -> AddMemory:
    first, last = observation.happened or (None, None)
    return AddMemory(
        text=observation.text,
        evidence_ids=_own_evidence(state, observation.text),
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
    """What to search for, in order: the question as asked, its names, then each word with two that may stand for it.

    Short ones, since the word path wants a third of a query's words in a memory.
    """
    known = [concept.name for concept in mentioned(question.text, state.concepts)]
    if question.asks == "count":
        known += [
            one.name for one in state.concepts if any(meets(question.noun, stems(alias)) for alias in one.aliases)
        ]
    names = list(dict.fromkeys([*question.names, *known]))
    in_names = {word for name in names for word in stems(name)}
    words = [words_for(word) for word in question.words if word not in in_names]
    lookups = [question.text, *(" ".join(names[start : start + 3]) for start in range(0, len(names), 3))]
    for start in range(0, 12, 3):
        lookups += [" ".join(same[start : start + 3]) for same in words if len(same) > start]
    lookups += _SELF_LOOKUPS.get(question.asks, ())
    return list(dict.fromkeys(lookups))


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
        general = said == DECLINED and not _speaks_of_owner(question) and not mentioned(question.text, state.concepts)
        parts.append(f"{said} {CONNECT}" if general else said)
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
            return cannot()
    return small_talk(state.message.text)
