"""Wishes about the memory itself: to forget something, or to have back what was replaced."""

import re

from m2a.agents.offline.text import content, stem

# In which a wish is put before what is wished.
_PLEASE_DO = (
    r"(?:(?:now that|since|because|as|if|after|before|on second thoughts?|thinking about it|come to think of it|"
    r"seeing as)\b[^,]*, )?"
    r"(?:(?:please|pls|kindly|also|and|actually|ok|okay|oh|hey|so|now|just)\b,? |(?:can|could|would|"
    r"will) you (?:please |just )?|"
    r"you can (?:now )?|i(?:'d| would) (?:like|want|prefer) (?:you to |it if you )|i want you to |go ahead and )*"
)
_OF_THE_MEMORY = (
    r"(?= (?:that|what|whatever|everything|all|anything|about|of (?:that|it|my|what|the)|the (?:\w+ )?(?:thing|bit|"
    r"part|memory|"
    r"note|fact|stuff|info\w*|password|pin|code|number|address|entry|story)|my|our|it|this|her|his|their)\b)"
)
_FORGET = re.compile(
    rf"^{_PLEASE_DO}(?:(?:forget|delete|erase)(?:d)?\b|(?:remove|drop|wipe|disregard|scratch|scrap|strike|clear|"
    rf"purge|lose|"
    rf"unlearn|throw (?:away|out)|get rid of|let go of)(?:{_OF_THE_MEMORY}|(?<=of)(?= \w)))(?! to\b)(?P<what> \w.*)",
    re.IGNORECASE,
)
# Why something is to be forgotten: "…, that was stupid of me".
_EXCUSES = re.compile(
    r"(?:that|this|it|i|i'm|i'd|he'd|she'd|they'd|because|since|as|please|which|thanks|sorry|nobody|"
    r"(?:would|will|could|can) you|all right)(?:'s)?\b",
    re.IGNORECASE,
)
# The same wish, put as what is not to be kept.
_NOT_KEPT = re.compile(
    r"^(?:(?:please|pls|also|and|actually|oh|ok|okay|on second thoughts?|come to think of it|"
    r"thinking about it)\b,? )*(?:(?:do not|don't|dont|never|stop|no need to|"
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
# "No, both are true": what a correction put aside holds beside it.
RESTORE = re.compile(
    r"\bboth (?:are|is|were|of (?:them|those|these) (?:are|were)|still)(?: still)? (?:true|right|correct|hold|valid|"
    r"so)\b|"
    r"\bboth (?:still )?hold\b|\b(?:keep|i meant|remember) (?:them )?both\b|\bboth stay\b|"
    r"\bthe (?:old|first|earlier) one (?:is|was) (?:still )?(?:true|right|correct)(?: too| as well)\b",
    re.IGNORECASE,
)

_REMOVE = (
    r"(?:forget|delete|erase|remove|wipe|scrub|purge|unlearn|scrap|strike|drop|bin|clear|lose|get rid of|"
    r"throw (?:out|away)|let go of|take back)"
)
_SURELY = r"(?:delete|erase|purge|scrub|unlearn|un-?know|wipe|remove|scrap|lose|drop|strike|throw out|get rid of)"
_THING = (
    r"(?:anything|any of|the (?:bit|thing|part|stuff|matter|business|story|fact|news)|that (?:thing|bit|part|stuff|story|about)|"
    r"what i)"
)
_POINTING = r"(?:it|that|this|them|those|these)(?: (?:one|part|bit|thing|stuff|info|memory|entry|all))?"
_MIND = r"(?:your|the) (?:memory|memories|notes?|list|mind|records?|head|files?|books?)"
_KEEP = (
    r"(?:keep|keeping|stor(?:e|ing)|sav(?:e|ing)|remember(?:ing)?|record(?:ing)?|hold(?:ing)?|retain(?:ing)?|"
    r"hang(?:ing)? on|mind(?:ing)?|writ(?:e|ing) down|know(?:ing)?)"
)
_KEPT = (
    r"(?:kept|stored|saved|remembered|recorded|held|retained|hanging (?:about|around)|written down|on (?:file|record))"
)
_NOT = r"(?:\b(?:not|nobody|never|nothing|no|dont)|n't|nae)"
# Where a wish begins: a clause, or what it is wrapped in.
_BEGINS = (
    r"(?:^(?:omg|ok|okay|oh|hey)?[\s,]*|[.,;:!?(-]\s*|\b(?:so|and|please|pls|kindly|just|let's|then|also|you (?:can|may)|"
    r"i want you to|(?:can|could|would|will|might) you|be so (?:good|kind) as to|mind)\s+)"
    r"(?:(?:also|just|please|pls|kindly|ever|now|better|all)\s+)*"
)
_ENDS = (
    r"(?=\W*$|\s*[.,;:!?)]|\s+(?:please|pls|now|again|from|before|because|since|as|too|altogether|will|would|thanks|thank|"
    r"for)\b)"
)
# The thing is named elsewhere in the message: "He's told me that in confidence, so strike it."
_POINTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_BEGINS}(?:{_REMOVE} {_POINTING}|(?:cut|leave|take|keep|bin|strike) {_POINTING} (?:out|off)|"
        rf"let {_POINTING} go|wip(?:e|ing) {_POINTING}|swallow it){_ENDS}",
        rf"{_BEGINS}{_SURELY} (?:the|that|my|our|what(?:ever)?|where|who|how|its|his|her|their|all|everything|any(?:thing)?)\b",
        rf"\b(?:{_REMOVE}|take|leave|cut|keep|put|get)\b.{{0,60}}\b(?:from|off|out of) (?:{_MIND}|what(?:ever)? you)",
        r"\b(?:pretend|act (?:as though|as if|like)|kid on)\b.{0,60}\b(?:never|didn't|did not|hadn't)\b",
        r"\bnever happened(?=\W*$| as far as|, )|\bno trace\b|\b(?:can|could)\b.{0,40}\bnot exist\b",
        r"\bi (?:never|did not|didn't) (?:tell|told|mention|mentioned) (?:you )?(?:that|it|anything|a (?:word|thing))\b",
        r"\b(?:want|like|prefer|have)\b.{0,50}\b(?:erased|deleted|removed|forgotten|wiped|purged|struck|off the record)\b",
        rf"\bshould(?: not|n't) be (?:in (?:there|here|your)|{_KEPT})",
        rf"{_NOT}\b.{{0,12}}\b(?:want|like|comfortable|happy)\b.{{0,12}}\byou\b.{{0,12}}\b{_KEEP}\b",
        rf"{_NOT}\b.{{0,12}}\b(?:want|like|need)\b.{{0,45}}\b{_KEPT}\b",
        rf"{_NOT} (?:be |have to be |need to be |have to |need to )?{_KEEP}(?: on to)? {_POINTING}{_ENDS}",
        rf"(?:{_NOT}|\bno need) (?:to |need |have to |need to )?{_KEEP}(?: on to)? {_THING}\b",
        rf"\b(?:happier|better|obliged|glad|grateful|rather)\b.{{0,40}}(?:\bnot|n't|nae)\b.{{0,25}}\b(?:{_KEEP}|{_KEPT})\b",
        rf"{_NOT}\b.{{0,45}}\bin (?:your|the) (?:memory|notes|records|head|files)\b|\b(?:no|any) records? of\b",
        rf"{_NOT} (?:have to |need to )?keep in mind\b|\bbetter know nothing\b|\bnever bring {_POINTING} up\b",
        r"\bstruck from\b|\bnot (?:for|worth) keeping\b|\bkindness of not keeping\b|\bbetter not know\b|"
        r"\bnot a word anywhere\b",
        rf"\bcut {_POINTING} out\b|\basked (?:that you|you to|me to have you) {_REMOVE}\b",
    )
)

