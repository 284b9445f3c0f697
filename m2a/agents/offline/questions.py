"""What a question asks for: the kind of its answer, and the words that identify the memory with the answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from m2a.agents.offline import lexicon
from m2a.agents.offline.acts import AUXILIARY, WH
from m2a.agents.offline.answer_kinds import KINDS, Kind, kind_of
from m2a.agents.offline.clauses import AUXILIARIES, find_subject, is_inflected_verb, sentences
from m2a.agents.offline.dates import find_dates
from m2a.agents.offline.foreign import QUESTION_ENDS
from m2a.agents.offline.last_reply import quotations
from m2a.agents.offline.names import find_names, find_places
from m2a.agents.offline.pronouns import antecedent, topic_of
from m2a.agents.offline.question_forms import LISTS
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import joined_phrases, plain, stem, tokens
from m2a.agents.offline.utterances import utterances
from m2a.types import Concept, DateInterval, Message

# A question about what somebody cannot eat is one about allergies.
_CANNOT_EAT = re.compile(r"\b(?:can't|cannot|mustn't|shouldn't|doesn't|don't|not)\b((?: \w+){0,3}?) eat\b", re.I)
_ASKS_WHAT_WAS_SAID = re.compile(
    r"\bwhat (?:all |else )?(?:did|have) (?:i|we)\b.*\b(?:tell|told|say|said|mention|talk)", re.IGNORECASE
)
_WORDS_FOR_PHOTOS = frozenset(stem(word) for word in "show see look photo picture pic image".split())
# Words that do not help to find the memory with the answer.
_FUNCTION_WORDS = frozenset(
    stem(word)
    for word in "be have do will would can could shall should may might must a an the my our your his her its their mine "
    "ours i we you he she it they me us him them himself this that these those there here and or but so if of in on at to for "
    "with from by as about not now then too also just really very all some any more most much many ever again still already "
    "than into out up over down off back only even please pls ok okay well right currently exactly usually actually roughly "
    "what who whom whose which when where why how whats whos whens wheres hows remember recall know tell remind say mention "
    "think happen thing something anything someone kind type sort go take want need new same else other s t m re ve ll d "
    "going gonna supposed lol goodness meant got get yet today moment everything "
    "anyone somebody true possible asking ask n w u im ive ill "
    "day date time long old year month week name called call until till til ago since number reason person put".split()
)  # fmt: skip
_MAX_QUESTIONS = 5
_MAX_SENTENCES = 20  # of a message, that may be questions in another language


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question.

    `context` is its message without the other questions, which are `beside` it, `words` and `names` are those that identify the
    memory, `noun` is the word after "which …", `unit` the one after "how many …", and `within` the period that it names.
    `about_self` is whether it is about the user and names nobody. `is_read` is False for a question in a language that these
    rules do not know.
    """

    text: str
    kind: Kind
    context: str = ""
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    noun: str = ""
    unit: str = ""
    about_self: bool = False
    within: DateInterval | None = None
    is_read: bool = True
    beside: str = ""

    @property
    def name_words(self) -> list[str]:
        """The words of its names that are among `words`."""
        return [word for name in self.names for word in content_words(name)]

    @property
    def name_stems(self) -> set[str]:
        return {stem(word) for word in self.name_words}


