"""What the sentences of a message do: tell something to keep, ask, wish (forget, a style, a task), or only chat.

Telling, asking and chatting are told apart by a learned decision over the form of the message (`features`) and the
encoder's vector of its wording; the wishes that are put in fixed words are known by those words. What is not English
is not read at all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from m2a.agents.offline.change_words import LATELY, MOVES, TAKES_BACK, refuted
from m2a.agents.offline.clauses import AUXILIARIES, PRONOUNS, find_subject, sentences
from m2a.agents.offline.foreign import asks_to_forget, is_courteous
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.names import find_names, find_namings
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import plain, tokens
from m2a.agents.offline.values import find_values, has_place
from m2a.agents.offline.wishes import (
    RESTORE,
    UNMENTIONED,
    all_words,
    forget_probability,
    forgotten_by,
    is_forget,
    may_ask_to_forget,
    wanted_words,
)

Act = Literal["tell", "ask", "chat", "preference", "forget", "restore", "command", "unread"]
LEARNED_ACTS: tuple[Literal["tell", "ask", "chat"], ...] = ("tell", "ask", "chat")
_READ_AS_ONE = 2000  # characters of a message by which it is told what it does as a whole
_OPENING = 12  # characters within which a message takes something back at once
_SOME_WORDS = 5
_TELLS = 0.25  # the probability from which what stands alone is kept, unless it more likely asks
_TELLS_BESIDE_A_QUESTION = 0.9  # the same beside a question: else it says why that is asked
_IDLE = 0.8  # a sentence of a message that tells something is left out as idle talk from this probability

# From which probability a message, in words of its own, asks to forget something: one that else tells nothing, one
# that may tell something, and one that surely does; from the last it is nothing else.
_FORGETS, _FORGETS_TELLING, _FORGETS_SURELY_TELLING, _SURELY_FORGETS = 0.5, 0.6, 0.7, 0.9
_FORGETS_IN_ITS_WORDS = 0.3  # one that bids so; it is read otherwise where there is nothing of that to forget
_SURELY_TELLS = 0.97

_WH = r"(?:who|whose|whom|what|which|when|where|whereabouts|why|how)(?:'?s|'?re|'?ve|'?d)?"
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|should|shall|isn't|aren't|don't|doesn't|"
    r"didn't|haven't|hasn't|can't)"
)
_OPENER = (
    r"(?:(?:and|so|but|n|oh|ok|okay|wait|hey|hi|sorry|also|well|then|right|please|pls|hang on|random one|quick one|"
    r"yo|in|on|at|by|with|from|to|for|until|since)\b,? *)*"
)
_CLAUSE = re.compile(r"[,;:]\s+|\s-+\s|\s-(?=\w)|\.\.+\s*|[!?.]\s+|\s(?:and|but|so|n|or)\s")
_WH_FIRST = re.compile(rf"{_OPENER}{_WH}\b")
# "When my in-laws come, …", "what Ada wants is …": what opens so and turns no verb round asks nothing.
_SUBORDINATE_FIRST = re.compile(
    rf"{_OPENER}(?:when|where|what|how|why|who)ever\b|"
    rf"{_OPENER}(?:when|where|what|how) (?:i|we|you|he|she|it|they|my|our|his|her|their|the|this|that)\b"
)
_AUXILIARY_FIRST = re.compile(rf"{_OPENER}{_AUXILIARY}\b(?! not)")
_FORMS = {
    "a question mark": re.compile(r"\?"),
    "ends as a question": re.compile(r"\?[ )\"']*$"),
    "ends as a statement": re.compile(r"\.$"),
    "inverted": re.compile(rf"\b{_WH}(?: \w+){{0,2}}? {_AUXILIARY}\b|\b(?:who|what|when|where|how)'?s\b"),
    "question word": re.compile(rf"\b{_WH}\b"),
    "tell me": re.compile(r"\b(?:remind|tell|show|give) (?:me|him|her|us|them)\b"),
    "of oneself": re.compile(r"\b(?:i|my|me|mine|we|our|us|im|ive|i'(?:m|ve|ll|d)|we'(?:re|ve|ll|d))\b"),
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
    "opens as a reaction": re.compile(
        r"^\W*(?:wow|oh+|ah+|aw+|ooh|ha(?:ha)*|he(?:he)+|lol|lmao|omg|ugh|yay|phew|gosh|damn|well|right|righto|hm+|mm+|"
        r"ok(?:ay)?|aye|nah|nope|yep|yeah|yes|no|sure|great|nice|cool|lovely|brilliant|perfect|good|thanks?|thx|ta|cheers|"
        r"sorry|bye|goodbye|hi|hello|hey|lord|god|goodness|my (?:goodness|god|word|days)|very well|not)\b"
    ),
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

REMEMBER = re.compile(
    r"^(?:please |can you |could you |would you |i(?:'d| would) (?:like|want) you to |also )*"
    r"(?:(?:don't|do not|never|dont) forget|remember|keep in mind|bear in mind|note(?: down)?|make a note|save)"
    r"(?:,| that\b|:| this\b| for me\b| -| of\b)*\s+(?!me\b|when\b|what\b|where\b|who\b|how\b|to\b)(?P<what>.+)",
    re.IGNORECASE,
)
# "Remind me that the bins go out on Tuesday": when to, these rules know no more than any other statement.
_REMIND_THAT = re.compile(
    r"^(?:please |can you |could you |would you |also )*remind (?:me|us) that (?P<what>.+)", re.IGNORECASE
)
_STYLE = re.compile(
    r"\b(?:(?:keep|make|write|give) (?:your|me|the) [\w ]*(?:answers?|repl(?:y|ies)|responses?|messages?)|"
    r"(?:answer|reply|respond|talk|speak)(?: to me)? (?:in|with|briefly|using|more|less|without|only)|call me|"
    r"(?:short|brief|long|detailed|concise)\w* (?:answers?|repl(?:y|ies))|"
    r"(?:use|don't use|avoid|no|like) (?:emojis?|bullet points|bullets|lists|jargon|metric|celsius|\w+ units))\b",
    re.IGNORECASE,
)
# What stands before "these" and bids nothing: "seeing these figures helps", "all these colours", "but these are mine".
_NO_BIDDING = r"(?:\w+ing|all|both|but|and|for|of|with|in|on|at|by|from|than|like|are|were|is|was)\b"
_COMMAND = re.compile(
    r"^(?:please |kindly |can you |could you |would you |will you |just |ok(?:ay)?,? |now,? )*"
    r"(?:write|draft|translate|summari[sz]e|explain|"
    r"play|send|order|make me|suggest|recommend|calculate|convert|google|tell (?:me )?a|sing|create|generate|"
    r"remind me to|wake me|imagine|pretend(?! (?:that )?(?:i|you|we|it|this)\b)|guess (?!what\b)|"
    r"list|compare|rephrase|rewrite|reword|proofread|paraphrase|shorten|"
    r"simplify|"
    rf"(?!{_NO_BIDDING})[a-z]+ (?:these|the following)|(?:sum|add|multiply|divide|subtract|round)(?: up)? (?=\d)|"
    r"turn .+ into\b|do the (?:sum|maths?)|define|spell|"
    r"invent|compose|describe|count|(?:give|get|pick|fetch|read|teach|do) (?:me|us|it|this|that)(?! (?:a|the) (?:\w+ )?favou?r)|"
    r"(?:turn|fix|check|correct|change|cut|format|repeat|say|answer|reply|try|name|make this|make these) (?:this|"
    r"that|it|the following|"
    r"these|those|your|again|once)|help me|let's (?:play|talk|try|pretend))\b(?!'| of\b)",  # "Order of bolts arrives"
    re.IGNORECASE,
)
# What one says of oneself only to remark on something: "I must say …".
_REMARKS = re.compile(
    r"(?:must|have to|would|could|should|might|may) (?:say|admit|add|not)|(?:do )?(?:wonder|suppose|guess|trust|hope|mean|see|"
    r"think|bet|bid|beg|thank|appreciate|agree|understand|doubt|swear|will (?:be|go|say))\b",
    re.IGNORECASE,
)
_ANYBODY = frozenset(
    "a an some any no one nobody somebody someone anybody anyone everybody everyone people folk folks".split()
)
_OWNED = re.compile(r"(?:my|our|his|her|their)\b|[\w-]+'s\b", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
# Talk about the assistant itself, musing, and reactions: nothing of the user's life is in it.
_OF_THE_ASSISTANT = re.compile(
    r"^\W*(?:(?:and|so|but|well|wow|haha|ha|lol|hey|oh|ok|okay|no|yes)\b[\s,]*)*(?:you(?! should know|'d never|"
    r"'ll (?:never|be|find|need|see))(?:'re|'ve|'ll|'d| are| have| were| did| do| "
    r"don't| can| can't| could| should| sound| seem| look| keep| repeated| forgot| said| got| just| really| always|"
    r" never)\b|"
    r"your? (?:\w+ )?(?:answers?|repl(?:y|ies)|responses?|memory|jokes?|grammar|tone|style)\b)|"
    r"\b(?:last|that|this|your) (?:answer|reply|response|joke|one got me)\b",
    re.IGNORECASE,
)
_MUSES = re.compile(
    r"^\W*(?:(?:and|so|but|well|hm+|oh|sometimes|often|i sometimes|honestly)\b[\s,]*)*(?:i(?:'m| am)? (?:often |"
    r"sometimes |always |just )*"
    r"(?:wonder\w*|suppose|guess)|(?:it's )?(?:funny|strange|odd|weird|amazing|interesting|crazy|isn't it \w+|"
    r"who(?:'d| would) have) "
    r"(?:how|that|what|the way|thought)|imagine|what if|if only|let(?:'s| us| me)|never mind|they say|people say|"
    r"life is|time flies)\b",
    re.IGNORECASE,
)
_REACTS = re.compile(
    r"^\W*(?:(?:ha(?:ha)*|lol|lmao|wow|ok(?:ay)?|oh|ah|yes|yeah|no|nice|great|cool|well|hm+|right|fair enough|gosh|"
    r"damn|ugh|yay)\b[\s,!.]*)*"
    r"(?:that|this)(?:'s|(?: \w+){1,6}\W*$)",
    re.IGNORECASE,
)
_TAG = re.compile(
    rf"(?:(?<! or)(?<! and)[,\s]+(?:right|correct|you know|remember|yes|no|ok|okay|eh|huh|"
    rf"can you (?:believe|imagine) (?:it|that)|{_AUXILIARY}n't (?:it|he|she|they|we|you|i))|"
    rf",\s*{_AUXILIARY} (?:it|he|she|they|we|you|i|there))\s*\?$",
    re.IGNORECASE,
)
_YOU_KNOW = re.compile(r"^(?:you (?:know|remember)|do you remember|remember) (?=my |our |[A-Z])", re.IGNORECASE)
# "Did I mention that his left eye is glass?" tells it.
_MENTIONED = re.compile(
    r"^(?:did|have) i (?:ever |already )?(?:mention(?:ed)?|tell you|told you|say|said) that "
    r"(?P<what>[^?.!]+)\?+$",
    re.IGNORECASE,
)
# It only makes the other listen: "Guess what? I got the job!"
_ATTENTION = re.compile(
    r"^\W*(?:(?:hey|hi|oh|so|and|ok(?:ay)?)\b\W*(?:[A-Z]\w+\W+)?)*(?:guess what|you know what|you'll never guess)\b"
    r"[\s!?.,:-]+(?!(?:i|we|you|he|she|it|they)\b[^.!]*\?)(?=\w)",
    re.IGNORECASE,
)
# A greeting or a word of thanks that is put as a question or with one's own "I".
_GREETING = re.compile(
    r"^\W*(?:(?:hi+|hey|hello|so)\b\W*)*(?:how (?:are|r) (?:you|u|things)|how(?:'s| is) (?:it going|life|everything)|"
    r"what(?:'s| is) (?:up|new)|how was your|did you (?:sleep|miss)|all (?:good|well)\?|you there|"
    r"what an? [a-z' ]{2,40}[.!]*$|"
    r"guess what\W*$|don'?t mention it\W*$|what can you do\b|(?:who|what) are you\b|what(?:'s| is) your name\b|help\W*$)",
    re.IGNORECASE,
)
# It points at a photo or says that something is to come, and asks nothing: "Look what I bought".
SHOWS = re.compile(
    r"^\W*(?:(?:oh|hey|wow|just)\b,? )*(?:look|see|check out) (?:at )?(?:what|who|how) (?:i|we|my|our)\b[^?]*$",
    re.IGNORECASE,
)
# Questions without a question mark that no form of a statement has.
_ASKS = (
    re.compile(
        r"(?:^|[,;:.!] +)(?:(?:so|and|but|please|kindly|can you|could you|would you) +)*"
        r"(?:remind|tell) me (?:of|about|again|what|where|when|who|whose|which|how)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:(?:so|and|please|can you|could you) )*(?:tell|give|show) me (?:everything|all|anything|more|what)"
        r"(?: (?:that )?(?:you (?:know|have)|there is))? (?:about|on|of)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:^|[.!] +){_OPENER}(?!which (?:is|was)){_WH}(?: \w+){{0,2}}? (?:is|are|was|were|do|does|did|can|could|"
        rf"would|"
        r"should) (?:i|we|you|he|she|they)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENER}(?:{_WH}|how (?:much|long|far)) (?:does|did|do|is|are|was|were|has|have|can|should|will)\b"
        r"(?! (?:more|worse|funny|strange|odd|your?|why|how|what|when|where|because)\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENER}(?:near |of |under |after |before )?(?:how (?:many|often|old)\b|"
        rf"(?:which|what)(?: (?!i |you |we |he |she |they |an? |\w+(?:s|ed) |(?-i:[A-Z]))[\w-]+){{1,4}}? {_AUXILIARY}\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENER}(?:please,? )?(?:(?:show|find) (?:me|us)\b|let (?:me|us) see\b|"
        r"(?:show|find|display|bring up|pull up|look up|search for) (?:the|my|our|a|an|any|all|every|some|[\w-]+'s) )",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:name|list) (?:(?:all|every|both|each)(?: of)?|the)? ?(?:my|our|[\w-]+'s) |"
        r"^(?:the )?(?:names?|date|day|time|age|address|number|price|colou?r|code|password|title) of (?!.*\d)"
        rf"(?!.*\b{_AUXILIARY}\b)[^.?!,:]+$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:can(?:'t|not| never| not)|if i can|trying to|struggling to) (?:for the life of me )?"
        rf"(?:remember|recall|think) (?:of )?{_WH}\b(?! to\b)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:,|;|\band) (?:so |please |can you |could you )*show (?:it|them|me|us|him|her)\b[^?.!,]{0,20}$",
        re.IGNORECASE,
    ),
    re.compile(rf"^{_OPENER}who(?:'s)? (?!knows?\b|knew\b|would\b|cares?\b)\w+ \w+", re.IGNORECASE),
    # A verb before its subject: "does tom have a sister", "is my sister coming". "Did the dishes" leaves its subject out.
    re.compile(
        rf"^{_OPENER}(?:does (?!it\b)\w+ \w+|(?:is|are|was|were|can|will|do|does|did|has|have) (?:i|we|he|she|they) \w+|"
        r"(?:is|are|can|will|do) (?:my|our|his|her|their) \w+ \w+|"
        r"(?:is|was|has|did|can) (?:(?-i:[A-Z])\w+|mum|mom|dad|grandma|grandpa) (?!and\b|but\b|or\b)[a-z])"
        r"[^.!,;]*$",
        re.IGNORECASE,
    ),
    re.compile(r",\s*(?:where|who|what|when) (?:is|are|was|were) (?:it|he|she|they)\W*$", re.IGNORECASE),
)
# "HR want to know which day I'm off": whoever asks, it is asked here.
_ASKED_ON = re.compile(
    rf"\b(?:(?:wants?|needs?|would like|is dying|are dying) (?:me )?to (?:know|hear)|(?:is|are|was|were|keeps?|'s|"
    rf"'re) askin[g']?"
    rf"(?: me| us)?|(?:wants?|needs?|asks?|asks for|is after|are after) (?:me |us )?(?=the (?:total )?(?:number|"
    rf"name|date|"
    rf"address)\b)|(?:just|has|have|'s|'ve) asked (?:me|us))(?: again)?,? (?:about )?(?:{_WH}\b|if\b|whether\b|"
    rf"the (?:total )?"
    r"(?:number|name|date|address) of\b)",
    re.IGNORECASE,
)
_PLEASE = re.compile(
    r"^(?:and |also )?(?:(?:the|his|her|their|my|our)\b|\w+'s\b)(?!.*\d).*\b(?:please|pls)\W*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence and what it does; `text` is what it says, without the words that only do it ("remember that").

    `otherwise` is how a likely request to forget is to be read where there is nothing of that to forget.
    """

    act: Act
    text: str
    otherwise: tuple["Utterance", ...] = ()


