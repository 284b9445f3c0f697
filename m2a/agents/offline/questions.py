"""What a question asks for: the kind of answer, and the words that a memory must meet."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from m2a.agents.offline import lexicon
from m2a.agents.offline.dates import WEEKDAYS, find_dates
from m2a.agents.offline.names import antecedent, find_names
from m2a.agents.offline.question_kinds import KINDS, Asks
from m2a.agents.offline.speech import is_question, strip_opener, utterances
from m2a.agents.offline.statements import topic_of
from m2a.agents.offline.text import plain, stem, stems, tokens
from m2a.types import Concept, DateInterval, Message

# Words that carry nothing which a memory would have to meet.
_LIGHT = frozenset(
    stem(word)
    for word in "be have do will would can could shall should may might must a an the my our your his her its "
    "their mine ours i we you he "
    "she it they me us him them this that these those there here and or but so if of in on at to for with from "
    "by as about "
    "not now then too also just really very all some any more most much many ever again still already than "
    "into out up over "
    "down off back only even again please ok okay fine right well currently exactly usually normally actually roughly "
    "what who whom whose which when where why how remember recall know tell remind say mention think happen thing "
    "something anything someone kind type sort go take want need new same else other s t m re ve ll d does did "
    "is are was were "
    "going supposed am been being has had yet today moment time everything anyone somebody information "
    "correct true possible allowed able".split()
)
_PREFIX = re.compile(
    r"^(?:(?:please |so |and |but |hey |ok |sorry |well |can you |could you |would you |will you |do you |did i "
    r"|have i |i(?:'d| would) (?:like|love) to |i (?:want|need) to |"
    r"i (?:forgot|forget|can't remember|don't remember|can't recall|wonder)|i(?:'m| am) wondering|any idea|"
    r"quick question|just wondering|"
    r"still |happen to |ever |already |maybe |remind me(?: of)?|tell me(?: again)?|let me know|look up|find(?: out)?|"
    r"know(?= (?:what|when|where|who|how|which|if|whether|my|the|[A-Z]))|remember|recall|say|tell you|told you|"
    r"mention(?:ed)?)[\s,:]*)+",
    re.IGNORECASE,
)
# "Can I cook mushrooms for Hugo?" asks whether he eats them.
_SERVING = re.compile(
    r"^(?:can|could|should|may|shall) (?:i|we) (?:cook|make|serve|bake|prepare|offer|bring|give|order|buy)(?: up)? "
    r"(?P<what>[\w' -]+?) (?:for|to) (?P<who>[A-Z]\w+|(?:my|our) \w+)$|"
    r"^(?:are|is) (?P<fine>[\w' -]+?) (?:ok|okay|all right|alright|fine|safe|good) for (?P<whom>[A-Z]\w+|(?:my|our) \w+)$",
    re.IGNORECASE,
)
# "tell me when …" asks nothing of me.
_ASKED_ME = re.compile(
    r"\b(?:tell|remind|show|give|let) me\b|\b(?:did|have) i (?:tell|told|mention(?:ed)?)\b", re.IGNORECASE
)
_ABOUT = re.compile(
    r"\b(?:what (?:do|did|can|else do) (?:you|i|we) (?:still )?(?:know|remember|say|tell you|have|recall|"
    r"mention|tell me)|what (?:have|had) i (?:told you|said|mentioned|shared)|"
    r"what (?:did|have) we (?:said|talk(?:ed)?|discuss(?:ed)?)|tell me (?:more |everything |something |all "
    r")?(?:you know )?|everything (?:you know )?|anything |"
    r"what(?:'s| is) (?:there|stored|saved)|who or what|do you know (?:anything|something|more))(?: \w+)?? "
    r"?\b(?:about|of|on|regarding)\b (?P<what>.+)",
    re.IGNORECASE,
)
# "these days" narrows nothing, and neither does "when I'm away" behind a question.
_ADVERBIAL = re.compile(
    r"\b(?:these days|nowadays|at the moment|at present|right now|by now|so far|in total|all together|"
    r"altogether|lately|of all|any more|anymore|in general|by the way|"
    r"this time|next time|last time|for now|at all|in the end|in my life|"
    r"(?:every|each|per|a) (?:day|week|month|year|night|morning))\b",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?<=\w) (?:when|while|if|because|before|after|whenever) (?:i|i'm|we|we're|my|she|he|they|you)\b.*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Question:
    """`words` must be met by a memory; `noun` is what "which …" or "how many …" asks for (it is among the words)."""

    text: str
    asks: Asks
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    noun: str = ""
    unit: str = ""
    about_self: bool = False
    within: DateInterval | None = None
    negated: bool = False
    modifiers: tuple[str, ...] = ()
    either: tuple[str, ...] = ()  # "left or right": one of them must be met


def questions_of(message: Message, recent: Sequence[Message], concepts: Sequence[Concept]) -> list[Question]:
    """The questions of the user's message, pronouns resolved from the newest turns."""
    asked = [utterance.text for utterance in utterances(message.text) if utterance.act == "question"]
    found = []
    for text in asked[:5]:
        resolved = resolve(text, recent, concepts)
        found.append(parse(resolved, message.said_at.date(), has_photos=bool(message.photos)))
    if message.photos and not asked and not re.search(r"\w", message.text):
        found.append(Question("who is this?", "who is this"))
    return found


