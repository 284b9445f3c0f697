"""Wishes about the memory itself: to forget something, or to have back what was replaced.

A request to forget that opens with the wish says what it is of. One in other words ("That was told me in confidence, you
shouldn't have it.") is known by a learned decision over its words and its meaning.
"""

import re
from collections.abc import Sequence

from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, stem
from m2a.agents.offline.values import has_place
from m2a.memory.quotations import sentence_spans

# In which a wish is put before what is wished.
_PLEASE_DO = (
    r"(?:(?:now that|since|because|as|if|after|before|on second thoughts?|thinking about it|come to think of it|"
    r"seeing as)\b[^,]*, )?"
    r"(?:(?:please|pls|kindly|also|and|nd?|actually|ok|okay|oh|hey|so|now|just|"
    r"omg|u?hm+|um+|ugh|lol|sorry|right|well|yo|listen)\b,? |do (?:me|us) (?:a|the) (?:\w+ )?favou?r(?: and|,|:) |"
    r"be (?:so good|so kind|a dear|an angel|a love)(?: as to| and) |(?:can|could|would|"
    r"will) you (?:please |just )?|"
    r"you can (?:now )?|i(?:'d| would) (?:like|want|prefer) (?:you to |it if you )|i want you to |go ahead and )*"
)
_OF_THE_MEMORY = (
    r"(?= (?:that|what|whatever|everything|all|anything|about|of (?:that|it|my|what|the)|the (?:\w+ )?(?:thing|bit|"
    r"part|memory|"
    r"note|fact|stuff|info\w*|password|pin|code|number|address|entry|story|figure|amount|sum|name|date)|my|our|it|this|"
    r"her|his|their|[\w-]+'s)\b)"
)
_FORGET = re.compile(
    rf"^{_PLEASE_DO}(?:(?:forget|delete|erase|un-?(?:know|learn|remember|hear))(?:d)?\b|"
    r"(?:remove|drop|wipe|disregard|scratch|scrap|strike|clear|purge|lose|(?:take|cross|rub|throw) (?:away|out|off)|"
    rf"get rid of|let go of)(?:{_OF_THE_MEMORY}|(?<=of)(?= \w)))(?! to\b)(?P<what> \w.*)",
    re.IGNORECASE,
)
# It is to stay, and not to be spoken of: "don't mention that Anna plays the violin".
UNMENTIONED = re.compile(
    rf"^{_PLEASE_DO}(?:(?:do not|don't|dont|never) (?:ever )?(?:mention|bring up|talk about|speak of)|"
    r"stop (?:mentioning|bringing up|talking about|speaking of)) (?!it\W*$)(?=\w)"
    r"(?!.*\b(?:to|in front of|around|near|with|when) (?:him|her|them|my|our|the|[a-z]+ (?:is|are)|(?-i:[A-Z])))",
    re.IGNORECASE,
)
# Never mind: "forget it, I'll take the bus".
_NEVER_MIND = re.compile(
    r"^(?:(?:oh|ah|well|ok|okay|actually|no|never mind)\b[,.]? )*forget (?:about )?(?:it|that),? "
    r"(?:i'?ll|we'?ll|i can|it'?s (?:fine|ok|nothing)|it doesn'?t matter|never mind|"
    r"no (?:worries|matter|problem))\b",
    re.IGNORECASE,
)
# The same wish, put as what is not to be kept.
_NOT_KEPT = re.compile(
    rf"^{_PLEASE_DO}(?:(?:do not|don't|dont|never|stop|no need to|"
    r"you (?:needn't|need not|don't (?:have|need) to|shouldn't|mustn't)) "
    r"(?:remember|keep|store|save|hold on to|hang on to|retain|record|keep hold of|keep(?:ing)?|stor(?:e|ing)|"
    r"sav(?:e|ing)|"
    r"remember(?:ing)?)|i(?:'d| would)(?: much)? (?:rather|prefer)(?: it if| that)? you (?:didn't|did not|don't|"
    r"do not|forgot|dropped|"
    r"not)(?: (?:remember|keep|kept|know|knew|store|stored|save|saved|have|had|hold|held)(?: on to)?)?|i (?:don't|"
    r"do not) (?:want|like) you "
    r"(?:to (?:remember|keep|know|store|save|have)|remembering|keeping|knowing|storing|having))\b(?P<what> \w.*)",
    re.IGNORECASE,
)
# What one need not keep oneself, or wants kept: "I don't have to remember my password any more", "keep her birthday in mind".
_OWN_KEEPING = re.compile(
    r".{0,30}\b(?:keep|bear|have) (?:my|our|her|his|their|the|[\w-]+'s) [\w' ]{2,40} in mind\b(?! (?:any|no) )|"
    r"(?:i|we) (?:don't have to|do not have to|don't need to|needn't|no longer (?:have|need) to) "
    r"(?:remember|keep|know|store|note|write|carry)\b",
    re.IGNORECASE,
)
# "No, both are true": what a correction put aside holds beside it.
RESTORE = re.compile(
    r"\bboth (?:are|is|were|of (?:them|those|these) (?:are|were)|still)(?: still)? (?:true|right|correct|hold|valid|"
    r"so)\b|"
    r"\bboth (?:still )?hold\b|\b(?:keep|i meant|remember) (?:them )?both\b|\bboth stay\b|"
    r"\bthe (?:old|first|earlier) one (?:is|was) (?:still )?(?:true|right|correct)(?: too| as well)\b",
    re.IGNORECASE,
)