def utterances(message: str, sense: Sense) -> list[Utterance]:
    """The sentences of a message, in order."""
    typed = _ATTENTION.sub("", plain(message))
    if mentioned := _MENTIONED.match(typed):
        typed = mentioned["what"]
    parts = _with_topics(sentences(typed), sense)
    if asks_to_forget(typed) and not any(map(is_forget, parts)):
        return [Utterance("forget", typed)]
    if is_courteous(typed):
        return [Utterance("chat", typed)]
    if not is_english(typed):
        return [Utterance("unread", part) for part in parts]
    sense.wordings([typed[:_READ_AS_ONE], *parts])  # each is asked of below; together they are encoded faster
    whole = act_of(typed[:_READ_AS_ONE], sense)
    marked = any(part.endswith("?") for part in parts)
    found: list[Utterance] = []
    for part in parts:
        alone = len(parts) == 1
        if not alone and not is_english(part):
            found.append(Utterance("unread", part))
        else:
            found.append(_wish(part, sense) or _read(part, whole, sense, alone=alone, marked=marked))
    found = [each for one in found for each in _with_what_is_true(one)]
    if len(found) > 1 and found[0].act == "forget" and not all_words(found[0].text) and TAKES_BACK.search(parts[0]):
        found = [Utterance("tell", f"{parts[0]} {found[1].text}"), *found[2:]]  # "Scratch that. Monday."
    if any(one.act == "forget" for one in found):
        found = [one for one in found if one.act not in ("tell", "chat") or not _is_a_reason(one.text, sense)]
    if any(one.act == "forget" and wanted_words(one.text) for one in found):  # "Forget the code. Delete it.": one thing
        found = [one for one in found if one.act != "forget" or wanted_words(one.text)]
    elif any(_to_remember(part) is not None for part in parts):
        pass  # "Remember that I deleted the account" asks for nothing else, whatever its words are near to
    elif len(typed) <= _READ_AS_ONE and not all(one.act == "command" for one in found):
        tells = any(one.act == "tell" for one in found)
        likely = forget_probability(typed, sense)
        enough = _enough_to_forget(typed, sense) if tells else _FORGETS
        if likely >= (min(enough, _FORGETS_IN_ITS_WORDS) if may_ask_to_forget(typed) else enough):
            surely = _FORGETS if may_ask_to_forget(typed) else _SURELY_FORGETS
            # "Scrub the Fabia. We drive a Jogger now.": what it tells as changed is kept, whatever is forgotten.
            changes = [one for one in found if one.act == "tell" and _tells_a_change(one.text, sense)]
            return [Utterance("forget", typed, tuple(found) if likely < surely else ()), *changes]
        found = [_forgetting(one, sense) for one in found]
    stated = len(found) == 1 and (found[0].act == "tell" or SHOWS.match(found[0].text))
    return _with_question(found) if whole == "ask" and not stated else found