def resolve(text: str, recent: Sequence[Message], concepts: Sequence[Concept]) -> str:
    """The question with the name that "he" or "she" means; "it" becomes the thing spoken of last."""
    said = [message.text for message in recent if message.role == "user"][-4:]
    follow_up = re.match(r"^(?:and |what about |how about |and what about )+(?P<what>[^?]+)\?*$", text, re.IGNORECASE)
    if follow_up and said and not re.search(r"\b(?:is|are|was|do|does|did)\b", follow_up["what"]):
        previous = next((one for one in reversed(said) if is_question(one)), "")
        names = find_names(previous)
        if names:
            return previous.replace(names[0], follow_up["what"].strip())
    sentences = [utterance.text for one in said for utterance in utterances(one)]
    if re.search(r"\b(?:he|she|him|his|her)\b", text, re.IGNORECASE) and not find_names(text):
        named = antecedent(sentences, concepts)
        if named is None:
            named = next((names[-1] for one in reversed(sentences) if (names := find_names(one))), None)
        if named:
            text = re.sub(r"\b(?:his|her)\b(?= \w)", f"{named}'s", text, flags=re.IGNORECASE)
            text = re.sub(r"\b(?:he|she|him|her)\b", named, text, flags=re.IGNORECASE)
    if re.search(r"\b(?:it|its|that one|there)\b", text, re.IGNORECASE) and not _own_words(text):
        topic = topic_of(sentences)
        if topic:
            text = re.sub(r"\b(?:it|that one)\b", topic, text, count=1, flags=re.IGNORECASE)
    return text


def parse(text: str, today: date, *, has_photos: bool = False) -> Question:
    """The question's kind by its first words; what is left are the words to be met."""
    typed = plain(text).strip()
    body = strip_opener(typed).rstrip("?!. ")
    if has_photos and _points_at_photo(body):
        return Question(typed, "who is this")
    if match := _ABOUT.search(body):
        return _question(typed, "about", match["what"], today)
    asked = _PREFIX.sub("", body) or body
    if serving := _SERVING.match(body):
        asked = f"does {serving['who'] or serving['whom']} eat {serving['what'] or serving['fine']}"
    if asked != body and (match := re.match(r"about (?P<what>.+)", asked, re.IGNORECASE)):
        return _question(typed, "about", match["what"], today)
    for pattern, asks in KINDS:
        if match := pattern.search(asked):
            groups = match.groupdict()
            rest = f"{asked[: match.start()]} {asked[match.end() :]}"
            if asks == "noun":
                return _noun_question(typed, asked, groups["noun"], rest, today)
            return _question(
                typed,
                asks,
                f"{groups.get('noun') or ''} {rest}",
                today,
                noun=groups.get("noun") or "",
                unit=groups.get("unit") or "",
            )
    return _question(typed, "thing", asked, today)


_SHOWN = re.compile(
    r"\b(?:this|that|photo|picture|image|dog|cat|pet|person|man|woman|guy|animal|thing|one|name|call(?:ed)?|"
    r"recogni[sz]e|in|on|see|look)\w*",
    re.IGNORECASE,
)


def _points_at_photo(body: str) -> bool:
    """ "Who is this?", "do you know this dog?", "is this Rex?" beside a photo."""
    asks = re.search(r"\b(?:who|what|which|recogni[sz]e|is this|is that|know (?:this|him|her|these))\b", body, re.I)
    is_it = r"(?:so )?(?:is|was) (?:this|that|it|he|she) (?:my |our )?[\w' -]{1,30}"
    return bool(asks and not _own_words(_SHOWN.sub("", body))) or bool(re.fullmatch(is_it, body, re.IGNORECASE))


# Nouns whose value is a number.
_AMOUNTS = frozenset(
    stem(word)
    for word in "size number dose amount height weight temperature percentage distance length width score speed".split()
)


def _noun_question(typed: str, asked: str, noun: str, rest: str, today: date) -> Question:
    head = noun.split()[-1]
    words = f"{noun} {rest}"
    kind: Asks = "amount" if stem(head) in _AMOUNTS and stem(head) != stem("number") else "noun"
    return _question(typed, kind, words, today, noun=head)


