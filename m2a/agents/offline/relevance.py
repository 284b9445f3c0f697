"""Whether a memory answers a question: every word that the question asks by is met, and the kind of answer is there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.agents.offline import lexicon, values
from m2a.agents.offline.answer_kinds import has_kind, names_job, noun_is_met
from m2a.agents.offline.clauses import find_subject
from m2a.agents.offline.names import NAME, find_names, mentioned, names_of
from m2a.agents.offline.questions import Question
from m2a.agents.offline.text import is_kind, meets, plain, stem, stems
from m2a.types import Concept, Hit, MemoryEntry

# A memory that speaks of one of these sides of a life says so with many words; each stands for all of them.
_TOPIC_WORDS = {
    "home": "live move reside home",
    "work": "work job profession employer",
    "liking": "like",
    "age": "age old",
    "name": "name call",
    "schedule": "when appointment",
    "colour": "colour",
    "status": "status relationship",
}
_NEGATION = re.compile(
    r"\b(?:not|never|no longer|no|without|stopped|hates?|hated|dislikes?|can't stand|cannot stand|can't bear|"
    r"allergic|intolerant|avoid|\w+n't)\b",
    re.IGNORECASE,
)
_STREET = re.compile(
    r"\b\w*(?:street|road|avenue|lane|straße|strasse|straat|gasse|weg|platz|rue|via|calle)\b[ ,]+\d+|\b\d+\w? "
    r"(?:[A-Z]\w+ )+(?:Street|Road|Avenue|Lane|Close|Drive|Way|Square|Court|Place|St|Rd)\b|\b\d+ rue\b",
    re.IGNORECASE,
)
# "policy 5567-88": a number by its looks.
_CODE = re.compile(r"\b(?=\w*\d)[A-Z0-9]+(?:-[A-Z0-9]+)+\b|\b(?!(?:19|20)\d\d\b)\d{4,}#?(?!\d| ?(?:euros?|€))")
_PHONE = re.compile(r"(?<!\w)\+?\d(?:[ /-]?\d){6,}\b")


# What a memory of a diet or an allergy says without the word.
_DIET = (
    (
        re.compile(r"\b(?:allerg\w+|intoleran\w+|can(?:'t|not) (?:have|eat|drink|stand)|avoids?)\b", re.I),
        "avoid allergy",
    ),
    (re.compile(r"\b(?:vegan|vegetarian|pescatarian|coeliac|celiac|kosher|halal)\b", re.I), "avoid diet meat"),
    (re.compile(r"\bvegan\b", re.I), "cheese egg milk dairy butter"),
)
# What an amount of the unit is.
_MEASURES = {
    **dict.fromkeys(("mg", "ml", "mcg"), "dose"),
    **dict.fromkeys(("km", stem("miles"), stem("kilometres")), "distance far"),
    **dict.fromkeys(("kg", stem("kilos"), "lb"), "weight weigh"),
    "cm": "height tall",
}
# A memory of a taste or a diet tells whether one eats what it names.
_TASTE = re.compile(
    r"\b(?:hates?|dislikes?|loves?|likes?|adores?|can't stand|never (?:eats?|drinks?)|allerg\w+|intoleran\w+|vegan|"
    r"vegetarian|pescatarian|can't have|avoids?)\b",
    re.IGNORECASE,
)
# What one does with a thing of the kind goes without saying: piano lessons are of playing.
_IMPLIED = (
    (stem("instrument"), "play learn"),
    (stem("language"), "speak learn"),
    (stem("sport"), "play sport"),
    (stem("car"), "drive"),
    (stem("medicine"), "take"),
)


@dataclass(frozen=True, slots=True)
class Match:
    """A memory that answers, and how well."""

    hit: Hit
    entry: MemoryEntry
    score: float


def answers(
    question: Question, hits: Sequence[Hit], concepts: Sequence[Concept], *, chosen: bool = False
) -> list[Match]:
    """The memories that answer the question, best first. `chosen` hits were found to answer, among others, before."""
    found = []
    for hit in _entries(hits):
        entry = hit.record
        assert isinstance(entry, MemoryEntry)
        score = _judge(question, hit, entry, hits, concepts, chosen=chosen)
        if score is not None:
            found.append(Match(hit, entry, score))
    return sorted(found, key=lambda match: (match.score, match.entry.memory_id), reverse=True)


def said_stems(entry: MemoryEntry, concepts: Sequence[Concept]) -> frozenset[str]:
    """The stems that the memory meets: its words, what its names are called besides, and the sides of life it is on."""
    found = set(stems(entry.text))
    for concept in concepts:
        if concept.concept_id in entry.concept_ids or concept in mentioned(entry.text, [concept]):
            folded = entry.text.casefold()
            if any(name.casefold() in folded for name in names_of(concept)) or concept.concept_id in entry.concept_ids:
                found |= {one for name in names_of(concept) for one in stems(name)}
    for topic in values.topics(entry.text):
        found |= {stem(word) for word in _TOPIC_WORDS.get(topic, "").split()}
    for kind, verbs in _IMPLIED:
        if any(is_kind(word, kind) for word in tuple(found)):
            found |= {stem(verb) for verb in verbs.split()}
    for value in values.find_values(entry.text):
        found |= {stem(word) for word in _MEASURES.get(value.kind.removeprefix("amount:"), "").split()}
    for pattern, words in _DIET:
        if pattern.search(entry.text):
            found |= {stem(word) for word in words.split()}
    if values.has_money(entry.text):
        found |= {stem("cost"), stem("price")}
    if "@" in entry.text or _STREET.search(entry.text):
        found.add(stem("address"))
    if _CODE.search(entry.text):
        found |= {stem("number"), stem("code")}
    if _PHONE.search(entry.text):
        found |= {stem("phone"), stem("call"), stem("reach"), stem("mobile")}
    return frozenset(found)


def is_negative(text: str) -> bool:
    return bool(_NEGATION.search(text))


def _entries(hits: Sequence[Hit]) -> list[Hit]:
    seen: dict[int, Hit] = {}
    for hit in hits:
        if isinstance(hit.record, MemoryEntry) and hit.record.kind != "update record":
            seen.setdefault(hit.record.memory_id, hit)
    return list(seen.values())


def _judge(
    question: Question, hit: Hit, entry: MemoryEntry, hits: Sequence[Hit], concepts: Sequence[Concept], *, chosen: bool
) -> float | None:
    said = said_stems(entry, concepts)
    if question.asks == "show":
        said |= frozenset(stems(entry.caption))
    missing = [word for word in question.words if not meets(word, said)]
    if question.asks == "noun" and question.noun in missing and noun_is_met(question, entry):
        missing.remove(question.noun)
    if question.asks == "yes or no" and len(question.words) >= 2 and _TASTE.search(entry.text):
        missing = [word for word in missing if word not in _EATING]
    missing = [word for word in missing if not (chosen or _met_nearby(word, question, entry, hits, said))]
    if len(missing) == 1 and _is_paraphrase(question, missing[0], hit, said):
        missing = []
    if question.either and not any(meets(word, said) for word in question.either):
        return None
    if missing or not (
        question.words or question.either or question.within or question.asks in ("about", "show", *_OF_SELF)
    ):
        return None
    if question.asks in _OF_SELF and not question.words and not _is_of_user(entry):
        return None
    if not has_kind(question, entry, said) or not _is_of(question, entry, concepts) or not _is_within(question, entry):
        return None
    literal = sum(word in said for word in question.words) / max(1, len(question.words))
    return (
        2.0 * literal
        + hit.similarity.get("dense", 0.0)
        + _subject_bonus(question, entry)
        + bool(entry.photo_ids and question.asks == "show")
    )


def _is_of_user(entry: MemoryEntry) -> bool:
    return re.match(r"(?:i|i'm|i've|my)\b", entry.text, re.IGNORECASE) is not None


def _subject_bonus(question: Question, entry: MemoryEntry) -> float:
    if question.asks == "job" and names_job(entry.text):
        return 1.0
    subject = find_subject(entry.text)
    wanted = set(question.words)
    return 0.3 if subject and wanted & set(stems(subject.text)) else 0.0


# What is asked of the user without a further word: "what do I do?", "how old am I?"
_OF_SELF = ("job", "age")
# Cosine of question and memory from which one unmet verb or adjective may be a matter of wording.
_PARAPHRASE = 0.72
_SAME_TOPIC = 0.6


_EATING = (stem("eat"), stem("drink"), stem("food"))
# Questions whose answer is known by its looks: there the verb matters least.
_MEASURED = ("day", "time", "place", "until", "ago", "money", "duration", "frequency")
# Verbs that tell of the contrary: a memory of one answers no question about the other.
_CONTRARIES = [
    {stem(word) for word in pair.split()}
    for pair in (
        "buy sell|start finish|begin end|open close|arrive leave|find lose|marry divorce|born die|win lose|lend borrow|"
        "give take|come go|hire fire|break fix|plant harvest|meet part|adopt lose|like hate|return borrow|renew expire"
    ).split("|")
]
_WORDS_OF_DOING = frozenset(stem(word) for word in (*lexicon.VERBS, "due", "ready", "scheduled", "planned", "valid"))


def _is_paraphrase(question: Question, missing: str, hit: Hit, said: frozenset[str]) -> bool:
    """Whether the one unmet word may be a matter of wording: a verb beside two met words, in a question of when or where,
    or anything but a name, a narrowing word or what "which" asks for where the two texts are very near."""
    in_names = {one for name in question.names for one in stems(name)}
    if missing in in_names or missing in question.modifiers or missing == question.noun:
        return False
    if any(missing in pair and pair & (said - {missing}) for pair in _CONTRARIES):
        return False
    met = [word for word in question.words if word != missing]
    own = [word for word in met if word not in in_names]
    near = hit.similarity.get("dense", 0.0)
    if question.asks in _MEASURED and missing in _WORDS_OF_DOING:
        return bool(own) and len(met) >= 2 and near >= _SAME_TOPIC
    return len(own) >= 2 and near >= _PARAPHRASE


_TYPED = ("day", "time", "place", "person", "name", "money", "frequency")


def _met_nearby(word: str, question: Question, entry: MemoryEntry, hits: Sequence[Hit], said: frozenset[str]) -> bool:
    """A word may have been said beside the memory: "cello" of "my lessons", "Lisbon" of "we come back", what "it" is."""
    apart = _reach(word, question, entry, said)
    return any(
        word in stems(hit.record.text) and _near(entry, hit.record, apart)
        for hit in _entries(hits)
        if isinstance(hit.record, MemoryEntry) and hit.record.memory_id != entry.memory_id
    )


def _reach(word: str, question: Question, entry: MemoryEntry, said: frozenset[str]) -> int:
    """How many messages away the word may have been said; -1 where it must stand in the memory."""
    in_names = {one for name in question.names for one in stems(name)}
    if not any(meets(one, said) for one in question.words if one != word and one not in in_names):
        return -1
    typed = question.asks in _TYPED
    if word in question.modifiers:
        return 8 if typed else 2
    if word in in_names or not (typed or question.asks == "yes or no"):
        return -1
    leans = re.search(r"\b(?:it|its|there|they|them)\b", entry.text, re.IGNORECASE)
    first = question.words[0]
    return 4 if leans or (typed and meets(first, said) and first not in question.modifiers) else -1


def _near(entry: MemoryEntry, other: MemoryEntry, messages: int) -> bool:
    return any(
        abs(ours.first - theirs.first) <= messages for ours in entry.evidence_ids for theirs in other.evidence_ids
    )


def _is_of(question: Question, entry: MemoryEntry, concepts: Sequence[Concept]) -> bool:
    """A question about the user is not answered by what somebody else's is."""
    text = plain(entry.text)
    if question.asks in ("thing", "noun") and not question.negated and _asks_liking(question) and is_negative(text):
        return bool(re.search(r"\b(?:hate|dislike|avoid|not|n't|stand)\b", question.text, re.IGNORECASE))
    if not question.about_self or question.asks in ("person", "name", "about", "show", "count"):
        return True
    subject = find_subject(text)
    if subject is None:
        return True
    if re.search(r"\b(?:i|me|we|us|i'm|i've)\b", text, re.IGNORECASE):
        return True
    people = {
        name.casefold() for concept in concepts if concept.kind in ("person", "pet") for name in names_of(concept)
    }
    head = subject.text
    if re.match(rf"(?:{NAME})'s? \w|(?:my|our|the) [\w-]+(?: [A-Z]\w+)?'s? \w", head) or re.match(
        r"(?:his|her|their)\b", head, re.I
    ):
        return False
    is_person = head.casefold() in people or head.split()[-1].lower() in lexicon.RELATIONS or bool(find_names(head))
    return not (is_person and _is_attribute(question))


def _asks_liking(question: Question) -> bool:
    return any(
        word in question.words
        for word in (stem("like"), stem("love"), stem("favourite"), stem("enjoy"), stem("prefer"))
    )


def _is_attribute(question: Question) -> bool:
    topic_words = {stem(word) for words in _TOPIC_WORDS.values() for word in words.split()}
    return question.asks in ("job", "age") or all(word in topic_words for word in question.words)


def _is_within(question: Question, entry: MemoryEntry) -> bool:
    """With a date in the question, the memory must be of that time."""
    if question.within is None:
        return True
    first, last = question.within
    if entry.happened is not None:
        return entry.happened.first <= last and first <= entry.happened.last
    told = entry.recorded_at.date()
    return question.asks == "about" and first <= told <= last