def _is_a_reason(sentence: str, sense: Sense) -> bool:
    """Whether, beside a request to forget, it only says why: "Not mine to tell.", "It's too early to tell anyone."."""
    if forget_probability(sentence, sense) >= _FORGETS_IN_ITS_WORDS:
        return True  # "I've not told Ana and I don't want it written down."
    subject = find_subject(sentence)
    if re.search(r"\d", sentence) or find_names(sentence) or has_place(sentence):
        return False
    return subject is None or subject.text.lower() in ("he", "she", "they", "you", "it", "that", "this")


def _tells_a_change(sentence: str, sense: Sense) -> bool:
    """Whether it says that something is so now, and asks to forget nothing."""
    changed = bool(MOVES.search(sentence) or LATELY.search(sentence))
    return changed and forget_probability(sentence, sense) < _FORGETS_IN_ITS_WORDS


def _with_what_is_true(one: Utterance) -> list[Utterance]:
    """ "No, both are true: I live in Graz and in Vienna" brings back what was replaced, and tells something."""
    wish, _, told = one.text.partition(": ")
    if one.act != "restore" or find_subject(told) is None:
        return [one]
    return [Utterance("restore", wish), Utterance("tell", told)]


def _enough_to_forget(typed: str, sense: Sense) -> float:
    """The probability from which a message that tells something asks to forget it."""
    if act_probabilities(typed, sense)["tell"] < _SURELY_TELLS:
        return _FORGETS_TELLING
    # Who wants a number forgotten does not say it anew.
    return _SURELY_FORGETS if re.search(r"\d", typed) else _FORGETS_SURELY_TELLING


