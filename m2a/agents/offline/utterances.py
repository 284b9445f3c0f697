"""The utterances of a message: each sentence with its act, which is telling, asking, chatting or a request.

A learned decision distinguishes telling, asking and chatting (`acts`). Requests in fixed words (to forget, a style, a task) are
recognised by those words. Text that is not English is not read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from m2a.agents.offline.acts import (
    AUXILIARY,
    COMMAND,
    GREETING,
    OPENER,
    REACTION,
    WH,
    WH_FIRST,
    act_of,
    act_probabilities,
)
from m2a.agents.offline.change_words import CHANGES, LATELY, TAKES_BACK, refuted
from m2a.agents.offline.clauses import find_subject, has_verb, sentences
from m2a.agents.offline.foreign import asks_to_forget, is_courteous
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.memory_requests import (
    NOT_TO_MENTION,
    RESTORE,
    content_of_request,
    forget_probability,
    forget_target,
    has_forget_words,
    opens_with_forget,
    wanted_words,
)
from m2a.agents.offline.names import find_names, find_namings
from m2a.agents.offline.question_forms import LISTS, SAYS_WHAT_IT_ASKS, has_question_form
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, plain, tokens
from m2a.agents.offline.values import find_values, has_place

Act = Literal["tell", "ask", "chat", "preference", "forget", "restore", "command", "unread"]
_MAX_ACT_LENGTH = 2000  # characters of a message; its act is decided from no more than these
_OPENING = 12  # characters at the beginning of a sentence within which a correction opens it: "No wait, …"
_TOPIC_WORDS = 4  # at most, of a sentence that only names something

# From these probabilities of telling a sentence is kept.
_TELLS = 0.25  # if it is the whole message, unless asking is more probable
_TELLS_BESIDE_A_QUESTION = 0.9  # in a message with a question
_TELLS_BESIDE_CHAT = 0.7  # in a message that only chats
_SURELY_TELLS = 0.97  # from this probability it is certainly a statement
_IDLE = 0.8  # from this probability of chatting a sentence of a message that tells something is left out

# From these probabilities a message without the fixed words is a request to forget.
_FORGETS = 0.5  # if it tells nothing else
_FORGETS_TELLING = 0.6  # if it may tell something
_FORGETS_SURELY_TELLING = 0.7  # if it certainly tells something
_SURELY_FORGETS = 0.9  # whatever it tells: it is read as that request alone
_MAY_FORGET = 0.06  # with words such as "delete"; below `_FORGETS` it is read otherwise if no memory matches
_SENTENCE_FORGETS = 0.3  # from this probability a sentence of such a message belongs to the request
# "Can you remember my sister's name?" asks for it, however much it resembles a request to forget.
_ASKS_TO_RECALL = re.compile(
    r"^(?:\W*(?:hey|hi|so|and|ok|okay|oh)\b\W*)*(?:can|could|do|would|will|did) you "
    r"(?:still |even |ever |please |perhaps )*(?:remember|recall|know)\b.*\?\W*$",
    re.IGNORECASE,
)
_YOU_OR_FORGET = re.compile(r"\b(?:you|forget|delete|erase)\b", re.IGNORECASE)
_POINTS_AT_TOPIC = re.compile(
    r"^(?:they|those|these|it|that|he|she)\b(?:'(?P<contraction>\w+))?|\b(?:it|them)(?=\W*$|,| at all\b)", re.IGNORECASE
)
_NAMES = r"(?:\b[A-Z]\w*\W*)*+"
_TO_SOMEBODY = (
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|bye|goodbye|thanks?|thx|ta|cheers|sorry|take care|see you|"
    r"talk soon|(?:best|kind) (?:wishes|regards)|all the best|(?:good|great) news|wow|yeah|yep|yup)\b"
)
# A greeting, a closing phrase or a reaction, perhaps with the name of somebody addressed: "Hi Maria!", "Yeah, Tom."; but
# "Cool Runnings" is a title. The possessive repetitions keep the time short that a long text without a match takes.
_NO_TOPIC = re.compile(
    rf"(?:(?i:{_TO_SOMEBODY})\W*+{_NAMES}|(?i:no problem\b|{REACTION}|"
    rf"(?:absolutely|awesome|definitely|totally|uh|night|for sure|of course)\b)\W*+(?:(?<=[^\w\s]\s){_NAMES})?)++"
)

_REMEMBER = re.compile(
    r"^(?:please |can you |could you |would you |i(?:'d| would) (?:like|want) you to |also )*"
    r"(?:(?:don't|do not|never|dont) forget|remember|keep in mind|bear in mind|note(?: down)?|make a note|save|"
    r"remind (?:me|us)(?= that\b)|"  # there are no reminders
    r"(?:change|update|correct|amend|fix) (?:your|the|my) (?:notes?|records?|memory|file|entry)(?: (?:about|on|for) [^:]+(?=:))?)"
    r"(?:,| that\b|:| this\b| for me\b| -| of\b)*\s+"
    r"(?!me\b|when\b|what\b|where\b|who\b|how\b|to\b)(?P<what>.+)",
    re.IGNORECASE,
)

# "He studies law now, so forget what I said about the stage."
_THEN_FORGET = re.compile(
    r"(?P<statement>.{10,}?),? (?:and )?so,? (?P<request>(?:(?:please|pls|kindly|just|can you|could you|you can) )*"
    r"(?:forget|delete|erase|remove|drop|scrap|scrub|scratch|disregard|ignore)\b.+)$",
    re.IGNORECASE,
)

# How the assistant is to write or to address the user.
_STYLE = re.compile(
    r"\b(?:(?:keep|make|write|give) (?:your|me|the) [\w ]*(?:answers?|repl(?:y|ies)|responses?|messages?)|"
    r"(?:answer|reply|respond|talk|speak)(?: to me)? (?:in|with|briefly|using|more|less|without|only)|call me|"
    r"(?:short|brief|long|detailed|concise)\w* (?:answers?|repl(?:y|ies))|"
    r"(?:use|don't use|avoid|no|like) (?:emojis?|bullet points|bullets|lists|jargon|metric|celsius|\w+ units))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"[^"]*"')
# "You know Ana moved, right?", "It's Monday, isn't it?"
_QUESTION_TAG = re.compile(
    rf"(?:(?<! or)(?<! and)[,\s]+(?:right|correct|you know|remember|yes|no|ok|okay|eh|huh|"
    rf"can you (?:believe|imagine) (?:it|that)|{AUXILIARY}n't (?:it|he|she|they|we|you|i))|"
    rf",\s*{AUXILIARY} (?:it|he|she|they|we|you|i|there))\s*\?$",
    re.IGNORECASE,
)
_YOU_KNOW = re.compile(r"^(?:you (?:know|remember)|do you remember|remember) (?=my |our |[A-Z])", re.IGNORECASE)
# "Did I mention that his left eye is glass?" is a statement.
_MENTIONED = re.compile(
    r"^(?:did|have) i (?:ever |already )?(?:mention(?:ed)?|tell you|told you|say|said) that (?P<what>[^?.!]+)\?+$",
    re.IGNORECASE,
)
# An opening that only asks for attention: "Guess what? I got the job!"
_ATTENTION = re.compile(
    r"^\W*(?:(?:hey|hi|oh|so|and|ok(?:ay)?)\b\W*(?:[A-Z]\w+\W+)?)*(?:guess what|you know what|you'll never guess)\b"
    r"[\s!?.,:-]+(?!(?:i|we|you|he|she|it|they)\b[^.!]*\?)(?=\w)",
    re.IGNORECASE,
)
_IN_A_HURRY = re.compile(  # where an apostrophe is left out: "im", "hes", "dont"
    r"\b(?:i(?=m\b)|(?:he|she|that|what|where|who|how)(?=s\b)|(?:i|we|you|they)(?=ve\b)|(?:you|they)(?=re\b)|"
    r"(?:do|does|did|is|are|was|were|has|have|had|could|would|should|ca|wo)n(?=t\b))",
    re.IGNORECASE,
)
# A sentence that points at a photo or announces something, and asks nothing: "Look what I bought".
SHOWS = re.compile(
    r"^\W*(?:(?:oh|hey|wow|just)\b,? )*(?:look|see|check out) (?:at )?(?:what|who|how) (?:i|we|my|our)\b[^?]*$",
    re.IGNORECASE,
)
# A taste or a fear of the user's: "I love the sea", "I'm terrified of tight spaces", but not "I love it" or "I hate when …".
_TASTE_OR_FEAR = re.compile(
    r"^\W*(?:(?:and|but|also|btw|honestly|personally)\b,? )*(?:"
    r"i (?:(?:really|absolutely|just|also|always|still|do) )*"
    r"(?:love|hate|adore|detest|loathe|dislike|enjoy|prefer|(?:can't|cannot) (?:stand|bear))|"
    r"i(?:'?m| am) (?:(?:really|absolutely|also|so|very|quite|a bit) )*"
    r"(?:(?:terrified|scared|afraid|frightened|petrified|fond) of|keen on|(?:mad|crazy) about)) "
    r"(?!(?:it|this|that|these|those|you|your|him|her|them|everything|how|what|when|where|why|to|being|having|talking|"
    r"chatting|asking|hearing|saying|not to (?:say|tell|talk|answer|discuss)|the (?:way|idea|sound|thought|fact|look))\b)[^?]+$",
    re.IGNORECASE,
)
# "What Theo is scared of is elevators": a statement that opens like a question.
_SAYS_WHAT = re.compile(
    r"^what (?P<clause>(?:(?:i|we|he|she|they|my|our|his|her|their|the)\b|(?-i:[A-Z])).+) (?:is|are|was|were) "
    r"(?!(?:it|he|she|they|there|that|this|i|we|you)\b)[^?]+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence and its act. `text` is the content, without words that only express the act ("remember that").

    `otherwise` is the second reading of a probable request to forget, for when no memory matches it.
    """

    act: Act
    text: str
    otherwise: tuple["Utterance", ...] = ()