def questions_of(
    message: Message, recent: Sequence[Message], concepts: Sequence[Concept], sense: Sense
) -> list[Question]:
    """Returns the questions of the user's message, with pronouns resolved from the newest turns."""
    items = utterances(message.text, sense)
    asking = [LISTS.sub("tell me ", item.text) for item in items if item.act == "ask"]
    texts = [(_without_scene(part), message.text.replace(text, part)) for text in asking for part in _split(text)]
    today, has_photos = message.said_at.date(), bool(message.photos)
    questions: list[Question] = []
    for (before, _), (text, context) in pairwise([("", ""), *texts[:_MAX_QUESTIONS]]):
        resolved = _resolved(text, recent, concepts, before)
        question = parse(resolved, today, context=context, has_photos=has_photos)
        question = replace(question, beside=" ".join(other for other, _ in texts if other != text))
        questions.append(_with_subject_of(questions[-1], question) if questions else question)
    unread = [item.text for item in items[:_MAX_SENTENCES] if item.act == "unread" and _is_question(item.text)]
    questions += [Question(text, KINDS["thing"], text, is_read=False) for text in unread]
    if message.photos and not re.search(r"\w", message.text):
        questions.append(Question("who is this?", KINDS["who is this"]))
    return questions


def _is_question(text: str) -> bool:
    """Returns whether the text in a language that is not read begins or ends like a question."""
    return text.strip().startswith("¿") or text.strip().endswith(QUESTION_ENDS)


_NEXT_QUESTION = re.compile(
    rf",? (?:and|n|&|but) (?:also )?(?=(?:(?:at|by|for|from|in|on|till|to|until|with) )?{WH}\b)", re.IGNORECASE
)
_INVERTED = re.compile(rf"\b{WH}(?: [\w-]+){{0,3}}? {AUXILIARY}\b|\b(?:who|what|when|where|how)'?s\b", re.IGNORECASE)
_AFTER_QUESTION_WORD = re.compile(rf"\b{WH} (?P<words>(?:[\w'-]+ ?){{2,6}})", re.IGNORECASE)


def _split(text: str) -> list[str]:
    """Returns the questions in "where is the party, and what am I bringing?", if each has a verb of its own."""
    for match in _NEXT_QUESTION.finditer(text):
        first, rest = text[: match.start()], text[match.end() :]
        if _has_a_verb(first) and _has_a_verb(rest):
            return [f"{first}?", *_split(rest)]
    return [text]


def _has_a_verb(text: str) -> bool:
    """Returns whether a question word has a verb and something after it: "who pays the rest", "by what date must it be done"."""
    if _INVERTED.search(text):
        return True
    match = _AFTER_QUESTION_WORD.search(text)
    words = match["words"].lower().split()[:-1] if match is not None else []
    return not AUXILIARIES.isdisjoint(words) or any(map(is_inflected_verb, words[:2]))


_SCENE = re.compile(
    rf"^(?P<scene>.{{5,}}?)(?:,|;|\.\.+| -+|(?P<passed_on>(?: and)? (?:wants?|needs?|would like) to know)) "
    rf"(?P<question>{WH}\b.+)$",
    re.IGNORECASE,
)
_ASKS_ITSELF = re.compile(rf"\b{WH}\b|^\W*{AUXILIARY} ", re.IGNORECASE)
_OWN = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"\b(?:he|she|him|her|hers|his|they|them|their|its|there|ones?|that|this|these|those|"
    r"(?<!is )(?<!was )it|it(?! (?:that )?(?:i|we|he|she|they|my)\b))\b",
    re.IGNORECASE,
)


def _without_scene(text: str) -> str:
    """Returns the question without the scene, or the words about who asks, that precede it: "the vet wants to know what …".

    A scene stays where the question points back at it or hardly says what it asks for ("…, what do I write?"), or where it
    asks something itself: "when I was 12, where did we live?".
    """
    match = _SCENE.match(text)
    if match is None or _ASKS_ITSELF.search(match["scene"]):
        return text
    question = match["question"]
    is_complete = (
        match["passed_on"] or _INVERTED.match(question) or re.match(r"how (?:many|much)\b", question, re.IGNORECASE)
    )
    has_subject = len(content_words(question)) > 1 or _OWN.search(question)
    if not is_complete or not has_subject or _POINTS_BACK.search(question):
        return text
    is_scene = (
        match["passed_on"] or find_subject(match["scene"]) or re.match(r"\w+ing\b", match["scene"], re.IGNORECASE)
    )
    return question if is_scene else text


