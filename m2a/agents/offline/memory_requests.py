"""Requests about the memory itself: to forget something, not to mention it, or to restore what was replaced.

A request that opens with "forget" or the like names its object. A request in other words ("That was told me in confidence,
you shouldn't have it.") is recognised by a learned decision over its words and its meaning.
"""

import re
from collections.abc import Sequence

from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, stem
from m2a.agents.offline.values import has_place
from m2a.memory.quotations import sentence_spans

# Words that may introduce a request.
_INTRODUCTION = (
    r"(?:(?:now that|since|because|as|if|after|before|on second thoughts?|thinking about it|come to think of it|"
    r"seeing as)\b[^,]*, )?"
    r"(?:(?:please|pls|kindly|also|and|nd?|actually|ok|okay|oh|hey|so|now|just|"
    r"omg|u?hm+|um+|ugh|lol|sorry|right|well|yo|listen)\b,? |do (?:me|us) (?:a|the) (?:\w+ )?favou?r(?: and|,|:) |"
    r"be (?:so good|so kind|a dear|an angel|a love)(?: as to| and) |(?:can|could|would|will) you (?:please |just )?|"
    r"you can (?:now )?|i(?:'d| would) (?:like|want|prefer) (?:you to |it if you )|i want you to |go ahead and )*"
)
_MEMORY_OBJECT = (
    r"(?= (?:that|what|whatever|everything|all|anything|about|of (?:that|it|my|what|the)|the (?:\w+ )?(?:thing|bit|part|memory|"
    r"note|fact|stuff|info\w*|password|pin|code|number|address|entry|story|figure|amount|sum|name|date)|my|our|it|this|her|his|"
    r"their|[\w-]+'s)\b)"
)
_FORGET = re.compile(
    rf"^{_INTRODUCTION}(?:(?:forget|delete|erase|un-?(?:know|learn|remember|hear))(?:d)?\b|"
    r"(?:remove|drop|wipe|disregard|scratch|scrap|strike|clear|purge|lose|(?:take|cross|rub|throw) (?:away|out|off)|"
    rf"get rid of|let go of)(?:{_MEMORY_OBJECT}|(?<=of)(?= \w)))(?! to\b)(?P<what> \w.*)",
    re.IGNORECASE,
)
# The memory stays but must not be mentioned: "don't mention that Anna plays the violin".
NOT_TO_MENTION = re.compile(
    rf"^{_INTRODUCTION}(?:(?:do not|don't|dont|never) (?:ever )?(?:mention|bring up|talk about|speak of)|"
    r"stop (?:mentioning|bringing up|talking about|speaking of)) (?!it\W*$)(?=\w)"
    r"(?!.*\b(?:to|in front of|around|near|with|when) (?:him|her|them|my|our|the|[a-z]+ (?:is|are)|(?-i:[A-Z])))",
    re.IGNORECASE,
)
# "Never mind", and no request: "forget it, I'll take the bus".
_NEVER_MIND = re.compile(
    r"^(?:(?:oh|ah|well|ok|okay|actually|no|never mind)\b[,.]? )*forget (?:about )?(?:it|that),? "
    r"(?:i'?ll|we'?ll|i can|it'?s (?:fine|ok|nothing)|it doesn'?t matter|never mind|"
    r"no (?:worries|matter|problem))\b",
    re.IGNORECASE,
)
# A request not to keep something.
_NOT_KEPT = re.compile(
    rf"^{_INTRODUCTION}(?:(?:do not|don't|dont|never|stop|no need to|you (?:needn't|need not|don't (?:have|need) to|shouldn't|"
    r"mustn't)) (?:remember(?:ing)?|keep(?:ing)?|stor(?:e|ing)|sav(?:e|ing)|hold on to|hang on to|retain|record)|"
    r"i(?:'d| would)(?: much)? (?:rather|prefer)(?: it if| that)? you (?:didn't|did not|don't|do not|forgot|dropped|"
    r"not)(?: (?:remember|keep|kept|know|knew|store|stored|save|saved|have|had|hold|held)(?: on to)?)?|"
    r"i (?:don't|do not) (?:want|like) you (?:to (?:remember|keep|know|store|save|have)|remembering|keeping|knowing|storing|"
    r"having))\b(?P<what> \w.*)",
    re.IGNORECASE,
)
# What the user remembers, or a request to keep: "I don't have to remember my password any more", "keep her birthday in mind".
_NO_FORGET_REQUEST = re.compile(
    r".{0,30}\b(?:keep|bear|have) (?:my|our|her|his|their|the|[\w-]+'s) [\w' ]{2,40} in mind\b(?! (?:any|no) )|"
    r"(?:i|we) (?:don't have to|do not have to|don't need to|needn't|no longer (?:have|need) to) "
    r"(?:remember|keep|know|store|note|write|carry)\b|"
    r"(?:(?:and|but|please|also|oh|so),? )*(?:don't|dont|do not|don't you|never|let's not|let us not) (?:ever )?forget\b|"
    r"[^.!?]*(?:n't|\bnever|\bnot) (?:ever )?lets? \w+ (?:ever )?forget\b[^.!?]*[.!?]*$",  # "she won't let you forget it"
    re.IGNORECASE,
)
# "No, both are true": a corrected statement is still true.
RESTORE = re.compile(
    r"\bboth (?:are|is|were|of (?:them|those|these) (?:are|were)|still)(?: still)? (?:true|right|correct|hold|valid|so)\b|"
    r"\bboth (?:still )?hold\b|\b(?:keep|i meant|remember) (?:them )?both\b|\bboth stay\b|"
    r"\bthe (?:old|first|earlier) one (?:is|was) (?:still )?(?:true|right|correct)(?: too| as well)\b",
    re.IGNORECASE,
)