def utterances(message: str, sense: Sense) -> list[Utterance]:
    """Returns the utterances of a message, in order."""
    return list(sense.read(_utterances, message))


def texts_to_encode(message: str) -> list[str]:
    """Returns the texts whose vectors the reading of a message may need, none if it is not English or only courteous.

    Sentences that are joined or split by what these vectors say are not among them.
    """
    text = _text_to_read(message)
    return _to_encode(text, sentences(text))


def _to_encode(text: str, parts: Sequence[str]) -> list[str]:
    return [text[:_MAX_ACT_LENGTH], *parts] if is_english(text) and not is_courteous(text) else []


def _text_to_read(message: str) -> str:
    """Returns the message without words that only ask for attention or whether it was told before, with its apostrophes."""
    text = _ATTENTION.sub("", plain(message))
    mentioned = _MENTIONED.match(text)
    text = mentioned["what"] if mentioned else text
    return _IN_A_HURRY.sub(lambda match: f"{match[0]}'", text) if is_english(text) else text


def _utterances(message: str, sense: Sense) -> list[Utterance]:
    text = _text_to_read(message)
    as_typed = sentences(text)
    sense.wordings(_to_encode(text, as_typed))  # one batch is encoded faster
    parts = [clause for part in _with_topics(as_typed, sense) for clause in _apart_from_request(part)]
    if asks_to_forget(text) and not any(map(opens_with_forget, parts)):
        return [Utterance("forget", text)]
    if is_courteous(text):
        return [Utterance("chat", text)]
    if not is_english(text):
        return [Utterance("unread", part) for part in parts]
    message_act = act_of(text[:_MAX_ACT_LENGTH], sense)
    has_question = any(part.endswith("?") for part in parts)
    alone = len(parts) == 1
    result: list[Utterance] = []
    for part in parts:
        if not alone and not is_english(part):
            result.append(Utterance("unread", part))
        elif (utterance := _with_fixed_words(part, sense)) is not None:
            result += _with_statement(utterance)
        else:
            result.append(_classified(part, message_act, sense, alone=alone, has_question=has_question))
    only_points = len(result) > 1 and result[0].act == "forget" and not content_of_request(result[0].text)
    if only_points and TAKES_BACK.search(parts[0]):
        result = [Utterance("tell", f"{parts[0]} {result[1].text}"), *result[2:]]  # "Scratch that. Monday."
    if any(item.act == "forget" for item in result):
        result = [item for item in result if item.act not in ("tell", "chat") or not _is_a_reason(item.text, sense)]
    if any(item.act == "forget" and wanted_words(item.text) for item in result):
        # "Forget the code. Delete it." is one request.
        return [item for item in result if item.act != "forget" or wanted_words(item.text)]
    if any(map(_to_remember, parts)) or all(item.act == "command" for item in result) or len(text) > _MAX_ACT_LENGTH:
        return result  # "Remember that I deleted the account" asks for nothing else, whatever its words resemble
    if request := _as_forget_request(text, result, sense, has_question=has_question):
        return request
    result = [Utterance("forget", item.text) if _surely_forgets(item, sense) else item for item in result]
    return _with_question(result) if message_act == "ask" else result