_WORD = re.compile(r"(?:un-)?[a-z]+(?:'[a-z]+)?|[?!.,]")
_PLAINLY = re.compile(r"\b(?:forget|delete|erase|scratch|disregard)", re.IGNORECASE)
_HARDLY = 0.01  # below which probability the wish is none: "Drop saw's away getting serviced"
_UNLIKELY = 0.3  # below which probability a clause after the wish tells what holds instead: "Forget Tuesday, we meet on Friday."
# After these a message goes on with what holds instead: "scratch what I said about the key, Ana has it".
_PUTS_RIGHT = re.compile(r"\W*(?:\w+,? )?(?:scratch|scrap|strike|disregard)\b", re.IGNORECASE)
_TELLS_ANEW = re.compile(r"\d|(?<=[a-z,'] )(?!I\b)[A-Z]|\b(?:now|instead)\b")
# "Scratch that, it's Monday": said of oneself, and nothing is to be forgotten.
_TAKEN_BACK = re.compile(
    r"(?:(?:ok(?:ay)?|no|oh),? )?(?:scratch that\b[\s,.:-]+\w|"
    r"(?:scrap|strike) that\b[\s,.:-]+(?!(?:about|from|off|out|please|thing|bit|part|again|one)\b)\w)",
    re.IGNORECASE,
)
_ONLY_POINTS = re.compile(
    r"(?:(?:(?:everything|all|anything|the whole thing) )?(?:about |of )?(?:it|that|this|them|those|these)"
    r"(?: (?:one|part|bit|thing))?(?= (?:from|before|off|out|because|please|now|for|in)\b|\W*$)|"
    r"(?:(?:everything|all|anything) about )?(?:it|them) \w+\W*$)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"^\W*(?:same (?:for|with|goes for)\b|(?:and |oh and |also )?(?:the|my|our|that|what)\b.{0,60}\b(?:as well|too|also)\b)",
    re.IGNORECASE,
)
_ASKING = {
    stem(word)
    for word in "everything anything memory note fact thing bit part message please forget delete mention ask stuff information "
    "info detail entry whole story record told tell say said erase remove wipe scrub purge unlearn scrap strike drop bin "
    "clear lose rid throw list mind head file keep kept hold store save remember retain confidence pretend happen "
    "kindly would ever anyone anybody omg reason longer never ok completely entirely altogether".split()
}


def is_forget(sentence: str) -> bool:
    """Whether the sentence opens with the wish and names what it is of: "forget the door code"."""
    return bool(_FORGET.match(sentence))


def forgotten_by(sentence: str, sense: Sense) -> str | None:
    """What a sentence wants forgotten, in its own words; None where it wants nothing forgotten, or tells what holds instead."""
    wish = _NOT_KEPT.match(sentence) or _FORGET.match(sentence)
    if wish is None or _NEVER_MIND.match(sentence) or _TAKEN_BACK.match(sentence):
        return None
    rest = re.split(r"[,;:]\s+| - ", wish["what"], maxsplit=1)
    alone = len(rest) == 1 or not (_PUTS_RIGHT.match(sentence) or _TELLS_ANEW.search(rest[1]) or has_place(rest[1]))
    least = _UNLIKELY if not alone else 0.0 if _PLAINLY.search(wish[0]) else _HARDLY
    return wish["what"].strip() if forget_probability(sentence, sense) >= least else None