def _with_subject_of(previous: Question, question: Question) -> Question:
    """Returns the question with the previous one's subject if it names none: "Do I have any pets? What are their names?"."""
    pronoun = re.search(r"\b(?:they|them|their|those|he|she|him|her|his|it|its)\b", question.text, re.IGNORECASE)
    if question.words or not pronoun:
        return question
    return replace(question, words=previous.words, names=previous.names, about_self=previous.about_self)


def _resolved(text: str, recent: Sequence[Message], concepts: Sequence[Concept], before: str) -> str:
    """Returns the question with the name that "he" or "she" means, and the last topic for "it".

    `before` is the question before it in the same message. If it is about one person, that person is meant, and if it is
    about several, the pronoun stays. "It" stays whenever there is such a question: it is what that one is about.
    """
    if re.fullmatch(r"\W*(?:so )?who am i\W*", text, re.IGNORECASE):
        return "What is my name?"
    earlier = [message.text for message in recent if message.role == "user"][-4:]
    follow_up = re.match(r"(?:and |what about |how about )+(?P<what>[^?]+)\?*$", text, re.IGNORECASE)
    if follow_up and earlier and len(follow_up["what"].split()) <= 4 and not _ASKS_ITSELF.search(follow_up["what"]):
        names = find_names(earlier[-1])
        if names:
            return earlier[-1].replace(names[0], follow_up["what"].strip())
    parts = [part for message in earlier for part in sentences(plain(message))] + quotations(recent)[:1]
    pronoun = re.search(r"\b(?:he|she|him|his|her)\b", text, re.IGNORECASE)
    if pronoun and not find_names(text) and not _mentions_person(text[: pronoun.start()]):
        people = _people_of(before)
        person = people[0] if people else antecedent(parts, concepts, pronoun[0])
        if person and len(people) < 2:
            text = re.sub(r"\b(?:his|her)\b(?= \w)", f"{person}'s", text, flags=re.IGNORECASE)
            text = re.sub(r"\b(?:he|she|him|her)\b", person, text, flags=re.IGNORECASE)
    points = re.search(r"\b(?:it|its|that one)\b", text, re.IGNORECASE) and not content_words(text)
    # After an answer, "it" is what that quoted (`follow_ups`).
    if points and not before and not quotations(recent) and (topic := topic_of(parts)):
        text = re.sub(r"\b(?:it|that one)\b", topic, text, count=1, flags=re.IGNORECASE)
    return text


def _people_of(question: str) -> list[str]:
    """Returns the names in a question other than those of places, or if it has none, people such as "my sister"."""
    relatives = [match[0] for match in _MY.finditer(question) if match["what"].lower() in _PERSON_WORDS]
    places = find_places(question)
    return [name for name in find_names(question) if name not in places] or relatives


def _mentions_person(text: str) -> bool:
    """Returns whether the text mentions somebody whom a later pronoun means: "Where is my sister and what does she …"."""
    words = (token.lower.removesuffix("'s") for token in tokens(plain(text)))
    return any(word in _PERSON_WORDS for word in words)


_PERSON_WORDS = frozenset((*lexicon.RELATIONS, *lexicon.PETS, *lexicon.JOBS))