def _surely_forgets(item: Utterance, sense: Sense) -> bool:
    """Returns whether a sentence alone is certainly a request to forget something, though its message is not."""
    may_forget = item.act != "ask" and bool(content_of_request(item.text))
    return may_forget and forget_probability(item.text, sense) >= _SURELY_FORGETS


def _with_question(items: list[Utterance]) -> list[Utterance]:
    """Returns the utterances of a message that asks. If no sentence alone asks, the longest that tells nothing is the question.

    "When?" belongs to the question before it.
    """
    joined: list[Utterance] = []
    for item in items:
        if item.act == "ask" and joined and joined[-1].act == "ask" and len(tokens(item.text)) < 3:
            joined[-1] = Utterance("ask", f"{joined[-1].text} {item.text}")
        else:
            joined.append(item)
    items = joined
    remarks = [item for item in items if item.act == "chat"]
    has_purpose = any(item.act not in ("tell", "chat") or GREETING.match(item.text) for item in items)
    if len(items) == 1 or has_purpose or not remarks:
        return items
    longest = max(remarks, key=lambda item: len(item.text))
    return [replace(item, act="ask") if item is longest else item for item in items]


def _as_forget_request(
    text: str, items: Sequence[Utterance], sense: Sense, *, has_question: bool
) -> list[Utterance] | None:
    """Returns the utterances of a message that asks in other words to forget something, None if it does not ask."""
    if has_forget_words(text):
        asks = has_question and not _YOU_OR_FORGET.search(text)  # "drop off address please?"
        threshold, certain = _SURELY_FORGETS if asks else _MAY_FORGET, _FORGETS
    elif _ASKS_TO_RECALL.match(text) or SAYS_WHAT_IT_ASKS.match(text):
        return None
    else:
        tells = any(item.act == "tell" for item in items)
        threshold, certain = _forget_threshold(text, sense) if tells else _FORGETS, _SURELY_FORGETS
    probability = forget_probability(text, sense)
    if probability < threshold:
        return None
    statements = _further_statements(items, sense)
    request = " ".join(item.text for item in items if item not in statements) if statements else text
    return [Utterance("forget", request, tuple(items) if probability < certain else ()), *statements]


