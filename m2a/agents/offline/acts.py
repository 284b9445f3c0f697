"""Whether a text tells something to keep, asks, or only chats: a learned decision over its form and the vector of its wording."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from m2a.agents.offline import lexicon
from m2a.agents.offline.clauses import AUXILIARIES, PRONOUNS, find_subject, past_forms, sentences
from m2a.agents.offline.names import find_names
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import plain, tokens

LEARNED_ACTS: tuple[Literal["tell", "ask", "chat"], ...] = ("tell", "ask", "chat")
_FEW_WORDS = 5

WH = r"(?:who|whose|whom|what|which|when|where|whereabouts|why|how)(?:'?s|'?re|'?ve|'?d)?"
AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|should|shall|isn't|aren't|don't|doesn't|"
    r"didn't|haven't|hasn't|can't)"
)
OPENER = (
    r"(?:(?:and|so|but|n|oh|ok|okay|wait|hey|hi|sorry|also|well|then|right|please|pls|hang on|random one|quick one|"
    r"yo|in|on|at|by|with|from|to|for|until|since)\b,? *)*"
)
_CLAUSE = re.compile(r"[,;:]\s+|\s-+\s|\s-(?=\w)|\.\.+\s*|[!?.]\s+|\s(?:and|but|so|n|or)\s")
WH_FIRST = re.compile(rf"{OPENER}{WH}\b")
# "When my in-laws come, …", "what Ada wants is …": without an inverted verb, these openings ask nothing.
_SUBORDINATE_FIRST = re.compile(
    rf"{OPENER}(?:when|where|what|how|why|who)ever\b|"
    rf"{OPENER}(?:when|where|what|how) (?:i|we|you|he|she|it|they|my|our|his|her|their|the|this|that)\b"
)
_AUXILIARY_FIRST = re.compile(rf"{OPENER}{AUXILIARY}\b(?! not)")
_VERB_AND_SUBJECT_FIRST = re.compile(rf"{OPENER}{AUXILIARY} (?:i|we|you|my|the|he|she|they|it|there)\b")
REACTION = (
    r"(?:wow|oh+|ah+|aw+|ooh|ha(?:ha)*|he(?:he)+|lol|lmao|omg|ugh|yay|phew|gosh|damn|well|right|righto|hm+|mm+|ok(?:ay)?|aye|"
    r"nah|nope|yep|yeah|yes|no|sure|great|nice|cool|lovely|brilliant|perfect|good|thanks?|thx|ta|cheers|sorry|bye|goodbye|hi|"
    r"hello|hey|lord|god|goodness|my (?:goodness|god|word|days)|very well|not)\b"
)
_FORMS = {
    "a question mark": re.compile(r"\?"),
    "ends as a question": re.compile(r"\?[ )\"']*$"),
    "ends as a statement": re.compile(r"\.$"),
    "inverted": re.compile(rf"\b{WH}(?: \w+){{0,2}}? {AUXILIARY}\b|\b(?:who|what|when|where|how)'?s\b"),
    "question word": re.compile(rf"\b{WH}\b"),
    "tell me": re.compile(r"\b(?:remind|tell|show|give) (?:me|him|her|us|them)\b"),
    "of oneself": re.compile(r"\b(?:i|my|me|mine|we|our|us|im|ive)\b"),
    "I have": re.compile(r"\b(?:i|we)(?:'ve|'d|'ll|'m|'re)\b|\b(?:im|ive|weve)\b"),
    "mine": re.compile(r"\b(?:my|our)\b"),
    "of the assistant": re.compile(r"\b(?:you|ur|u|your)\b"),
    "again": re.compile(r"\bagain\b|\bremember\b|\bdo you know\b|\bforgot|\bforget"),
    "a digit": re.compile(r"\d"),
    "a date": re.compile(
        r"\b(?:\w+day|jan\w*|feb\w*|march|april|may|june|july|aug\w*|sept\w*|oct\w*|nov\w*|dec\w*|tomorrow|week|"
        r"month)\b"
    ),
    "exclaims": re.compile(r"!"),
    "opens as a reaction": re.compile(rf"^\W*{REACTION}"),
    "of what was said": re.compile(
        r"^\W*(?:\w+\W+){0,3}?(?:that|this|it)(?:'s|'d|'ll| is| was| will| would| sounds?| looks?| makes?| seems?)\b"
    ),
    "of anybody": re.compile(
        r"\b(?:one|people|they say|somebody|someone|everybody|everyone|anyone|nobody|humans?|folk)\b"
    ),
    "of somebody's": re.compile(r"\b(?!it's|that's|what's|there's|here's|let's|who's|he's|she's|one's)[\w-]{3,}'s? \w"),
    "a definite thing": re.compile(r"\b(?:the|her|his|their)\b"),
    "corrects": re.compile(
        r"\b(?:actually|scratch|wait|meant|correction|moved|changed|instead|these days|no longer|anymore|wrong)\b"
    ),
}

# Words before "these" that are not an imperative: "seeing these figures helps", "bought these boots", "all these colours".
_NO_IMPERATIVE = (
    rf"(?:\w+ing|{'|'.join(sorted(past_forms() - lexicon.VERBS))}|"
    r"all|both|but|and|for|of|with|in|on|at|by|from|than|like|are|were|is|was)\b"
)
COMMAND = re.compile(
    r"^(?:please |kindly |can you |could you |would you |will you |just |ok(?:ay)?,? |now,? )*(?:write|draft|translate|"
    r"summari[sz]e|explain|play|send|order|make me|suggest|recommend|calculate|convert|google|tell (?:me )?a|sing|create|"
    r"generate|remind me to|wake me|imagine|pretend(?! (?:that )?(?:i|you|we|it|this)\b)|guess (?!what\b)|list|compare|rephrase|"
    rf"rewrite|reword|proofread|paraphrase|shorten|simplify|(?!{_NO_IMPERATIVE})[a-z]+ (?:these|the following)|"
    r"(?:sum|add|multiply|divide|subtract|round)(?: up)? (?=\d)|turn .+ into\b|do the (?:sum|maths?)|define|spell|invent|"
    r"compose|describe|count|(?:give|get|fetch) (?:me|us)(?= (?:a|an|some|any|one|two|three|five|ten|more|another|"
    r"\d+) )(?! a (?:\w+ )?favou?r)|(?:give|get|fetch) (?:it|this|that)|(?:pick|read|teach|do) (?:me|us|it|this|"
    r"that)(?! (?:a|the) (?:\w+ )?favou?r)|(?:turn|fix|check|correct|change|cut|format|repeat|say|answer|reply|try|name|"
    r"make this|make these) (?:this|that|it|the following|"
    r"these|those|your|again|once)|help me|let's (?:play|talk|try|pretend))\b(?!'| of\b)",  # "Order of bolts arrives"
    re.IGNORECASE,
)
# Clauses about oneself that only introduce a remark: "I must say …".
_REMARKS = re.compile(
    r"(?:must|have to|would|could|should|might|may) (?:say|admit|add|not)|(?:do )?(?:wonder|suppose|guess|trust|hope|mean|see|"
    r"think|bet|bid|beg|thank|appreciate|agree|understand|doubt|swear|will (?:be|go|say))\b",
    re.IGNORECASE,
)
_ANYBODY = frozenset(
    "a an some any no one nobody somebody someone anybody anyone everybody everyone people folk folks".split()
)
_OWNED = re.compile(r"(?:my|our|his|her|their)\b|[\w-]+'s\b", re.IGNORECASE)
# Talk about the assistant itself, musing, and reactions: they tell nothing about the user's life.
_ABOUT_THE_ASSISTANT = re.compile(
    r"^\W*(?:(?:and|so|but|well|wow|haha|ha|lol|hey|oh|ok|okay|no|yes)\b[\s,]*)*(?:you(?! should know|'d never|"
    r"'ll (?:never|be|find|need|see))(?:'re|'ve|'ll|'d| are| have| were| did| do| don't| can| could| should| sound| seem| look|"
    r" keep| repeated| forgot| said| got| just| really| always| never)\b|your? (?:\w+ )?(?:answers?|repl(?:y|ies)|responses?|"
    r"memory|jokes?|grammar|tone|style)\b)|\b(?:last|that|this|your) (?:answer|reply|response|joke|one got me)\b",
    re.IGNORECASE,
)
_MUSES = re.compile(
    r"^\W*(?:(?:and|so|but|well|hm+|oh|sometimes|often|i sometimes|honestly)\b[\s,]*)*(?:i(?:'m| am)? (?:often |sometimes |"
    r"always |just )*(?:wonder\w*|suppose|guess)|(?:it's )?(?:funny|strange|odd|weird|amazing|interesting|crazy|isn't it \w+|"
    r"who(?:'d| would) have) (?:how|that|what|the way|thought)|imagine|what if|if only|let(?:'s| us| me)|never mind|they say|"
    r"people say|life is|time flies)\b",
    re.IGNORECASE,
)
_REACTS = re.compile(
    r"^\W*(?:(?:ha(?:ha)*|lol|lmao|wow|ok(?:ay)?|oh|ah|yes|yeah|no|nice|great|cool|well|hm+|right|fair enough|gosh|damn|ugh|"
    r"yay)\b[\s,!.]*)*(?:that|this)(?:'s|(?: \w+){1,6}\W*$)",
    re.IGNORECASE,
)
# A greeting or small talk, much of it in the form of a question.
GREETING = re.compile(
    r"^\W*(?:(?:hi+|hey|hello|so)\b\W*)*(?:how (?:are|r) (?:you|u|things)|how(?:'s| is) (?:it going|life|everything)|"
    r"what(?:'s| is) (?:up|new)(?! (?:with|w)\b)|how was your|did you (?:sleep|miss)|all (?:good|well)\?|"
    r"you there|what an? [a-z' ]{2,40}[.!]*$|"
    r"(?:brb|bbl|afk|ttyl)\b|guess what\W*$|don'?t mention it\W*$|what can you do\b|(?:who|what) are you\b|"
    r"what(?:'s| is) your name\b|help\W*$)",
    re.IGNORECASE,
)


def act_of(text: str, sense: Sense) -> Literal["tell", "ask", "chat"]:
    """Returns the most probable act of the text."""
    chances = act_probabilities(text, sense)
    return max(LEARNED_ACTS, key=lambda act: chances[act])


def act_probabilities(text: str, sense: Sense) -> Mapping[str, float]:
    """Returns the probability of each act; they come from separate decisions and need not add up to 1."""
    return sense.read(_act_probabilities, text)


def _act_probabilities(text: str, sense: Sense) -> Mapping[str, float]:
    form, wording = features(text), sense.wording(text)
    return {act: sense.models[act].probability(form, wording) for act in LEARNED_ACTS}


def features(text: str) -> dict[str, float]:
    """Returns the features of a text: how it opens and ends, its form, and its subject."""
    text = plain(text)
    parts = sentences(text) or (text,)
    lower, lower_parts = text.lower(), [part.lower() for part in parts]
    clauses = [clause for part in lower_parts for clause in _CLAUSE.split(part)]
    length = len(text.split())
    result: dict[str, object] = {name: pattern.search(lower) for name, pattern in _FORMS.items()}
    result |= {
        "all ends as questions": all(part.endswith("?") for part in parts),
        "opens with a question word": WH_FIRST.match(lower_parts[0]),
        "a clause opens with a question word": any(map(WH_FIRST.match, clauses)),
        "a sentence opens with a verb": any(map(_AUXILIARY_FIRST.match, lower_parts)),
        "a clause opens with a verb": any(map(_VERB_AND_SUBJECT_FIRST.match, clauses)),
        "a clause": any(map(find_subject, parts[:2])),
        "a name": re.search(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]", text),
        "short": length < 6,
        **_content_features(parts),
    }
    sizes = {"length": min(length, 40) / 20, "sentences": min(len(parts), 4) / 2}
    return {name: float(bool(value)) for name, value in result.items()} | sizes


def _content_features(parts: Sequence[str]) -> dict[str, object]:
    """Returns the features of what the sentences are about: their subject, and whether they only muse, react or command."""
    subjects = [find_subject(part) for part in parts]
    first = subjects[0]
    subject_text = "" if first is None else first.text
    subject = subject_text.lower()
    pointing = subject in ("it", "that", "this", "there")
    return {
        "of life": any(map(_is_personal, parts)),
        "a whole clause": any(map(_is_clause, parts)),
        "idle": all(map(_is_idle, parts)),
        "muses": any(map(_MUSES.search, parts)),
        "reacts": any(map(_REACTS.search, parts)),
        "speaks to the assistant": any(map(_ABOUT_THE_ASSISTANT.search, parts)),
        "remarks": any(
            each is not None and each.text.lower() in ("i", "we") and _REMARKS.match(each.rest) for each in subjects
        ),
        "a command": any(map(COMMAND.match, parts)),
        "greets": any(map(GREETING.match, parts)),
        "a subordinate clause first": bool(_SUBORDINATE_FIRST.match(parts[0].lower()))
        and len(tokens(parts[0])) > _FEW_WORDS,
        "subject: I": subject in ("i", "we"),
        "subject: you": subject == "you",
        "subject: it": pointing,
        "subject: somebody's": bool(_OWNED.match(subject_text)),
        "subject: a name": bool(find_names(subject_text)),
        "subject: anybody": bool(subject) and subject.split()[0] in _ANYBODY,
        "subject: another": bool(subject) and not pointing and subject not in ("i", "we", "you"),
    }


def _is_idle(sentence: str) -> bool:
    """Returns whether the sentence has the form of a statement but tells nothing about the user's life."""
    if re.search(r"\d|\b(?:[Mm]y|[Oo]ur)\b|(?<=[a-z,] )(?!I\b)[A-Z]", sentence):
        return False
    return any(pattern.search(sentence) for pattern in (_ABOUT_THE_ASSISTANT, _MUSES, _REACTS))