_ONLY_POINTS = re.compile(
    r"(?:it|that|this|them|those|these)(?: (?:one|part|bit|thing))?(?= (?:from|before|off|out|because|please|now|for|in)\b|\W*$)",
    re.IGNORECASE,
)
# After these a message goes on with what holds instead: "scratch what I said about the key, Ana has it".
_PUTS_RIGHT = re.compile(
    r"^\W*(?:\w+,? )?(?:scratch|scrap|strike|forget|disregard|drop) (?:what|that|everything|all|whatever|anything)\b",
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
    "kindly would".split()
}


def is_forget(sentence: str) -> bool:
    """Whether the sentence opens with the wish and names what it is of: "forget the door code"."""
    return bool(_FORGET.match(sentence))


def forgotten_by(sentence: str) -> str | None:
    """What a sentence wants forgotten, in its own words; None where it wants nothing forgotten, or tells what holds instead."""
    if kept_out := _NOT_KEPT.match(sentence):
        return kept_out["what"].strip()
    forget = _FORGET.match(sentence)
    if forget is None or re.match(r"scratch that\b[\s,.:-]+\w", sentence, re.IGNORECASE):
        return None
    rest = re.split(r"[,;:]\s+| - ", forget["what"], maxsplit=1)
    if len(rest) == 1 or len(rest[1].split()) < 3 or _EXCUSES.match(rest[1]) or not _PUTS_RIGHT.match(sentence):
        return forget["what"].strip()
    return None


def points_at_something_to_forget(message: str) -> bool:
    """Whether the message asks to forget what it names elsewhere: "That was told me in confidence, so strike it."."""
    return any(pattern.search(message) for pattern in _POINTS)


def goes_on_forgetting(message: str) -> bool:
    """Whether a message, said after a request to forget, names one thing more: "And the price as well"."""
    return bool(_GOES_ON.match(message)) and not message.rstrip().endswith("?")


def wanted_words(what: str) -> set[str]:
    """The stems by which the thing that is to be forgotten is named; empty for "forget that"."""
    named = re.split(
        r", (?:he|she|they|i|it|that|because|since|please)(?:'\w+)?\b|[.;!] ", what, maxsplit=1, flags=re.I
    )[0]
    if _ONLY_POINTS.match(named):
        return set()
    words = content(re.sub(r"^.*?\b(?:about|that)\b", "", named, count=1)) or content(named)
    return words - _ASKING


def all_words(what: str) -> set[str]:
    """The stems of all that is said beside the wish."""
    return content(what) - _ASKING