def _apart_from_request(sentence: str) -> tuple[str, ...]:
    """Splits "He studies law now, so forget what I said about the stage" before the request, unless both name the same."""
    match = _THEN_FORGET.match(sentence)
    if match is None:
        return (sentence,)
    named = wanted_words(match["request"])
    return (match["statement"], match["request"]) if named and not named & content(match["statement"]) else (sentence,)


def _is_a_reason(sentence: str, sense: Sense) -> bool:
    """Returns whether a sentence beside a request to forget only gives the reason: "It's too early to tell anyone"."""
    if forget_probability(sentence, sense) >= _SENTENCE_FORGETS:
        return True  # "I've not told Ana and I don't want it written down."
    subject = find_subject(sentence)
    if re.search(r"\d", sentence) or find_names(sentence) or has_place(sentence):
        return False
    return subject is None or subject.text.lower() in ("he", "she", "they", "you", "it", "that", "this")


def _further_statements(items: Sequence[Utterance], sense: Sense) -> list[Utterance]:
    """Returns what a message with a request to forget tells besides: a change, or what follows the request and is no reason.

    "Scrub the Fabia. We drive a Jogger now." forgets the Fabia, and keeps the Jogger.
    """
    statements: list[Utterance] = []
    has_request = False
    for item in items:
        if item.act == "forget" or forget_probability(item.text, sense) >= _SENTENCE_FORGETS:
            has_request = True
        elif item.act == "tell":
            changed = bool(CHANGES.search(item.text) or LATELY.search(item.text))
            if changed or (has_request and not _is_a_reason(item.text, sense)):
                statements.append(item)
    return statements