def forget_probability(text: str, sense: Sense) -> float:
    """How likely the text asks, in whatever words, that something told before be forgotten.

    A sentence that bids so decides by itself: "The fine is settled. No need to keep it." Else one of them asks for it as all
    of it does: a long message of feelings is near to such requests as a whole, and asks nothing.
    """
    if _OWN_KEEPING.match(text) or _NEVER_MIND.match(text):
        return 0.0
    decision = sense.models["forgets"]
    parts = sentences(text)
    whole = decision.probability(phrases(text), sense.vector(text))
    if len(parts) < 2:
        return whole
    likely = {part: decision.probability(phrases(part), sense.vector(part)) for part in parts}
    bidding = max((likely[part] for part in parts if may_ask_to_forget(part)), default=0.0)
    return max(bidding, min(whole, max(likely.values())))


def phrases(text: str) -> dict[str, float]:
    """The runs of up to three words by which such a request is known; "^" and "$" are its ends.

    Words that do the same in such a request stand for one another besides, in runs of up to four: "no need to <keep>".
    """
    words = ["^", *_WORD.findall(text.lower()), "$"]
    acts = _acts(words)
    runs = (" ".join(words[at : at + length]) for length in (1, 2, 3) for at in range(len(words) - length + 1))
    alike = (" ".join(acts[at : at + length]) for length in (1, 2, 3, 4) for at in range(len(acts) - length + 1))
    return dict.fromkeys([*runs, *(run for run in alike if "<" in run)], 1.0)


def may_ask_to_forget(text: str) -> bool:
    """Whether the text bids to take something away, or says that something is not to be kept or was never said."""
    words = _WORD.findall(_GET_RID.sub("rid", text.lower()))
    return bool(_BIDS.search(" ".join(_acts(["^", *words, "$"]))))


def _acts(words: Sequence[str]) -> list[str]:
    return [_ACTS.get(word.replace("-", ""), word) for word in words]


_GET_RID = re.compile(r"\bget(?:ting)? rid of\b")
_BIDS = re.compile(
    r"(?:^\^|[,.!?]|\b(?:so|and|but|please|pls|just|kindly|now|then|you|to|ok|omg|hey|well|do|better)|<memory>) "
    r"<(?:remove|forget)> (?!to\b)|"
    r"\b(?:that|it|this|they|those|these) (?:should|ought to|must|has to|have to|needs? to|can|may|might as well) go\b|"
    r"(?<!\bi )(?<!\bwe )(?<!he )(?<!they )<no> (?:[\w']+ ){0,4}?<keep>|<no> (?:[\w']+ ){0,2}?<say> you\b|\bi ever <say>"
)
# What words do in a request to forget: they take away, keep, say, deny, or name where a memory stands.
_ACTS = {
    word: f"<{act}>"
    for act, words in {
        "remove": "delete erase wipe scrub purge unlearn expunge discard strike scratch scrap bin ditch dump drop lose clear "
        "remove shred burn trash toss chuck zap nuke kill cut cross rub blot axe undo unknow dispose throw deleting erasing "
        "wiping scrubbing removing dropping removed deleted erased wiped scrubbed gone away rid",
        "forget": "forget forgets forgetting forgot forgotten",
        "keep": "keep store save remember retain record hold know recall note log file carry hang keeping storing saving "
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


def goes_on_forgetting(message: str) -> bool:
    """Whether a message, said after a request to forget, names one thing more: "And the price as well"."""
    return bool(_GOES_ON.match(message))


# Before a name; it tells nobody from another. "The dr" stays.
_TITLE = re.compile(r"\b(?:mr|mrs|ms|mx)\b\.?\s*|\b(?:dr|prof|rev)\.\s+", re.IGNORECASE)


def wanted_words(what: str) -> set[str]:
    """The stems by which the thing that is to be forgotten is named; empty for "forget that"."""
    spans = sentence_spans(what)
    first = what[slice(*spans[0])] if spans else what
    named = re.split(r", (?:he|she|they|i|it|that|because|since|please)(?:'\w+)?\b|; ", first, maxsplit=1, flags=re.I)[
        0
    ]
    if _ONLY_POINTS.match(named):
        return set()
    named = _TITLE.sub("", named)
    words = content(re.sub(r"^.*?\b(?:about|that)\b", "", named, count=1)) or content(named)
    return words - _ASKING


def what_is_named(what: str) -> str:
    """What a request says that it is about, without its reasons and its please; all of it where it does not say so."""
    about = re.findall(r"\babout (?!it\b|that\b|this\b)([^,;.!?]+)", what, re.IGNORECASE)
    return str(about[-1]) if about else what


def all_words(what: str) -> set[str]:
    """The stems of all that is said beside the wish."""
    return content(_TITLE.sub("", what)) - _ASKING