def _with_topics(parts: Sequence[str], sense: Sense) -> list[str]:
    """The sentences, each together with the topic that stands before it as a question: "The long key? It is for the cellar."."""
    found: list[str] = []
    for part in parts:
        if found and _is_topic(found[-1]) and _tells_of_it(part, sense):
            found[-1] = f"{found[-1]} {part}"
        else:
            found.append(part)
    return found


def _is_topic(sentence: str) -> bool:
    """Whether it only names something, with a question mark: neither a question word nor a verb is in it."""
    lower = sentence.lower()
    return (
        sentence.endswith("?")
        and len(tokens(sentence)) > 1
        and not re.search(rf"\b{_WH}\b|\b{_AUXILIARY}\b|^(?:and|any|another|same)\b", lower)
        and not _GREETING.match(sentence)
        and (find_subject(sentence) is None or re.match(r"(?:that|this|these|those) [a-z]", lower) is not None)
    )


def _tells_of_it(sentence: str, sense: Sense) -> bool:
    """Whether it says something of what was named before it, and not why that is asked: "I need it for a form."."""
    if sentence.endswith("?") or not is_english(sentence):
        return False
    subject = find_subject(sentence)
    if subject is not None:
        return subject.text.lower() not in ("i", "we", "you")
    chances = act_probabilities(sentence, sense)
    return chances["tell"] > max(chances["chat"], chances["ask"])