def _with_statement(item: Utterance) -> list[Utterance]:
    """Splits "No, both are true: I live in Graz and in Vienna" into the request to restore and the statement."""
    request, _, statement = item.text.partition(": ")
    if item.act != "restore" or find_subject(statement) is None:
        return [item]
    return [Utterance("restore", request), Utterance("tell", statement)]


def _forget_threshold(text: str, sense: Sense) -> float:
    """Returns the probability from which a message that tells something is a request to forget it."""
    if act_probabilities(text, sense)["tell"] < _SURELY_TELLS:
        return _FORGETS_TELLING
    # A user who wants a number forgotten does not repeat it.
    return _SURELY_FORGETS if re.search(r"\d", text) else _FORGETS_SURELY_TELLING


def _with_topics(parts: Sequence[str], sense: Sense) -> list[str]:
    """Joins each topic to the sentence about it: "The long key? It is for the cellar.", "Peanuts. They make my face swell."."""
    result: list[str] = []
    for part in parts:
        if result and (
            (_is_topic(result[-1]) and _is_about_topic(part, sense)) or _tells_of_topic(result[-1], part, sense)
        ):
            result[-1] = f"{result[-1]} {part}"
        else:
            result.append(part)
    return result


_WHAT_WAS_SAID = re.compile(
    r"\W*(?:(?:also|and|oh|hey|ok|okay|so|btw|you know|remember|about),? )*(?:that|the|what)\b"
    r"(?=.*\bi(?:'ve| have)?(?: just| once)? (?:said|told|mentioned|wrote|shared|confided)\b).*\?$",
    re.IGNORECASE,
)


def _is_topic(sentence: str) -> bool:
    """Returns whether the sentence only names something and ends with a question mark: "The long key?", "That job I wanted?"."""
    lower = sentence.lower()
    return _WHAT_WAS_SAID.match(sentence) is not None or (
        sentence.endswith("?")
        and len(tokens(sentence)) > 1
        and not re.search(rf"\b{WH}\b|\b{AUXILIARY}\b|^(?:and|any|another|same)\b", lower)
        and (find_subject(sentence) is None or re.match(r"(?:that|this|these|those) [a-z]", lower) is not None)
    )


def _is_about_topic(sentence: str, sense: Sense) -> bool:
    """Returns whether the sentence is about the topic before it. "I need it for a form." only says why the user asks."""
    if sentence.endswith("?"):
        return False
    if has_forget_words(sentence):
        return True  # "That business with Tom? Bin it."
    subject = find_subject(sentence)
    if subject is not None:
        return subject.text.lower() not in ("i", "we", "you")
    chances = act_probabilities(sentence, sense)
    return chances["tell"] > max(chances["chat"], chances["ask"])