def _question(typed: str, asks: Asks, rest: str, today: date, *, noun: str = "", unit: str = "") -> Question:
    rest = re.sub(r"\bg(?:ets?|etting|ot) (?=\w+ed\b)", "", _ADVERBIAL.sub(" ", rest))
    if re.search(r"\b(?:have|has|'ve|'s)\b", typed, re.IGNORECASE):
        rest = re.sub(r"\bgot\b", " ", rest, flags=re.IGNORECASE)  # "have you got" is "have you"
    rest = re.sub(rf"\b(?:on )?(?:that|the) (?:{'|'.join(WEEKDAYS)}|day)\b", " ", rest, flags=re.IGNORECASE)
    rest = " ".join(rest.split())
    tail = _TAIL.search(rest)
    rest = rest[: tail.start()] if tail and _own_words(rest[: tail.start()]) else rest
    found = find_dates(rest, today, past=bool(re.search(r"\b(?:did|was|were|had)\b", typed, re.IGNORECASE)))
    within = found[0].interval if found else None
    for one in reversed(found):
        rest = rest[: one.start] + " " + rest[one.end :]
    names = tuple(find_names(re.sub(r"^\W*(\w)", lambda match: match[0], rest)))
    skip = _skipped(asks)
    rest = _without_apposition(rest, names)
    either: tuple[str, ...] = ()
    if choice := re.search(r"\b(?:the |a |an )?([\w-]+),? or (?:the |a |an )?([\w-]+)", rest, re.IGNORECASE):
        either = (*stems(choice[1]), *stems(choice[2]))
        rest = rest[: choice.start()] + rest[choice.end() :]
    ordered = [word for word in stems(rest) if word not in _LIGHT and word not in skip and len(word) > 1]
    if (
        asks == "person"
        and re.match(
            r"^(?:so )?who(?:'s| is| was| are) (?:the |our |my )?\w+(?: \w+)?(?: again)?\??$",
            typed.strip(),
            re.IGNORECASE,
        )
        and names
        and len(ordered) <= 2
    ):
        asks = "identity"
    relations = {stem(word) for word in lexicon.RELATIONS}
    own = bool(re.search(r"\b(?:i|my|me|mine|we|our|us|i'm|i've|i'll)\b", _ASKED_ME.sub("", typed), re.IGNORECASE))
    return Question(
        typed,
        asks,
        tuple(dict.fromkeys(ordered)),
        names,
        noun=stem(noun.split()[-1]) if noun else "",
        unit=unit.rstrip("s").lower(),
        about_self=own and not names and not any(word in relations for word in ordered),
        within=within,
        negated=bool(re.search(r"n't\b|\bnot\b", typed)),
        modifiers=_modifiers(rest, ordered),
        either=tuple(word for word in either if word not in _LIGHT),
    )


def _without_apposition(rest: str, names: Sequence[str]) -> str:
    """ "my son Deniz" is Deniz: the name says enough."""
    for name in names:
        relation = re.search(rf"\b([\w-]+) (?={re.escape(name)}\b)", rest)
        if relation and (relation[1].lower() in lexicon.RELATIONS or relation[1].lower() in lexicon.PETS):
            rest = rest[: relation.start()] + rest[relation.end() :]
    return rest


def _skipped(asks: Asks) -> frozenset[str]:
    """Words of asking that belong to a kind."""
    extra = {
        "name": "name call called named",
        "age": "old age year",
        "until": "until till day week month year leave left before away now long many",
        "ago": "ago since day week month year pass long many",
        "duration": "long time last take",
        "job": "do job work profession occupation living role title professionally nowadays",
        "show": "photo picture image pic look like show see",
        "money": "much cost price pay expensive spend charge worth",
        "day": "date day",
        "time": "time",
        "place": "locate find",
        "frequency": "often",
        "person": "see visit name person people call called",
        "identity": "again",
        "about": "far",
        "count": "total many number altogether",
    }.get(asks, "")
    return frozenset(stem(word) for word in extra.split())


# Adjectives that make another thing of the noun behind them.
_ESSENTIAL = frozenset(
    "favourite favorite best first last second next middle maiden new old other former ex previous".split()
)


def _modifiers(rest: str, ordered: Sequence[str]) -> tuple[str, ...]:
    """Words that only narrow another: a noun before a noun ("cello lesson"), a name after a preposition ("from Lisbon")."""
    found = []
    words = tokens(rest)
    for index, token in enumerate(words):
        word = stem(token.text)
        word = stem(re.sub(r"'s$", "", token.text))
        if word not in ordered or re.sub(r"'s$", "", token.lower) in lexicon.RELATIONS or token.lower in _ESSENTIAL:
            continue
        before = words[index - 1].lower if index else ""
        if token.text[0].isupper():
            if before in ("from", "to", "in", "at", "for"):
                found.append(word)
        elif index + 1 < len(words) and stem(words[index + 1].text) in ordered and token.lower not in lexicon.RELATIONS:
            found.append(word)
    return tuple(found)


def _own_words(text: str) -> list[str]:
    return [word for word in stems(text) if word not in _LIGHT and len(word) > 1]