def parse(text: str, today: date, *, context: str = "", has_photos: bool = False) -> Question:
    """Returns the parsed question: some words show the kind of its answer, the others identify the memory."""
    question = plain(text).strip()
    if has_photos and _is_about_photo(question):
        return Question(question, KINDS["who is this"], question)
    kind, match = kind_of(question)
    groups = match.groupdict() if match else {}
    noun, unit = (groups.get("noun") or "").lower(), (groups.get("unit") or "").lower()
    names = tuple(find_names(question))
    dates = find_dates(question, today, past=bool(re.search(r"\b(?:did|was|were|had)\b", question, re.IGNORECASE)))
    day = question[dates[0].start : dates[0].end] if dates else ""
    # "What did I tell you about Rex on Monday?" is about Rex.
    if day and _ASKS_WHAT_WAS_SAID.search(question) and not content_words(question.replace(day, " ")):
        kind = KINDS["said on the day"]
    words = content_words(_CANNOT_EAT.sub(r"\1 allergic", question))
    if kind.reply_form == "shown":
        words = [word for word in words if stem(word) not in _WORDS_FOR_PHOTOS]
    is_own = bool(re.search(r"\b(?:i|my|mine|we|our|im|ive)\b", question, re.IGNORECASE))
    return Question(
        question,
        kind,
        plain(context) or question,
        tuple(words),
        names,
        noun=noun.split()[-1] if noun else "",
        unit=unit,
        about_self=is_own and not names,
        within=dates[0].interval if dates else None,
    )


def with_name(question: Question, concepts: Sequence[Concept]) -> Question | None:
    """Returns the question with the name in place of "my dog".

    Returns None if the question names somebody already, or unless exactly one concept is called "dog".
    """
    match = _MY.search(question.text)
    if match is None or question.names:
        return None
    names = [concept.name for concept in concepts if match["what"].casefold() in map(str.casefold, concept.aliases)]
    if len(names) != 1:
        return None
    return replace(_reworded(question, match[0], names[0], match["what"]), names=(names[0],), about_self=False)


def with_alias(question: Question, concepts: Sequence[Concept]) -> tuple[Question, str] | None:
    """Returns the question with "my dog" in place of the name, and "dog": the other way round than `with_name`."""
    named = [concept for concept in concepts if concept.name in question.names and concept.aliases]
    if len(named) != 1 or len(question.names) != 1:
        return None
    name, alias = named[0].name, named[0].aliases[0]
    if sum(alias in concept.aliases for concept in concepts) != 1:
        return None
    return replace(_reworded(question, name, f"my {alias}", name), names=()), alias


def _reworded(question: Question, old: str, new: str, old_words: str) -> Question:
    text = question.text.replace(old, new, 1)
    other_words = [word for word in question.words if word not in content_words(old_words)]
    words = tuple(dict.fromkeys([*content_words(new), *other_words]))
    return replace(question, text=text, context=text, words=words)


_MY = re.compile(r"\b(?:my|our) (?P<what>[\w-]+)\b", re.IGNORECASE)


def content_words(text: str) -> list[str]:
    """Returns the words of the text, in lower case and unstemmed, that distinguish memories."""
    lower = joined_phrases(plain(text).lower())
    words = re.findall(r"[^\W_]+(?:[-&.:/][^\W_]+)*(?:'[^\W_]+)?", lower)
    bare = [re.sub(r"(?<!\bca)n't$|'\w+$", "", word) for word in words]
    return list(dict.fromkeys(word for word in bare if len(word) > 1 and stem(word) not in _FUNCTION_WORDS))


def _is_about_photo(text: str) -> bool:
    """Returns whether the question is about a photo beside it: "who is this?", "do you know this dog?", "is this Rex?"."""
    if re.match(
        r"\W*(?:(?:and|so|but|ok|okay) )*who(?:'s| is| are| was) (?:this|that|these|those)\b", text, re.IGNORECASE
    ):
        return True
    if re.fullmatch(r"(?:so )?(?:is|was) (?:this|that|it|he|she) (?:my |our )?[\w' -]{1,30}\?*", text, re.IGNORECASE):
        return True
    asks = re.search(
        r"\b(?:who|what|which|recogni[sz]e|is this|is that|know (?:this|him|her|these)|^and (?:this|that|these))\b",
        text,
        re.IGNORECASE,
    )
    subjects = r"\b(?:photos?|pictures?|images?|dog|cat|pet|man|woman|guy|animal|ones?|recogni[sz]e|see|look\w*)\b"
    return bool(asks) and not content_words(re.sub(subjects, "", text))