def _forgetting(one: Utterance, sense: Sense) -> Utterance:
    """The sentence, or the request to forget that it alone of its message is."""
    asks = one.act != "ask" and all_words(one.text) and forget_probability(one.text, sense) >= _SURELY_FORGETS
    return Utterance("forget", one.text) if asks else one


def act_of(text: str, sense: Sense) -> Literal["tell", "ask", "chat"]:
    chances = act_probabilities(text, sense)
    return max(LEARNED_ACTS, key=lambda act: chances[act])


def act_probabilities(text: str, sense: Sense) -> dict[str, float]:
    found, wording = features(text), sense.wording(text)
    return {act: sense.models[act].probability(found, wording) for act in LEARNED_ACTS}


def features(text: str) -> dict[str, float]:
    """The form of a text: how it opens, ends and is put, and whom it speaks of."""
    typed = plain(text)
    lower = typed.lower()
    parts = [part.lower() for part in sentences(typed)] or [lower]
    clauses = [clause for part in parts for clause in _CLAUSE.split(part)]
    words = lower.split()
    found = {name: float(bool(pattern.search(lower))) for name, pattern in _FORMS.items()}
    found |= {
        "all ends as questions": float(all(part.endswith("?") for part in parts)),
        "opens with a question word": float(bool(_WH_FIRST.match(parts[0]))),
        "a clause opens with a question word": float(any(_WH_FIRST.match(clause) for clause in clauses)),
        "a sentence opens with a verb": float(any(_AUXILIARY_FIRST.match(part) for part in parts)),
        "a clause opens with a verb": float(
            any(
                re.match(rf"{_OPENER}{_AUXILIARY} (?:i|we|you|my|the|he|she|they|it|there)\b", clause)
                for clause in clauses
            )
        ),
        "a clause": float(any(find_subject(part) is not None for part in sentences(typed)[:2])),
        "a name": float(bool(re.search(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]", typed))),
        "length": min(len(words), 40) / 20,
        "short": float(len(words) < 6),
        "sentences": min(len(parts), 4) / 2,
    }
    return found | _content_features(sentences(typed) or [typed])


def _content_features(parts: Sequence[str]) -> dict[str, float]:
    """Of whom or what the sentences speak, and whether they only muse, react or bid."""
    subjects = [find_subject(part) for part in parts]
    first = subjects[0]
    named = "" if first is None else first.text
    subject = named.lower()
    pointing = subject in ("it", "that", "this", "there")
    found = {
        "of life": any(map(_is_of_life, parts)),
        "a whole clause": any(map(_is_clause, parts)),
        "idle": all(map(_is_idle, parts)),
        "muses": any(map(_MUSES.search, parts)),
        "reacts": any(map(_REACTS.search, parts)),
        "speaks to the assistant": any(map(_OF_THE_ASSISTANT.search, parts)),
        "remarks": any(
            one is not None and one.text.lower() in ("i", "we") and _REMARKS.match(one.rest) for one in subjects
        ),
        "a command": any(map(_COMMAND.match, parts)),
        "greets": any(map(_GREETING.match, parts)),
        "a subordinate clause first": bool(_SUBORDINATE_FIRST.match(parts[0].lower()))
        and len(tokens(parts[0])) > _SOME_WORDS,
        "subject: I": subject in ("i", "we"),
        "subject: you": subject == "you",
        "subject: it": pointing,
        "subject: somebody's": bool(_OWNED.match(named)),
        "subject: a name": bool(find_names(named)),
        "subject: anybody": bool(subject) and subject.split()[0] in _ANYBODY,
        "subject: another": bool(subject) and not pointing and subject not in ("i", "we", "you"),
    }
    return {name: float(value) for name, value in found.items()}


def _wish(sentence: str, sense: Sense) -> Utterance | None:
    text = sentence.strip()
    if RESTORE.search(text):
        return Utterance("restore", text)
    if UNMENTIONED.match(text):
        return Utterance("command", text)
    if (what := forgotten_by(text, sense)) is not None:
        return Utterance("forget", what)
    if (told := _to_remember(text)) is not None:
        return Utterance("preference" if _STYLE.search(told) else "tell", told)
    if (remind := _REMIND_THAT.match(text)) and not text.endswith("?") and find_subject(remind["what"]) is not None:
        return Utterance("tell", remind["what"])
    if (
        _COMMAND.match(text)
        and not (_puts_right(text) and _takes_back_at_once(text))
        and not re.search(r"\b(?:my|our)\b", _QUOTED.sub("", text))
    ):
        return Utterance("command", text)
    if _STYLE.search(text) and not text.endswith("?"):
        return Utterance("preference", text)
    return None


def _to_remember(sentence: str) -> str | None:
    """What a sentence bids to remember, None where it bids nothing of the kind."""
    bid = REMEMBER.match(sentence.strip())
    return bid["what"].strip() if bid is not None and _says_something(bid["what"]) else None


def _says_something(told: str) -> bool:
    """Whether there is anything to remember: "don't forget the details!" only encourages."""
    points = re.match(r"(?:the|your|this|that|these|those|it)\b(?!.*\d)", told, re.IGNORECASE)
    return not (told.rstrip().endswith("?") or (points and find_subject(told) is None and not find_names(told)))


def _read(sentence: str, whole: str, sense: Sense, *, alone: bool, marked: bool) -> Utterance:
    utterance = _classified(sentence, whole, sense, alone=alone, marked=marked)
    if utterance.act == "chat" and _puts_right(sentence):
        return Utterance("tell", sentence)
    return utterance


def _puts_right(sentence: str) -> bool:
    """ "No no, burgundy, not emerald": short as a remark, and yet it corrects something."""
    taken_back = TAKES_BACK.search(sentence)
    if taken_back is None or sentence.endswith("?"):
        return False
    names = any(map(all_words, refuted(sentence))) or re.search(r"\d|(?<=[a-z,] )(?!I\b)[A-Z]", sentence)
    return bool(names or (_takes_back_at_once(sentence) and find_values(sentence[taken_back.end() :])))


def _takes_back_at_once(sentence: str) -> bool:
    taken_back = TAKES_BACK.search(sentence)
    return taken_back is not None and taken_back.start() <= _OPENING


def _is_idle(sentence: str) -> bool:
    """Whether it tells nothing of the user's life, though it is put as a statement."""
    if re.search(r"\d|\b(?:[Mm]y|[Oo]ur)\b|(?<=[a-z,] )(?!I\b)[A-Z]", sentence):
        return False
    return any(pattern.search(sentence) for pattern in (_OF_THE_ASSISTANT, _MUSES, _REACTS))


def _classified(sentence: str, whole: str, sense: Sense, *, alone: bool, marked: bool) -> Utterance:
    asks = sentence.endswith("?")
    if _GREETING.match(sentence) or SHOWS.match(sentence):
        return Utterance("chat", sentence)
    if asks and (tag := _TAG.search(sentence)):
        told = _YOU_KNOW.sub("", sentence[: tag.start()]).strip(" ,")
        if act_of(f"{told}.", sense) == "tell":
            return Utterance("tell", told)
        return Utterance("chat" if whole == "chat" else "ask", sentence)
    if any(pattern.search(sentence) for pattern in (*_ASKS, _ASKED_ON)) or _wants_said(sentence):
        return Utterance("ask", sentence)
    chances = act_probabilities(sentence, sense)
    if alone:
        stated = not asks and chances["tell"] >= max(_TELLS, chances["ask"])
        return Utterance("ask" if asks else "tell" if stated else whole, sentence)  # type: ignore[arg-type]
    if whole == "tell":
        if asks and chances["ask"] > chances["tell"]:
            return Utterance("ask", sentence)
        idle = chances["chat"] > _IDLE and not re.search(r"\d|(?<=\w )[A-Z][a-z]", sentence)
        if marked and chances["tell"] < _TELLS_BESIDE_A_QUESTION:
            idle = True  # "The code? I forgot it again."
        elif len(tokens(sentence)) == 1 and TAKES_BACK.search(sentence):
            idle = False  # "Nope. Thursday."
        return Utterance("chat" if idle else "tell", sentence)
    unmarked = not marked or _WH_FIRST.match(sentence.lower())  # beside "…?" only what is put as one asks too
    if asks or (whole == "ask" and unmarked and chances["ask"] >= max(chances["tell"], chances["chat"])):
        return Utterance("ask", sentence)
    # Beside a question a sentence says why it is asked; only what it gives a name to, or a code that it tells, is news.
    coded = chances["tell"] >= _SURELY_TELLS and re.search(r"\d{3}", sentence)
    return Utterance("tell" if whole == "ask" and (find_namings(sentence) or coded) else "chat", sentence)


def _is_of_life(sentence: str) -> bool:
    """Whether it says something of the user, of somebody or something of theirs, or gives a number or a day: no remark does."""
    lower = sentence.lower()
    if sentence.endswith("!") or any(
        form.match(lower) for form in (_FORMS["opens as a reaction"], _AUXILIARY_FIRST, _WH_FIRST)
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
    """Whether it says something of something: "the key hangs in the hall", rather than "what a day"."""
    return len(tokens(sentence)) > 3 and find_subject(sentence) is not None


def _wants_said(sentence: str) -> bool:
    """ "Her hostel's postal code too, please": a thing of somebody's, and nothing told of it."""
    return bool(_PLEASE.match(sentence)) and find_subject(sentence.replace("'s", "")) is None


def _with_question(found: Sequence[Utterance]) -> list[Utterance]:
    """A message that asks holds a question, though none of its sentences looks like one; "Who?" belongs to the last."""
    asked: list[Utterance] = []
    for one in found:
        if one.act == "ask" and asked and asked[-1].act == "ask" and len(tokens(one.text)) < 3:
            asked[-1] = Utterance("ask", f"{asked[-1].text} {one.text}")
        else:
            asked.append(one)
    done = any(one.act in ("ask", "forget", "restore", "preference", "command", "unread") for one in asked)
    if not done and not any(_GREETING.match(one.text) for one in asked):
        longest = max(range(len(asked)), key=lambda index: len(asked[index].text), default=None)
        if longest is not None:
            asked[longest] = Utterance("ask", asked[longest].text)
    return asked


FEATURES = frozenset(features(""))
