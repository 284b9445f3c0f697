"""What a question asks for: the kind of answer, and the words that tell which memory holds it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from m2a.agents.offline import lexicon
from m2a.agents.offline.acts import Utterance, utterances
from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.dates import find_dates
from m2a.agents.offline.kinds import KINDS, Kind, kind_of
from m2a.agents.offline.names import antecedent, find_names
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import topic_of
from m2a.agents.offline.text import plain, stem, tokens
from m2a.types import Concept, DateInterval, Message

# Asked of what somebody is told not to bear.
_MAY_NOT_EAT = re.compile(
    r"\b(?:can't|cannot|can not|mustn't|shouldn't|doesn't|does not|don't|not)\b((?: \w+){0,3}?) eat\b", re.I
)
_TOLD_THEN = re.compile(
    r"\bwhat (?:all |else )?(?:did|have) (?:i|we)\b.*\b(?:tell|told|say|said|mention|talk)", re.IGNORECASE
)
_SHOWING = frozenset(stem(word) for word in "show see look photo picture pic image".split())
# Words that tell nothing of which memory answers.
_LIGHT = frozenset(
    stem(word)
    for word in "be have do will would can could shall should may might must a an the my our your his her its their mine "
    "ours i we you he she it they me us him them himself this that these those there here and or but so if of in on at to for "
    "with from by as about not now then too also just really very all some any more most much many ever again still already "
    "than into out up over down off back only even please pls ok okay well right currently exactly usually actually roughly "
    "what who whom whose which when where why how whats whos whens wheres hows remember recall know tell remind say mention "
    "think happen thing something anything someone kind type sort go take want need new same else other s t m re ve ll d "
    "going gonna supposed lol goodness meant got get yet today moment everything "
    "anyone somebody true possible asking ask n w u im ive ill "
    "need day date time long old year month week name called call until till til ago since number reason person put back".split()
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """`text` is the question alone and `context` the message that it stands in; `noun` is what "which …" asks for.

    `is_read` is False for a question in a language that these rules do not know.
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


def questions_of(
    message: Message, recent: Sequence[Message], concepts: Sequence[Concept], sense: Sense
) -> list[Question]:
    """The questions of the user's message, pronouns resolved from the newest turns."""
    said = utterances(message.text, sense)
    asked = [utterance.text for utterance in said if utterance.act == "ask"]
    today, has_photos = message.said_at.date(), bool(message.photos)
    found = [
        parse(resolve(text, recent, concepts), today, context=message.text, has_photos=has_photos) for text in asked[:5]
    ]
    found = [one if at == 0 else _of_the_same(one, found[at - 1]) for at, one in enumerate(found)]
    found += [Question(one.text, KINDS["thing"], one.text, is_read=False) for one in said[:20] if _asks_unread(one)]
    if message.photos and not re.search(r"\w", message.text):
        found.append(Question("who is this?", KINDS["who is this"]))
    return found


def _of_the_same(question: Question, before: Question) -> Question:
    """What names nothing is asked of what the question before it names: "Do I have any pets? What are their names?"."""
    points = re.search(r"\b(?:they|them|their|those|he|she|him|her|his|it|its)\b", question.text, re.IGNORECASE)
    if question.words or question.names or not points:
        return question
    return replace(question, words=before.words, names=before.names, about_self=before.about_self)


def _asks_unread(utterance: Utterance) -> bool:
    text = utterance.text.strip()
    return utterance.act == "unread" and (text.endswith(("?", "？", "؟", "か。", "か")) or text.startswith("¿"))


