"""Whether a memory answers a question: every word that the question asks by is met, and the kind of answer is there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.agents.offline import lexicon, values
from m2a.agents.offline.clauses import find_subject
from m2a.agents.offline.names import NAME, find_names, find_namings, find_places, mentioned, names_of
from m2a.agents.offline.questions import Question
from m2a.agents.offline.text import equivalents, is_kind, meets, plain, stem, stems, tokens
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
    r"\b(?:not|never|no longer|no|without|stopped|hates?|hated|dislikes?|can't stand|cannot stand|can't bear|allergic|intolerant|avoid|\w+n't)\b",
    re.IGNORECASE,
)
_STREET = re.compile(
    r"\b\w*(?:street|road|avenue|lane|straße|strasse|straat|gasse|weg|platz|rue|via|calle)\b[ ,]+\d+|\b\d+\w? (?:[A-Z]\w+ )+(?:Street|Road|Avenue|Lane|Close|Drive|Way|Square|Court|Place|St|Rd)\b|\b\d+ rue\b",
    re.IGNORECASE,
)
_PHONE = re.compile(r"(?<!\w)\+?\d(?:[ /-]?\d){6,}\b")
_REASON = re.compile(
    r"\b(?:because|since|as|so that|so|due to|thanks to|in order to|for|therefore|reason|to (?=[a-z]+))\b",
    re.IGNORECASE,
)
# Things that go by a name of their own.
_NAMED_NOUNS = frozenset(
    stem(word)
    for word in "airline company firm employer hotel restaurant cafe pub bar shop store supermarket school university college bank gym club brand make "
    "model band team station airport hospital clinic doctor dentist vet book film movie show series game song album author artist "
    "street road church insurer provider operator network newspaper magazine app".split()
)
_BRANDS = frozenset(stem(word) for word in "make brand model manufacturer".split())


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
    if values.has_money(entry.text):
        found |= {stem("cost"), stem("price")}
    if "@" in entry.text or _STREET.search(entry.text):
        found.add(stem("address"))
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
        if not entry.photo_ids:
            return None
    missing = [word for word in question.words if not meets(word, said)]
    if question.asks == "noun" and question.noun in missing and _noun_is_met(question, entry):
        missing.remove(question.noun)
    missing = [word for word in missing if not (chosen or _met_nearby(word, question, entry, hits, said))]
    if question.either and not any(meets(word, said) for word in question.either):
        return None
    if missing or (
        not question.words and not question.either and not question.within and question.asks not in ("about", "show")
    ):
        return None
    if not _has_kind(question, entry, said) or not _is_of(question, entry, concepts) or not _is_within(question, entry):
        return None
    literal = sum(word in said for word in question.words) / max(1, len(question.words))
    return 2.0 * literal + hit.similarity.get("dense", 0.0) + _subject_bonus(question, entry)


def _subject_bonus(question: Question, entry: MemoryEntry) -> float:
    subject = find_subject(entry.text)
    wanted = set(question.words)
    return 0.3 if subject and wanted & set(stems(subject.text)) else 0.0


_TYPED = ("day", "time", "place", "person", "name", "money", "frequency")


def _met_nearby(word: str, question: Question, entry: MemoryEntry, hits: Sequence[Hit], said: frozenset[str]) -> bool:
    """A word may have been said beside the memory: "cello" of "my lessons", "Lisbon" of "we come back", and what "it" is."""
    in_names = {one for name in question.names for one in stems(name)}
    if not any(meets(one, said) for one in question.words if one != word and one not in in_names):
        return False
    if word in question.modifiers:
        apart = 8 if question.asks in _TYPED else 2
    elif word in in_names or question.asks not in (*_TYPED, "yes or no"):
        return False
    elif re.search(r"\b(?:it|its|there|they|them)\b", entry.text, re.IGNORECASE):
        apart = 4
    elif question.asks in _TYPED and meets(question.words[0], said) and question.words[0] not in question.modifiers:
        apart = 4
    else:
        return False
    for hit in _entries(hits):
        other = hit.record
        assert isinstance(other, MemoryEntry)
        if other.memory_id != entry.memory_id and word in stems(other.text) and _near(entry, other, apart):
            return True
    return False


def _near(entry: MemoryEntry, other: MemoryEntry, messages: int) -> bool:
    return any(
        abs(ours.first - theirs.first) <= messages for ours in entry.evidence_ids for theirs in other.evidence_ids
    )


def _has_kind(question: Question, entry: MemoryEntry, said: frozenset[str]) -> bool:
    """Whether the memory holds an answer of the kind that is asked for, not only the subject."""
    text = plain(entry.text)
    match question.asks:
        case "day" | "until" | "ago":
            if re.search(r"\b(?:what|which) (?:day|date)\b", question.text, re.IGNORECASE) and not values.has_exact_day(
                text
            ):
                return False
            if (
                question.asks == "day"
                and re.search(r"\btime\b", question.text)
                and re.search(r"\bday|date|when\b", question.text)
            ):
                return values.has_day(text) and values.has_time(text)
            return values.has_day(text) and (
                question.asks == "day" or entry.happened is not None or bool(values._days(text))
            )
        case "time":
            return values.has_time(text)
        case "place":
            if stem("work") in question.words and find_names(text):
                return True
            return values.has_place(text) or (re.match(r"where", question.text, re.I) is not None and _is_kept_by(text))
        case "person":
            return bool(_new_people(question, text))
        case "name":
            return _gives_name(question, text)
        case "count":
            counted = values.amount_of(text, _nouns(question.noun)) is not None or values.amount_left(text)
            return counted or _lists_names(question, text)
        case "money":
            return values.has_money(text)
        case "amount":
            return values.has_number(text)
        case "age":
            return values.has_age(text)
        case "duration":
            return _lasts(question, entry, text)
        case "frequency":
            return values.has_frequency(text)
        case "reason":
            return bool(_REASON.search(text))
        case "job":
            return _tells_job(text)
        case "noun":
            return _noun_is_met(question, entry)
        case "thing":
            return _says_more(question, text, said)
        case _:
            return True


def _lasts(question: Question, entry: MemoryEntry, text: str) -> bool:
    """A span in words, days from one to another, or a beginning for "how long have I …"."""
    if values.has_duration(text):
        return True
    if entry.happened is None:
        return False
    days = (entry.happened.last - entry.happened.first).days
    return 0 < days < 28 or bool(re.match(r"(?:for )?how long (?:have|has)\b", question.text, re.IGNORECASE))


def _nouns(noun: str) -> set[str]:
    return set(equivalents(noun))


def _is_kept_by(text: str) -> bool:
    return bool(re.search(r"\b(?:has|have|keeps?|holds?|with)\b", text)) and bool(find_names(text))


def _new_names(question: Question, text: str) -> list[str]:
    asked = set(stems(question.text))
    return [name for name in find_names(text) if not set(stems(name)) & asked]


def _lists_names(question: Question, text: str) -> bool:
    """The things counted may be given by name: "my brothers are Tom and Max"."""
    return any(
        naming.aliases and meets(question.noun, stems(" ".join(naming.aliases))) for naming in find_namings(text)
    )


def _new_people(question: Question, text: str) -> list[str]:
    places = find_places(text)
    people = [
        name
        for name in _new_names(question, text)
        if name not in places or re.search(rf"\b(?:from|to) {re.escape(name)}", text)
    ]
    asked = set(question.words)
    relations = [
        token.lower for token in tokens(text) if token.lower in lexicon.RELATIONS and stem(token.lower) not in asked
    ]
    relations = [word for word in relations if not any(meets(wanted, {stem(word)}) for wanted in asked)]
    return people + relations


def _gives_name(question: Question, text: str) -> bool:
    """Whether a name stands at the thing asked about: "my doctor Ana", "our canoe is called Puck"."""
    for name in _new_names(question, text):
        position = text.find(name)
        before = stems(text[max(0, position - 60) : position])[-6:]
        after = stems(text[position + len(name) : position + len(name) + 40])[:4]
        if any(meets(word, set(before) | set(after)) for word in question.words):
            linked = re.search(
                rf"(?:called|named|name is|name's|name was|is|are|call (?:it|him|her|them)|nickname|,|and|-|\b[a-z]+) {re.escape(name)}|"
                rf"{re.escape(name)}(?:,| is| was| -|\))",
                text,
            )
            if linked and name not in find_places(text):
                return True
        if any(word in _NAMED_NOUNS and meets(word, stems(text)) for word in question.words):
            return True
    return False


def _tells_job(text: str) -> bool:
    if re.search(
        r"\b(?:is|was|be|am|as|became|become|'s|'m) (?:now )?an? (?:[a-z]+ ){0,2}[a-z]+(?:er|or|ist|ian|ess|man|eer|ant)\b",
        text,
    ):
        return True
    return "work" in values.topics(text) or any(token.lower in lexicon.JOBS for token in tokens(text))


def _noun_is_met(question: Question, entry: MemoryEntry) -> bool:
    """Whether the memory holds one of what "which …" asks for."""
    text = plain(entry.text)
    others = {word for word in stems(text) if word not in question.words or word == question.noun}
    if question.noun in _BRANDS:
        return _has_brand(question, text)
    if any(is_kind(word, question.noun) for word in others):
        return True
    met = meets(question.noun, others)
    if question.noun in _NAMED_NOUNS:
        at = [name for name in re.findall(rf"\b(?:at|for|with) ({NAME})", text) if name in _new_names(question, text)]
        return bool(at) or met and bool(_new_names(question, text))
    return met and _says_more(question, text, frozenset(stems(text)))


def _has_brand(question: Question, text: str) -> bool:
    for match in re.finditer(rf"({NAME})(?: [\w-]+)? ([a-z]+)", text):
        if any(meets(word, {stem(match[2])}) for word in question.words) and find_names(match[1]):
            return True
    return bool(
        re.search(rf"\b(?:is|it's|bought|from|by|drive|got) (?:an? )?(?:[a-z]+ ){{0,2}}{NAME}\b", text)
    ) and bool(_new_names(question, text))


_EMPTY = frozenset(
    stem(word)
    for word in "be have do a an the my our i we you he she it they is are was were has and of to in on at for with that this s m".split()
)


def _says_more(question: Question, text: str, said: frozenset[str]) -> bool:
    """An answer holds more than the words of the question."""
    asked = set(stems(question.text))
    more = [word for word in stems(text) if word not in asked and word not in _EMPTY and len(word) > 1]
    return bool(more)


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