def _tells_of_topic(topic: str, sentence: str, sense: Sense) -> bool:
    """Returns whether the sentence tells something of what the one before it only names: "Moths. That's my phobia."."""
    match = _POINTS_AT_TOPIC.search(sentence)
    words = tokens(topic)
    if match is None or topic.endswith("?") or sentence.endswith("?") or not 0 < len(words) <= _TOPIC_WORDS:
        return False
    if find_subject(topic) is not None or has_verb(topic) or _NO_TOPIC.fullmatch(topic):
        return False
    subject = find_subject(sentence)
    # "It's been" has the verb "has".
    verb = f" {subject.rest.partition(' ')[0]}" if match["contraction"] and subject is not None else ""
    whole = f"{sentence[: match.start()]}{topic.rstrip(' .!')}{verb}{sentence[match.end() :]}"
    chances = act_probabilities(whole, sense)
    return chances["tell"] >= max(_TELLS, chances["ask"])


_CORRECTS_WORDS = re.compile(r"\*\w[^*]*$")  # "*right knee, not left"


def _with_fixed_words(text: str, sense: Sense) -> Utterance | None:
    """Returns the utterance if its words alone decide its act."""
    if _CORRECTS_WORDS.match(text):
        return Utterance("tell", text)
    if RESTORE.search(text):
        return Utterance("restore", text)
    if NOT_TO_MENTION.match(text):
        return Utterance("command", text)
    if target := forget_target(text, sense):
        return Utterance("forget", target)
    if statement := _to_remember(text):
        return Utterance("preference" if _STYLE.search(statement) else "tell", statement)
    is_of_oneself = re.search(r"\b(?:my|our)\b", _QUOTED.sub("", text))
    is_correction = _takes_back_at_once(text) and _corrects(text)  # "Fix that typo: the code is 4471."
    if COMMAND.match(text) and not (LISTS.match(text) or is_of_oneself or is_correction):
        return Utterance("command", text)
    if _STYLE.search(text) and not text.endswith("?"):
        return Utterance("preference", text)
    return None


def _to_remember(sentence: str) -> str | None:
    """Returns what a sentence asks to remember, None if it does not."""
    match = _REMEMBER.match(sentence)
    return match["what"] if match and _has_content(match["what"]) else None


def _has_content(text: str) -> bool:
    """Returns whether the text is something to remember, no question, and does not only point: "the details!", "your breath"."""
    points = re.match(r"(?:the|your|this|that|these|those|it)\b(?!.*\d)", text, re.IGNORECASE)
    only_points = points and find_subject(text) is None and not find_names(text)
    return not (text.endswith("?") or only_points)


def _corrects(sentence: str) -> bool:
    """Returns whether the sentence corrects something, though it is as short as a remark: "No no, burgundy, not emerald"."""
    taken_back = TAKES_BACK.search(sentence)
    if taken_back is None or sentence.endswith("?"):
        return False
    has_name = re.search(r"\d|(?<=[a-z,] )(?!I\b)[A-Z]", sentence)
    names_something = has_name or any(map(content_of_request, refuted(sentence)))
    gives_value = taken_back.start() <= _OPENING and find_values(sentence[taken_back.end() :])
    return bool(names_something or gives_value)


def _takes_back_at_once(sentence: str) -> bool:
    match = TAKES_BACK.search(sentence)
    return match is not None and match.start() <= _OPENING