def _is_personal(sentence: str) -> bool:
    """Returns whether the sentence is about the user, their people or things, or gives a number or a day, unlike a remark."""
    lower = sentence.lower()
    if sentence.endswith("!") or any(
        form.match(lower) for form in (_FORMS["opens as a reaction"], _AUXILIARY_FIRST, WH_FIRST)
    ):
        return False
    subject = find_subject(sentence)
    if subject is None:
        return len(tokens(sentence)) > 3 and bool(re.search(r"\d", sentence) or _FORMS["a date"].search(lower))
    text, verb = subject.text, subject.rest.split(" ")[0].lower()
    if text.lower() in ("i", "we"):
        return not _REMARKS.match(subject.rest)
    if text.lower() == "you" and re.match(r"will (?:find|need|see)\b", subject.rest):
        return True  # "You'll find the stopcock under the sink."
    if text.lower() in PRONOUNS or text.lower().split()[0] in _ANYBODY:
        return False
    return bool(
        _OWNED.match(text)
        or find_names(text)
        or re.search(r"\d", sentence)
        or _FORMS["a date"].search(lower)
        or verb not in AUXILIARIES
    )


def _is_clause(sentence: str) -> bool:
    """Returns whether the sentence has over three words, a subject and a verb: "the key is in the hall", not "what a day"."""
    return len(tokens(sentence)) > 3 and find_subject(sentence) is not None


# Their names, which the committed weights must have.
FEATURES = frozenset(features(""))