def resolve(text: str, recent: Sequence[Message], concepts: Sequence[Concept]) -> str:
    """The question with the name that "he" or "she" means; "it" becomes the thing spoken of last."""
    if re.fullmatch(r"\W*(?:so )?who am i\W*", text, re.IGNORECASE):
        return "What is my name?"
    said = [message.text for message in recent if message.role == "user"][-4:]
    follow_up = re.match(r"^(?:and |what about |how about |and what about )+(?P<what>[^?]+)\?*$", text, re.IGNORECASE)
    if follow_up and said and len(follow_up["what"].split()) <= 4:
        names = find_names(said[-1])
        if names:
            return said[-1].replace(names[0], follow_up["what"].strip())
    parts = [part for one in said for part in sentences(plain(one))]
    pronoun = re.search(r"\b(?:he|she|him|his|her)\b", text, re.IGNORECASE)
    names_somebody = find_names(text) or (pronoun and _speaks_of_somebody(text[: pronoun.start()]))
    if pronoun and not names_somebody and (named := antecedent(parts, concepts, pronoun[0])):
        text = re.sub(r"\b(?:his|her)\b(?= \w)", f"{named}'s", text, flags=re.IGNORECASE)
        text = re.sub(r"\b(?:he|she|him|her)\b", named, text, flags=re.IGNORECASE)
    loose = re.search(r"\b(?:it|its|that one)\b", text, re.IGNORECASE) and not content_words(text)
    if loose and (topic := topic_of(parts)):
        text = re.sub(r"\b(?:it|that one)\b", topic, text, count=1, flags=re.IGNORECASE)
    return text


def _speaks_of_somebody(text: str) -> bool:
    """Whether whom a pronoun after it means is named there: "Where is my sister and what does she …"."""
    words = (re.sub(r"'s$", "", token.lower) for token in tokens(plain(text)))
    return any(word in _SOMEBODY for word in words)


_SOMEBODY = frozenset((*lexicon.RELATIONS, *lexicon.PETS, *lexicon.JOBS))


def parse(text: str, today: date, *, context: str = "", has_photos: bool = False) -> Question:
    """The question's kind by its words of asking; the others tell which memory is meant."""
    typed = plain(text).strip()
    if has_photos and _points_at_photo(typed):
        return Question(typed, KINDS["who is this"], typed)
    kind, match = kind_of(typed)
    groups = match.groupdict() if match else {}
    noun = groups.get("noun") or ""
    found = find_dates(typed, today, past=bool(re.search(r"\b(?:did|was|were|had)\b", typed, re.IGNORECASE)))
    names = tuple(find_names(typed))
    day = typed[found[0].start : found[0].end] if found else ""
    if day and _TOLD_THEN.search(typed) and not content_words(typed.replace(day, " ")):
        kind = KINDS["told then"]
    return Question(
        typed,
        kind,
        plain(context) or typed,
        tuple(
            word
            for word in content_words(_MAY_NOT_EAT.sub(r"\1 allergic", typed))
            if kind.answer != "shown" or stem(word) not in _SHOWING
        ),
        names,
        noun=noun.split()[-1].lower() if noun else "",
        unit=(groups.get("unit") or "").lower(),
        about_self=bool(re.search(r"\b(?:i|my|mine|we|our|i'm|i've|i'll|im|ive)\b", typed, re.IGNORECASE))
        and not names,
        within=found[0].interval if found else None,
    )


def content_words(text: str) -> list[str]:
    """The words of the text, lower case and as typed, that can tell one memory from another."""
    lower = plain(text).lower()
    words = re.findall(r"[^\W_]+(?:[-&.:/][^\W_]+)*(?:'[^\W_]+)?", lower)
    bare = [re.sub(r"'\w+$", "", word) for word in words]
    return list(dict.fromkeys(word for word in bare if len(word) > 1 and stem(word) not in _LIGHT))


def _points_at_photo(text: str) -> bool:
    """ "Who is this?", "do you know this dog?", "is this Rex?" beside a photo."""
    asks = re.search(
        r"\b(?:who|what|which|recogni[sz]e|is this|is that|know (?:this|him|her|these)|^\W*and (?:this|that|these))\b",
        text,
        re.I,
    )
    shown = re.sub(
        r"\b(?:photos?|pictures?|images?|dog|cat|pet|man|woman|guy|animal|ones?|recogni[sz]e|see|look\w*)\b",
        "",
        text,
    )
    is_it = r"(?:so )?(?:is|was) (?:this|that|it|he|she) (?:my |our )?[\w' -]{1,30}\?*"
    who = re.match(
        r"\W*(?:and |so |but |ok |okay )*who(?:'s| is| are| was) (?:this|that|these|those)\b", text, re.IGNORECASE
    )
    return bool(who or (asks and not content_words(shown)) or re.fullmatch(is_it, text, re.IGNORECASE))