def _classified(sentence: str, message_act: Act, sense: Sense, *, alone: bool, has_question: bool) -> Utterance:
    """Returns the sentence with its act: a statement, a question, or chat."""
    parts = sentences(sentence)
    if len(parts) == 2 and _tells_of_topic(parts[0], parts[1], sense):
        return Utterance("tell", sentence)
    if (tag := _QUESTION_TAG.search(sentence)) and not _is_small_talk(sentence):
        statement = _YOU_KNOW.sub("", sentence[: tag.start()]).strip(" ,")
        if act_of(f"{statement}.", sense) == "tell":
            return Utterance("tell", statement)
        return Utterance("chat" if message_act == "chat" else "ask", sentence)
    act = _act_of_sentence(sentence, message_act, sense, alone=alone, has_question=has_question)
    return Utterance("tell" if act == "chat" and _corrects(sentence) else act, sentence)


def _act_of_sentence(sentence: str, message_act: Act, sense: Sense, *, alone: bool, has_question: bool) -> Act:
    only_reacts = (
        not alone and _NO_TOPIC.fullmatch(sentence) and not (TAKES_BACK.search(sentence) or find_values(sentence))
    )
    if _is_small_talk(sentence) or only_reacts:
        return "chat"
    if (_TASTE_OR_FEAR.match(sentence) and not _MAY_ASK.search(sentence)) or (
        not SAYS_WHAT_IT_ASKS.match(sentence) and (match := _SAYS_WHAT.match(sentence)) and has_verb(match["clause"])
    ):
        return "tell"
    if has_question_form(sentence):
        return "ask"
    chances = act_probabilities(sentence, sense)
    if sentence.endswith("?") and (alone or message_act != "tell" or chances["ask"] > chances["tell"]):
        return "ask"
    if alone:
        tells = chances["tell"] >= max(_TELLS, chances["ask"]) or (message_act == "ask" and not _may_ask(sentence))
        return "tell" if tells else message_act
    if message_act == "tell":
        is_correction = len(tokens(sentence)) == 1 and TAKES_BACK.search(sentence)  # "Nope. Thursday."
        is_content = is_correction or re.search(r"\d|(?<=\w )[A-Z][a-z]", sentence)
        idle = chances["chat"] > _IDLE and not is_content
        only_explains = has_question and chances["tell"] < _TELLS_BESIDE_A_QUESTION  # "The code? I forgot it again."
        return "chat" if idle or only_explains else "tell"
    # Beside "…?" only a sentence that opens as a question asks too.
    may_ask = not has_question or WH_FIRST.match(sentence.lower())
    if message_act == "ask" and may_ask and chances["ask"] >= max(chances["tell"], chances["chat"]):
        return "ask"
    if message_act == "chat" and not has_question and chances["tell"] >= _TELLS_BESIDE_CHAT:
        return "tell"
    # A sentence beside a question only says why the user asks, unless it gives a name or a code.
    gives_name = message_act == "ask" and find_namings(sentence)
    gives_code = chances["tell"] >= _SURELY_TELLS and re.search(r"\d{3}", sentence)
    return "tell" if gives_name or gives_code else "chat"


_MAY_ASK = re.compile(
    rf"\?|\b{WH}\b|\b(?:if|whether|you|i'd like|wants|needs?|needed|ask(?:s|ed|ing)?|after|please|pls|plz|remind|tell|give|"
    rf"show|list|name|find|look(?:ing)? for|forg[eo]t(?:ten)?|remember|recall|blank|again)\b|^\W*{OPENER}{AUXILIARY}\b",
    re.IGNORECASE,
)
_NOT_KNOWN = re.compile(rf"\b(?:don't know|dunno|no idea|goodness knows|god knows) {WH}\b", re.IGNORECASE)


def _may_ask(sentence: str) -> bool:
    """Returns whether a sentence without a question mark may ask: it has a word for it, or is no clause ("locker code, quick").

    "Don't know where I got that from" asks nothing.
    """
    return _MAY_ASK.search(_NOT_KNOWN.sub("", sentence)) is not None or find_subject(sentence) is None


def _is_small_talk(sentence: str) -> bool:
    return bool(GREETING.match(sentence) or SHOWS.match(sentence))