_WORD = re.compile(r"(?:un-)?[a-z]+(?:'[a-z]+)?|[?!.,]")
_EXPLICIT = re.compile(r"\b(?:forget|delete|erase|scratch|disregard)", re.IGNORECASE)
_MIN_PROBABILITY = 0.01  # a less probable request is none: "Drop saw's away getting serviced"
# Below this probability, a clause after the request says what is true instead: "Forget Tuesday, we meet on Friday."
_MIN_WITH_CORRECTION = 0.3
# These words often introduce a correction: "scratch what I said about the key, Ana has it".
_SCRATCH = re.compile(r"\W*(?:\w+,? )?(?:scratch|scrap|strike|disregard)\b", re.IGNORECASE)
_NEW_VALUE = re.compile(r"\d|(?<=[a-z,'] )(?!I\b)[A-Z]|\b(?:now|instead)\b")
# "Scratch that, it's Monday": users correct themselves, and nothing has to be forgotten.
_SCRATCH_THAT = re.compile(
    r"(?:(?:ok(?:ay)?|no|oh|well|ah|so|wait|sorry|actually|hm+),? )*(?:scratch that\b[\s,.:-]+\w|"
    r"(?:scrap|strike) that\b[\s,.:-]+(?!(?:about|from|off|out|please|thing|bit|part|again|one)\b)\w)",
    re.IGNORECASE,
)
_ONLY_POINTS = re.compile(
    r"(?:(?:(?:everything|all|anything|the whole thing) )?(?:about |of )?(?:it|that|this|them|those|these)"
    r"(?: (?:one|part|bit|thing))?(?= (?:from|before|off|out|because|please|now|for|in)\b|\W*$)|"
    r"(?:(?:everything|all|anything) about )?(?:it|them) \w+\W*$)",
    re.IGNORECASE,
)
_REQUEST_STEMS = {
    stem(word)
    for word in "everything anything memory note fact thing bit part message please forget delete mention ask stuff information "
    "info detail entry whole story record told tell say said erase remove wipe scrub purge unlearn scrap strike drop bin "
    "clear lose rid throw list mind head file keep kept hold store save remember retain confidence pretend happen "
    "history chat kindly would ever anyone anybody omg reason longer never ok completely entirely altogether".split()
}


def opens_with_forget(sentence: str) -> bool:
    """Returns whether the sentence opens with a request to forget and names its object: "forget the door code"."""
    return bool(_FORGET.match(sentence))


def forget_target(sentence: str, sense: Sense) -> str | None:
    """Returns what a sentence wants forgotten, in its own words, None if nothing or if it says what is true instead."""
    request = _NOT_KEPT.match(sentence) or _FORGET.match(sentence)
    if request is None or _NEVER_MIND.match(sentence) or _SCRATCH_THAT.match(sentence):
        return None
    _, *rest = re.split(r"[,;:]\s+| - ", request["what"], maxsplit=1)
    if rest and (_SCRATCH.match(sentence) or _NEW_VALUE.search(rest[0]) or has_place(rest[0])):
        threshold = _MIN_WITH_CORRECTION
    else:
        threshold = 0.0 if _EXPLICIT.search(request[0]) else _MIN_PROBABILITY
    return request["what"].strip() if forget_probability(sentence, sense) >= threshold else None


def forget_probability(text: str, sense: Sense) -> float:
    """Returns the probability that the text asks, in any wording, to forget something.

    A sentence with words of a request decides alone: "The fine is settled. No need to keep it." Otherwise both the text and
    one of its sentences must be probable: a long message about feelings resembles such requests as a whole, and is none.
    """
    return sense.read(_forget_probability, text)


def _forget_probability(text: str, sense: Sense) -> float:
    if _NO_FORGET_REQUEST.match(text) or _NEVER_MIND.match(text):
        return 0.0
    if scratched := _SCRATCH_THAT.match(text):
        return forget_probability(text[scratched.end() - 1 :], sense)
    decision = sense.models["forgets"]
    parts = sentences(text)
    whole_text = decision.probability(forget_request_features(text), sense.vector(text))
    if len(parts) < 2:
        return whole_text
    probabilities = {part: decision.probability(forget_request_features(part), sense.vector(part)) for part in parts}
    best_request = max((probabilities[part] for part in parts if has_forget_words(part)), default=0.0)
    return max(best_request, min(whole_text, max(probabilities.values())))


