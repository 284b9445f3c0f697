"""What a write must satisfy before it is staged. A recalled memory, a caption or text in a photo can cause none.

The checks hold whatever the model says, and look at the user's new message alone (and the newest turns that it
continues). Something is remembered only of what is stated there, mostly in the words typed there, and with no name or
number that was not; a memory is replaced only by a statement that speaks of it, and deleted only where the user asks to
forget and names what. They bound what a misled model can do: of a statement that the user does make, it can still
keep a bad paraphrase.
"""

import re
from dataclasses import dataclass

from m2a.agents.state import TurnState
from m2a.memory.bank import MemoryBank
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.words import finished_words
from m2a.types import (
    Addition,
    AddMemory,
    Change,
    ConceptMention,
    DateInterval,
    DeleteMemory,
    Deletion,
    EntryDraft,
    EvidenceRange,
    MemoryEntry,
    ReplaceMemory,
    Replacement,
)
from models.captioner import together

# Of the words of each clause that are new in a memory, the share that the user must have typed: low enough for a
# paraphrase, and per clause so that the user's words before a planted sentence do not carry it.
SUPPORTED_SHARE = 1 / 2
# Words by which a memory speaks of its subject, said by nobody.
_UNSAID = frozenset(finished_words("the user's user speaker says said mentioned wants likes called named photo shows"))
# Words in which a wish to forget is put; they name no memory.
_FORGETTING = frozenset(
    finished_words("forget delete remove erase drop wipe memory memories remember note stop wrong longer please")
)

_BEGINNING = 5  # letters

_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_CLAUSE_END = re.compile(r"[.;:!?,…]+(?:\s|$)|\n|\s(?:and|but)\s")
_TAG = re.compile(
    r",\s*(?:right|correct|remember|you know|ok|okay|eh|\w+n't (?:it|he|she|they|we|i))\?$", re.IGNORECASE
)
_ASKS = re.compile(
    r"^(?:(?:and|so|but|hey|hi|ok|okay|well|please)\b[\s,]*)*"
    r"(?:(?:who|whose|what|which|when|where|why|how)(?:'s|\s+(?:(?!i\b|we\b|you\b|he\b|she\b|it\b|they\b)\w+\s+){0,2}"
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should))\b|(?:show|tell) (?:me|us)\b)",
    re.IGNORECASE,
)
_ASKS_TO_REMEMBER = re.compile(
    r"\b(?:can|could|will|would) you (?:please )?(?:remember|note|save|store|keep|write|forget|delete|remove|erase|drop)\b",
    re.IGNORECASE,
)
_ASKS_TO_FORGET = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )(?<!never )(?<!i )\b(?:forget|delete|remove|erase|drop|wipe|scratch|strike|disregard|ignore)\b|"
    r"\bno longer\b|\bany ?more\b|\bwrong\b|\bnot true\b|\buntrue\b|\bnever (?:said|happened|mind)\b|"
    r"\b(?:do not|don['’]t|stop) remember|"
    r"\bverg(?:iss|ess)|\blösch|\boubli|\beffac|\bsupprim|\bolvid|\bborr[ae]|\belimin|\bdimentic|\bcancell|\besque[cç]|"
    r"\bapag(?:a|ue)|忘|删|削除",
    re.IGNORECASE,
)
_MONTH = "(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber"
_DATE = re.compile(
    rf"\b\d{{4}}-\d\d(?:-\d\d)?\b|\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? )?(?:{_MONTH})\b(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?"
    r"(?:,? \d{4}\b)?|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:19|20)\d\d\b",
    re.IGNORECASE,
)
# The words that do not open a sentence (there a capital says nothing), and all that hold a digit or belong to an address.
_WORD = re.compile(r"(?<=[^\s.!?:\"“(] )[^\W\d_][\w'’-]+|\S*[\d@]\S*|\S+://\S+")


@dataclass(frozen=True, slots=True)
class _Typed:
    """Finished words of the user: what the new message states, and all that it and the cited newest turns hold."""

    stated: frozenset[str]
    known: frozenset[str]


def draft_change(bank: MemoryBank, state: TurnState, action: AddMemory | DeleteMemory) -> Change:
    """The change that the action asks for. Raises `RejectedWriteError` with a sentence for the model."""
    evidence = tuple(EvidenceRange(first, last) for first, last in action.evidence_ids)
    typed = _typed(state, evidence)
    if isinstance(action, DeleteMemory):
        # "Forget that" means what was said last; whatever is named is meant alone.
        named = typed.stated - _FORGETTING or typed.known - _FORGETTING
        _check_subject(bank, _known(bank, action.memory_id), named)
        _check_forgetting(state)
        return Deletion(action.memory_id, action.reason)
    previous = _known(bank, action.memory_id) if isinstance(action, ReplaceMemory) else None
    if previous is not None:
        _check_subject(bank, previous, typed.known)
    _check_words(state, action, previous, typed)
    draft = _draft(bank, state, action, evidence, previous)
    if isinstance(action, ReplaceMemory):
        return Replacement(action.memory_id, draft, action.reason)
    return Addition(draft, state.request)


