"""What a sentence does: state, ask, correct, ask to remember or forget, tell the assistant what to do, or chat."""

import re
from dataclasses import dataclass
from typing import Literal

from m2a.agents.offline.clauses import AUXILIARIES, PRONOUNS, SUBORDINATORS, find_subject, has_verb, is_verb, sentences
from m2a.agents.offline.text import plain, tokens

Act = Literal[
    "statement", "question", "correction", "remember", "forget", "preference", "command", "hypothetical", "chat"
]

_WH = frozenset("who whose whom what which when where why how what's who's where's when's how's whats".split())
_OPENER = (
    r"^(?:(?:oh|ah|hey|hi|hello|so|and|but|ok|okay|well|btw|by the way|fyi|also|hm+|um+|please|yes|yeah|yep|no|nope|sure|right|"
    r"haha|lol|sorry|thanks|thank you|quick question|one (?:more )?(?:thing|question)|just wondering|good news|bad news|guess what|for the "
    r"record|just so you know|listen|look|phew|wow|great|nice|morning|good morning|evening|good evening|"
    r"anyway|oh and|ps|p\.s\.)\s*(?:[,:!.-]+\s*|\s+(?=\w)))+"
)
# Words in which something said before is taken back. The first group opens the sentence, the second stands anywhere.
_CORRECTION_OPENER = re.compile(
    r"^(?:(?:oh|ah|oops|whoops|ugh|hm+|and|but|ok|hey|sorry|well|uh|argh|hang on|hold on|wait|no|nope|actually|scratch that|correction|"
    r"my mistake|my bad|strike that|on second thought|i (?:just )?(?:was wrong|made a mistake|misspoke|mixed (?:that|it|them) up|got (?:that|it) wrong|typed (?:that|it) wrong|checked)|"
    r"i meant(?: to say)?|i mean|make that|turns out|it turns out|to correct (?:that|myself)|small correction|little correction|quick correction|"
    r"change of plans?|plans? (?:have )?changed|update|let me correct that|that was wrong|that's wrong|that's not right|that isn't right|not quite|"
    r"i (?:said|told you) (?:it )?wrong(?:ly)?|about (?:that|before|earlier)|forget that|never mind|nevermind)\b(?: that)?[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_STRONG_OPENER = re.compile(
    r"\b(?:actually|scratch|correction|mistake|my bad|strike that|second thought|wrong|misspoke|mixed|i meant|i mean\b|make that|turns out|"
    r"correct|change of plan|plans? (?:have )?changed|update|wait|hang on|hold on|no\b|nope|oops|whoops|not right|isn't right|not quite|sorry|forget that|never ?mind)",
    re.IGNORECASE,
)
_CORRECTION_ANYWHERE = re.compile(
    r"\bi meant\b|\bi was wrong\b|\b(?:has|have|had|was|were|been|got|is|are|'s|'ve|'re) (?:been |just |now |actually )?(?:moved|pushed|postponed|"
    r"rescheduled|shifted|brought forward|switched|changed|delayed|extended|shortened|bumped|rebooked|relocated|upgraded|put back|put off|cancell?ed|called off|raised|lowered|increased|reduced|"
    r"replaced|renamed|swapped)\b|\b(?:moved|pushed|postponed|rescheduled|shifted|switched|changed|swapped|extended|bumped|upped|raised|lowered|increased|reduced) "
    r"(?:it|the|my|our|her|his|their|to|from|jobs?|teams?|schools?|departments?|doctors?|banks?|plans?|rooms?)\b|\brescheduled\b|\b(?:got|has|have|gets) (?:himself |herself |myself )?an? new\b|\bnew \w+ (?:is|are)\b|"
    r"\bno longer\b|\bany ?more\b|\bfrom now on\b|\bthese days\b|\binstead\b|\bnot \w+(?: \w+)? but\b|, (?:and )?not (?:the |a |on |in |at )?[\w':./-]+(?: \w+)?(?= -|[.,!;)]|$)|"
    r"\brather than\b|\bactually\b|\bas i (?:said|told you)\b|\bit's really\b|\bafter all\b|\bi (?:used to|stopped|gave up|quit)\b|"
    r"\b(?:has|have|'s|'ve|she|he|they|i|we|just) (?:just |now |recently )?(?:moved|left|quit|changed|switched|sold|retired|broken up|split up)\b|"
    r"\bnow\b(?! and then)|\b(?:went|gone|going) (?:up|down)\b|\bgave .{1,30} back\b|\bgot (?:an|the) extension\b|\b(?:is|are|\'s|\'re) off\b|\b(?:is|are|went|gone|'s) (?:down|up) (?:to|at)\b|\bchanged (?:my|her|his|their|our) minds?\b|\bisn't .{1,40}, (?:it's|he's|she's)\b",
    re.IGNORECASE,
)
_FORGET = re.compile(
    r"^(?:please |can you |could you |you can |would you |kindly )*(?:forget|delete|erase|remove|drop|wipe|disregard|ignore|scratch|strike)\b"
    r"(?! to\b)(?P<what>.*)",
    re.IGNORECASE,
)
_FORGET_OBJECT = re.compile(
    r"^\W*(?:that|what|everything|all|anything|about|the (?:thing|bit|part|memory|note|fact|entry)|my|our|it|this|whatever|the|her|his)\b",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"^(?:please |can you |could you |would you |i(?:'d| would) (?:like|want) you to |i want you to |you (?:should|must|need to) )*"
    r"(?:(?:don't|do not|never) forget|remember|keep in mind|bear in mind|note(?: down)?|make a note|take a note|write (?:this |that )?down|save|store|"
    r"memori[sz]e)(?:,| that\b|:| this\b| for me\b| -| of\b)*\s+(?!me\b|when\b|what\b|where\b|who\b|how\b|to\b)(?:that |this:? )?(?P<what>.+)",
    re.IGNORECASE,
)
_STYLE = re.compile(
    r"\b(?:(?:keep|make|write|give) (?:your|me|the) [\w ]*(?:answers?|repl(?:y|ies)|responses?|messages?)|(?:answer|reply|respond|write|talk|speak)"
    r"(?: to me)? (?:in|with|briefly|shortly|using|more|less|without|only)|call me|address me|(?:short|brief|long|detailed|concise)\w* (?:answers?|repl(?:y|ies))|"
    r"(?:use|don't use|do not use|avoid|no) (?:emojis?|bullet points|bullets|lists|jargon|metric|imperial|24[- ]hour|celsius|fahrenheit|exclamation|\w+ units)|"
    r"your (?:answers?|repl(?:y|ies)))\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"^(?:please |can you |could you |would you |will you )*(?:tell me|show me|remind me|let me (?:see|know)|look up|find|search|list|give me|do you (?:know|remember|"
    r"recall)|any idea|i(?:'d| would) like to know|i want to (?:know|see)|i(?:'m| am) wondering|i wonder|i (?:forgot|forget|can't remember|don't remember|can't recall)|"
    r"what about|how about|is it true|did i (?:tell|mention|say)|have i (?:told|mentioned|said)|who else|what else)\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"^(?:please |can you |could you |would you |will you |just )*(?:write|draft|translate|summari[sz]e|explain|help|play|set|send|open|book|order|make me|"
    r"suggest|recommend|calculate|convert|google|tell (?:me )?a|sing|stop|continue|go on|try|check|repeat|say|create|generate|plan|remind me to|"
    r"wake me|turn|call (?!me\b)|imagine|pretend|act|let's|let us|guess|wish me)\b",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
    r"^(?:if\b.*\b(?:would|could|might|'d|will|had)\b|what if|imagine|suppose|i wish|wish i|if only|i wonder|maybe\b|perhaps\b|i (?:might|may|could|should|would|'d)\b(?! (?:rather|prefer|like you|never))|"
    r"we (?:might|may|could|should|would)\b|i(?:'m| am) (?:thinking (?:of|about)|considering|not sure|wondering)|it would be|it'd be|would be\b|in theory|hypothetically|"
    r"i(?:'ve| have) been thinking (?:of|about)|i'd (?:love|like) to)",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"[,\s]+(?:right|correct|you know|remember|yes|yeah|no|ok|okay|eh|huh|(?:is|are|was|were|do|does|did|has|have|can|could|will|would)(?:n't)? "
    r"(?:it|he|she|they|we|you|i|there))\s*\?$",
    re.IGNORECASE,
)
_YOU_KNOW = re.compile(
    r"^(?:so |well |oh |hey )?(?:you (?:know|remember)|do you (?:know|remember)|remember|did i tell you about|have i told you about) (?=my |our |the |that |[A-Z])",
    re.IGNORECASE,
)
# Sentences about the talk itself, the weather and the mood: true today, of no use tomorrow.
_CHAT = re.compile(
    r"^(?:(?:well|ok|okay|oh|ah|wow|haha|lol|yes|no|yeah|so|great|perfect|cool|nice|awesome|super|sure|right|and|but|phew|hehe|hi|hey|thanks|aw+|mm+|yum|ha)\b[\s,!.-]*)*"
    r"(?:$|(?:good (?:morning|night|evening|afternoon|day|luck|one|job|idea|point|to know|to see|to hear|stuff)|morning|evening|hi|hello|hey|hiya|howdy|yo|greetings|welcome|bye|goodbye|see (?:you|ya)|"
    r"later|talk (?:to you )?(?:later|soon|tomorrow)|take care|cheers|ta\b|thx|thanks?|thank|many thanks|much appreciated|ok|okay|sure|right|exactly|"
    r"indeed|yes|yep|yeah|no|nope|nah|never ?mind|no worries|no problem|you're|you are|u r|that's (?:it|all|great|good|nice|right|true|funny|cool|lovely|fine|ok|okay|"
    r"perfect|correct|wonderful|amazing|awesome|so|very|really|sweet|enough|kind|a (?:good|great|nice|lovely|relief|shame|pity))|that (?:is|was|would be) (?:it|all|great|good|nice|right|true|funny|cool|lovely|"
    r"fine|perfect|correct|wonderful|amazing|helpful|kind|sweet|so|very|really|a )|that (?:helps|works|makes)|sounds|looks good|what a|how (?:nice|lovely|cool|sweet|funny|cute|kind|are|is it)|such a|"
    r"lovely|beautiful|nice|great|cool|awesome|amazing|wonderful|perfect|brilliant|fantastic|excellent|well done|congrat|happy|merry|enjoy|have a|"
    r"fingers crossed|touch wood|time flies|here we go|long time|just (?:kidding|checking|saying|testing|saying hi)|i(?:'m| am) (?:just (?:kidding|checking|saying|testing|joking|bored)|kidding|joking|back|here|off(?: to bed| now|$)|"
    r"bored|tired|so (?:tired|bored|happy|glad|excited)|(?:happy|glad|sorry|done|ready|good|fine|great|ok|okay)(?= *$| *[,.!]| (?:that|to|now|today|again|too|thanks|for you))|doing (?:well|fine|great|good|ok|okay|alright)|all (?:good|set|right|ears)|sleepy|hungry|impressed|curious|sure|"
    r"not (?:sure|kidding)|going to bed|heading|exhausted|knackered|leaving|afraid so|grateful|thankful|feeling (?:good|great|fine|ok|tired|sleepy|a bit|much|better))|"
    r"i (?:see|know|guess|think so|hope so|hope not|agree|understand|get it|don't know|dunno|appreciate|love (?:it|you|that|this)|like (?:it|you|that|this|talking)|can't (?:believe|wait|sleep|complain)|"
    r"have to (?:go|run|leave)|need to (?:go|run)|must (?:go|run)|gotta|should (?:go|get|be)|'ll (?:be|talk|see|let|get|think|come)|feel (?:good|great|fine|tired|sleepy|a bit|much|better|like)|owe you|trust you|missed you)|i'll (?:be|talk|see|let|get|think|come back)|we'll see|"
    r"it(?:'s| is| was) (?:ok|okay|fine|great|good|nice|lovely|cold|hot|warm|sunny|raining|rainy|snowing|windy|late|early|just|been a|so|too|such|nothing|monday|tuesday|wednesday|thursday|friday|saturday|sunday|a (?:lovely|beautiful|nice|long|good|great))|"
    r"(?:the|this|today's) weather|the sun (?:is|'s)|(?:still )?(?:raining|snowing)|weather|today (?:is|was|has been) (?:a |so |really |very )|what(?:'s| is) up|nothing (?:much|new|special)|not (?:much|bad|really|today)|same here|me too|my pleasure|"
    r"my (?:head|brain) (?:is|hurts)|phew|haha|hehe|lol|wow|yay|hooray|hurray|oh|ah|hmm?|ugh|oops|whoops|brr+|ouch|aww?|omg|gosh|and you|just (?:passing|dropping)|time (?:for|to)|coffee time|bedtime|let me think|hang on|hold on|one (?:moment|sec|second)|brb|wait|speak soon|until (?:next|tomorrow)|till (?:next|tomorrow)|sweet dreams|sleep well|"
    r"same to you|you too|likewise|no need|all (?:good|right|done|set)|so (?:true|cool|nice|funny|sweet|far so good)|busy (?:day|week)|long (?:day|week)|what would i do|bless you|god|well)\b)",
    re.IGNORECASE,
)


# "that was fun", "it's so good": a remark on what was said, of nothing by itself.
_VAGUE = re.compile(
    r"^(?:they|you|we|people|life|time|everything|it all|things) (?:all )?(?:\w+ ){1,2}(?:up |by )?(?:so|too|very|really|always) \w+\W*$",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"^(?:(?:that|this|it)(?:'s| is| was| will be| would be|'ll be| sounds| looks| feels)(?: [\w']+){1,3}"
    r"|(?:he|she|they)(?:'s|'re| is| are| was| looks?) (?:so|such an?|really|very|too) [\w']+(?: [\w']+)?)\W*D?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence and what it does; `text` is what it says, without the words that only do it ("remember that")."""

    act: Act
    text: str
    sentence: str


def utterances(message: str) -> list[Utterance]:
    """The sentences of a message, in order."""
    return [utterance for sentence in sentences(plain(message)) for utterance in _read(sentence)]


def strip_opener(sentence: str) -> str:
    """The sentence without "oh, and", "btw," and the like."""
    stripped = re.sub(_OPENER, "", sentence.strip(), flags=re.IGNORECASE)
    return stripped or sentence.strip()


def strip_correction(sentence: str) -> str:
    """The sentence without "wait no," and the like."""
    return _CORRECTION_OPENER.sub("", sentence.strip()).strip() or sentence.strip()


def is_question(sentence: str) -> bool:
    """By its mark, or by its word order where the mark was left out."""
    text = strip_opener(sentence)
    if text.endswith("?"):
        return True
    words = [token.lower for token in tokens(text)]
    if not words:
        return False
    if words[0] in _WH or words[0] in ("what's", "who's"):
        if words[0] in ("when", "where", "what", "how") and not _inverted(words[1:]):
            return (
                words[0] in ("what", "how")
                and len(words) > 1
                and words[1] not in ("a", "an")
                and not find_subject(" ".join(words[1:]))
            )
        return True
    return (
        words[0] in AUXILIARIES - {"don't", "can't", "do", "have", "had"}
        and len(words) > 1
        and _is_subject_word(words[1])
    )


def _inverted(words: list[str]) -> bool:
    return bool(words) and (
        words[0] in AUXILIARIES
        or words[0]
        in (
            "many",
            "much",
            "old",
            "long",
            "often",
            "far",
            "big",
            "tall",
            "s",
            "about",
            "kind",
            "time",
            "day",
            "year",
            "colour",
            "color",
        )
    )


def _is_subject_word(word: str) -> bool:
    return word in PRONOUNS or word in ("my", "our", "the", "his", "her", "their", "a", "an", "any")


# "new email: ana@example.org", "wifi code: 1234": a fact without its verb.
_LABEL = re.compile(
    r"^(?P<whose>my |our |the )?(?P<fresh>new |updated |current )?(?P<noun>[a-z][a-z -]{2,24}): (?P<value>\S.*)$",
    re.IGNORECASE,
)
_NO_LABELS = frozenset(
    "note update news reminder correction remember question answer info heads-up example edit request".split()
)


def _labelled(text: str) -> Utterance | None:
    match = _LABEL.match(text)
    if (
        match is None
        or find_subject(match["value"])
        or find_subject(match["noun"])
        or match["noun"].split()[-1].lower() in _NO_LABELS
    ):
        return None
    body = f"{match['whose'] or 'my '}{match['noun'].lower()} is {match['value']}"
    return Utterance("correction" if match["fresh"] else "statement", body, text)


def _read(sentence: str) -> list[Utterance]:
    text = strip_opener(sentence)
    if not text.endswith("?") and (labelled := _labelled(text)):
        return [labelled]
    if tag := _TAG.search(text):
        body = text[: tag.start()]
        known = _YOU_KNOW.match(body)
        if known:
            rest = body[known.end() :].strip(" ,.")
            return [Utterance("statement", rest, sentence)] if rest else []
        if _CHAT.match(body) or not find_subject(body) or re.match(r"(?:do|did|have|you|your)\b", body, re.IGNORECASE):
            return [Utterance("question" if not _CHAT.match(body) else "chat", text, sentence)]
        return [Utterance("statement", body.strip(" ,"), sentence)]
    if text.endswith("?"):
        known = _YOU_KNOW.match(text)
        if (
            known
            and text.lower().startswith(("you know", "you remember", "remember"))
            and not re.search(r"\bwhat|when|where|who|how\b", text)
        ):
            return [Utterance("statement", text[known.end() :].strip(" ?"), sentence)]
        chat = re.match(
            r"^(?:how are (?:you|things)|how(?:'s| is) (?:it going|life|everything|your)|what(?:'s| is) (?:up|new|going on)|are you (?:there|ok|okay|well|awake|ready|still)|"
            r"how have you|how do you do|how was your|did you (?:sleep|miss|have)|you there|all (?:good|well)|isn't it|ready)\b",
            text,
            re.IGNORECASE,
        )
        return [Utterance("chat" if chat or _is_greeting_question(text) else "question", text, sentence)]
    if match := _REMEMBER.match(text):
        return [
            Utterance("preference" if _STYLE.search(match["what"]) else "remember", match["what"].strip(), sentence)
        ]
    if _STYLE.search(text) and not is_question(text):
        return [Utterance("preference", text, sentence)]
    if (
        (match := _FORGET.match(text))
        and _FORGET_OBJECT.match(match["what"])
        and not re.match(r"(?:scratch|forget|ignore|strike) (?:that|it|this)\b[\s,.:-]+\w", text, re.IGNORECASE)
    ):
        return _forget(match["what"].strip(), text, sentence)
    if _ASKING.match(text) or is_question(text):
        return [Utterance("question", text, sentence)]
    opener = _CORRECTION_OPENER.match(sentence)
    if opener and _STRONG_OPENER.search(opener.group()):
        rest = strip_correction(sentence)
        if is_question(rest):
            return [Utterance("question", rest, sentence)]
        if (
            re.search(r"\w", rest)
            and not (rest == sentence.strip())
            and not (_CHAT.match(rest) and not has_value(rest))
        ):
            return [Utterance("correction", rest, sentence)]
        if not _CHAT.match(sentence) and re.search(r"\w{3}", rest) and rest != sentence.strip():
            return [Utterance("correction", rest, sentence)]
    if _CHAT.match(text) and not _tells_fact(text):
        return [Utterance("chat", text, sentence)]
    if (_REMARK.match(text) or _VAGUE.match(text)) and not has_number_or_name(text):
        return [Utterance("chat", text, sentence)]
    if _HYPOTHETICAL.match(text):
        return [Utterance("hypothetical", text, sentence)]
    if _COMMAND.match(text) and not find_subject(text.split(" ", 1)[0]):
        return [Utterance("command", text, sentence)]
    if not _states(text):
        return [Utterance("chat", text, sentence)]
    if _CORRECTION_ANYWHERE.search(text):
        return [Utterance("correction", text, sentence)]
    return [Utterance("statement", text, sentence)]


def has_value(text: str) -> bool:
    """Whether a fragment carries something that can be put in the place of what was said: a number or a name."""
    return bool(re.search(r"\d|\b[A-Z]\w+", text)) or len(tokens(text)) >= 4


def has_number_or_name(text: str) -> bool:
    return bool(re.search(r"\d|(?<!^)\b[A-Z]", text))


def _is_greeting_question(text: str) -> bool:
    return (
        bool(re.search(r"\b(?:you|your)\b", text, re.IGNORECASE))
        and bool(
            re.match(
                r"(?:are|do|can|could|will|would|have|did|who|what|how|where|were) (?:are |is |do |can )?(?:you|your)\b",
                text,
                re.IGNORECASE,
            )
        )
        and not re.search(r"\b(?:my|me|i|our|we|us|know|remember|about|told|said)\b", text, re.IGNORECASE)
    )


def _forget(what: str, text: str, sentence: str) -> list[Utterance]:
    """ "Scratch what I said about the key, Mrs K has it now": the first part goes, the rest takes its place."""
    parts = re.split(r"[,;:]\s+| - ", what, maxsplit=1)
    if len(parts) == 2 and find_subject(parts[1]):
        subject = re.sub(r"^.*?\babout\b", "", parts[0]).strip()
        rest = re.sub(r"\b(?:it|them)\b", subject, parts[1].strip(), count=1, flags=re.IGNORECASE)
        return [Utterance("correction", rest, sentence)]
    return [Utterance("forget", what, sentence)]


def _tells_fact(text: str) -> bool:
    """A chatty opening with a fact behind it: "Great news, my sister Ana is having a baby"."""
    rest = re.split(r"[,:;!]\s+| - ", text, maxsplit=1)
    return len(rest) == 2 and len(tokens(rest[1])) >= 4 and bool(find_subject(rest[1])) and not _CHAT.match(rest[1])


def _states(text: str) -> bool:
    """Whether the sentence says something of its own: a subject with a verb, or a verb whose "I" was left out."""
    if len(tokens(text)) < 2:
        return False
    if find_subject(text):
        return not re.match(r"(?:you|your)\b", text, re.IGNORECASE) or bool(
            re.search(r"\b(?:my|me|i|our|we)\b", text, re.IGNORECASE)
        )
    words = [token.lower for token in tokens(text)]
    if words[0] in SUBORDINATORS:
        return bool(re.search(r", (?:i|we|my|our|he|she|they|it|the)\b", text, re.IGNORECASE)) and len(words) >= 6
    return (
        len(words) >= 3
        and (is_verb(words[0]) or words[0] in ("never", "always", "just", "allergic", "currently", "not"))
        or (len(words) >= 3 and bool(re.search(r"\b(?:my|our|me|us|i)\b", text, re.IGNORECASE)))
    )