def forget_request_features(text: str) -> dict[str, float]:
    """Returns the features of a request to forget: its runs of up to three words, with "^" and "$" for its ends.

    Runs of up to four words, with roles in place of interchangeable words, are added: "no need to <keep>".
    """
    words = ["^", *_WORD.findall(text.lower()), "$"]
    roles = _roles(words)
    runs = (" ".join(words[at : at + length]) for length in (1, 2, 3) for at in range(len(words) - length + 1))
    role_runs = (" ".join(roles[at : at + length]) for length in (1, 2, 3, 4) for at in range(len(roles) - length + 1))
    return dict.fromkeys([*runs, *(run for run in role_runs if "<" in run)], 1.0)


def has_forget_words(text: str) -> bool:
    """Returns whether the text asks to remove something, or says that something must not be kept or was never said."""
    words = _WORD.findall(_GET_RID.sub("rid", text.lower()))
    return bool(_FORGET_WORDS.search(" ".join(_roles(["^", *words, "$"]))))


def _roles(words: Sequence[str]) -> list[str]:
    return [_ROLES.get(word.replace("-", ""), word) for word in words]


_GET_RID = re.compile(
    r"\bget(?:ting)? rid of\b|"
    r"\b(?:take|leave|cross|rub) (?:(?:it|that|this|them|those|all of (?:it|that)) (?:back )?(?:out|off|away)|out(?= \w))\b"
)
_FORGET_WORDS = re.compile(
    r"(?:^\^|[,.!?]|\b(?:so|and|but|please|pls|just|kindly|now|then|you|to|ok|omg|hey|well|do|better|jesus|god|christ|also)|"
    r"<memory>) <(?:remove|forget)> (?!to\b)|"
    r"\b(?:that|it|this|they|those|these) (?:should|ought to|must|has to|have to|needs? to|can|may|might as well) go\b|"
    r"(?<!\bi )(?<!\bwe )(?<!he )(?<!they )<no> (?:[\w']+ ){0,4}?<keep>(?! (?:how|if|what|when|where|whether|whom?|why)\b)|"
    r"<no> (?:[\w']+ ){0,2}?<say> you\b|\bi ever <say>"
)
# The role of a word in a request to forget: it removes, keeps, says, negates, or names a memory or what is in it.
_ROLES = {
    word: f"<{role}>"
    for role, words in {
        "remove": "delete erase wipe scrub purge unlearn expunge discard strike scratch scrap bin ditch dump drop lose clear "
        "remove shred burn trash toss chuck zap nuke kill cut cross rub blot axe undo unknow dispose throw deleting erasing "
        "wiping scrubbing removing dropping removed deleted erased wiped scrubbed gone away rid",
        "forget": "forget forgets forgetting forgot forgotten",
        "keep": "keep store save remember retain hold know recall note log carry hang keeping storing saving "
        "remembering retaining recording holding knowing noting kept stored saved retained recorded held known noted logged",
        "say": "said told mentioned say tell mention wrote written typed shared gave spoke talked confided telling saying "
        "mentioning",
        "no": "no not never don't dont didn't needn't shouldn't mustn't ought cannot can't won't nothing none without",
        "memory": "memory record records notes file files mind head history profile archive list",
        "matter": "bit thing things stuff part detail details info information business matter story entry number code "
        "address name date password pin figure",
    }.items()
    for word in words.split()
}


# A title before a name does not distinguish people. "The dr" stays.
_TITLE = re.compile(r"\b(?:mr|mrs|ms|mx)\b\.?\s*|\b(?:dr|prof|rev)\.\s+", re.IGNORECASE)


def wanted_words(request: str) -> set[str]:
    """Returns the stems that name the thing to forget, none for "forget that"."""
    spans = sentence_spans(request)
    first = request[slice(*spans[0])] if spans else request
    target, *_ = re.split(r", (?:he|she|they|i|it|that|because|since|please)(?:'\w+)?\b|; ", first, flags=re.IGNORECASE)
    if _ONLY_POINTS.match(target):
        return set()
    target = _TITLE.sub("", target)
    words = content(re.sub(r"^.*?\b(?:about|that)\b", "", target, count=1)) or content(target)
    return words - _REQUEST_STEMS


def what_is_named(request: str) -> str:
    """Returns the words after "about", without reasons and "please", or the whole request if it has no "about"."""
    about = re.findall(r"\babout (?!it\b|that\b|this\b)([^,;.!?]+)", request, re.IGNORECASE)
    return str(about[-1]) if about else request


def content_of_request(request: str) -> set[str]:
    """Returns the stems of all words except those that only make the request."""
    return content(_TITLE.sub("", request)) - _REQUEST_STEMS