def _typed(state: TurnState, evidence: tuple[EvidenceRange, ...]) -> _Typed:
    new = state.message

    def is_cited(message_id: int) -> bool:
        return any(first <= message_id <= last for first, last in evidence)

    if not is_cited(new.message_id):
        raise RejectedWriteError(
            f"The evidence must include the message in which the user said it: [{new.message_id}, {new.message_id}]."
        )
    earlier = [message.text for message in state.recent if message.role == "user" and is_cited(message.message_id)]
    return _Typed(_words(" ".join(_statements(new.text))), _words(" ".join([new.speaker, new.text, *earlier])))


def _statements(text: str) -> list[str]:
    """The sentences of a message that state or wish something; a question states nothing."""
    return [sentence for sentence in _SENTENCE_END.split(text.strip()) if not _is_question(sentence.strip())]


def _is_question(sentence: str) -> bool:
    if _TAG.search(sentence) or _ASKS_TO_REMEMBER.search(sentence):
        return False
    return sentence.endswith(("?", "？")) or bool(_ASKS.match(sentence))


def _check_words(state: TurnState, action: AddMemory, previous: MemoryEntry | None, typed: _Typed) -> None:
    """What is new in the memory must be the user's: most of its words, all of its names and numbers."""
    names = {word for concept in state.concepts for name in (concept.name, *concept.aliases) for word in _words(name)}
    before = _words(previous.text) if previous else frozenset()
    given = typed.known | names | before
    for name in (name for mention in action.concepts for name in (mention.name, *mention.aliases)):
        if not _words(name) <= given:
            raise RejectedWriteError(f"The user did not type the name {name!r}; use their words.")
    text = _DATE.sub(" ", action.text)
    for found in _WORD.findall(text):
        if _is_name_or_number(found) and not _words(found) <= given | _UNSAID:
            raise RejectedWriteError(f"A memory must rest on what the user typed; they did not type {found!r}.")
    new = _words(action.text) - _UNSAID - before
    if previous is not None and not new:
        _check_forgetting(state)
        return
    # A name says who is meant where the user wrote "he"; a date is told in other words, such as "on Friday".
    claims = [_words(clause) - _UNSAID - before - names for clause in _CLAUSE_END.split(text)]
    told = new if any(claims) or previous is None else new | before
    unsaid = [claim - typed.known for claim in claims if len(claim & typed.known) < SUPPORTED_SHARE * len(claim)]
    if unsaid or not told & typed.stated:
        words = ", ".join(sorted(frozenset().union(*unsaid))) or "all of it"
        raise RejectedWriteError(
            "A memory must rest on what the user typed in the cited messages, and a question states nothing; "
            f"use their words, or finish (not theirs: {words})."
        )


def _is_name_or_number(word: str) -> bool:
    return word[0].isupper() or any(character.isdigit() or character in "@/" for character in word)


def _check_subject(bank: MemoryBank, entry: MemoryEntry, words: frozenset[str]) -> None:
    mentions = [mention.name for mention in _mentions(bank, entry)]
    known = _words(" ".join([entry.text, entry.caption, *mentions]))
    if not words & known and not _beginnings(words) & _beginnings(known):
        raise RejectedWriteError(
            f"The user's cited messages do not speak of memory {entry.memory_id}; cite those that do."
        )


def _beginnings(words: frozenset[str]) -> frozenset[str]:
    """By which "allergy" speaks of what "allergic" tells."""
    return frozenset(word[:_BEGINNING] for word in words if len(word) >= _BEGINNING)


def _check_forgetting(state: TurnState) -> None:
    if not any(_ASKS_TO_FORGET.search(sentence) for sentence in _statements(state.message.text)):
        raise RejectedWriteError("The user did not ask to forget anything; replace_memory is for what has changed.")


def _words(text: str) -> frozenset[str]:
    return frozenset(finished_words(text))


def _draft(
    bank: MemoryBank,
    state: TurnState,
    action: AddMemory,
    evidence: tuple[EvidenceRange, ...],
    previous: MemoryEntry | None,
) -> EntryDraft:
    numbers = {photo.number: photo.photo_id for photo in state.photos}
    for number in action.photos:
        if number not in numbers:
            raise RejectedWriteError(f"There is no photo {number} in the user's message; it has {len(numbers)}.")
    photo_ids = tuple(numbers[number] for number in action.photos)
    if previous is not None and not photo_ids:
        photo_ids = previous.photo_ids
    return EntryDraft(
        text=action.text,
        evidence_ids=evidence,
        kind=action.kind,
        caption=together(bank.caption(photo_id) for photo_id in photo_ids),
        photo_ids=photo_ids,
        concepts=action.concepts or (_mentions(bank, previous) if previous else ()),
        happened=_happened(action),
    )


def _mentions(bank: MemoryBank, entry: MemoryEntry) -> tuple[ConceptMention, ...]:
    return tuple(
        ConceptMention(name=concept.name, kind=concept.kind)
        for concept in bank.concepts()
        if concept.concept_id in entry.concept_ids
    )


def _happened(action: AddMemory) -> DateInterval | None:
    first = action.happened_from or action.happened_to
    last = action.happened_to or action.happened_from
    if first is None or last is None:
        return None
    if first > last:
        raise RejectedWriteError(f"happened_from {first} lies after happened_to {last}.")
    return DateInterval(first, last)


def _known(bank: MemoryBank, memory_id: int) -> MemoryEntry:
    entry = bank.entry(memory_id)
    if entry is None:
        raise RejectedWriteError(f"There is no memory {memory_id}.")
    return entry
