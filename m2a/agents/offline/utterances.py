"""The utterances of a message: each sentence with its act, which is telling, asking, chatting or a request.

A learned decision distinguishes telling, asking and chatting (`acts`). Requests in fixed words (to forget, a style, a task) are
recognised by those words. Text that is not English is not read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from m2a.agents.offline.acts import (
    AUXILIARY,
    COMMAND,
    GREETING,
    OPENER,
    WH,
    WH_FIRST,
    act_of,
    act_probabilities,
)
from m2a.agents.offline.change_words import CHANGES, LATELY, TAKES_BACK
from m2a.agents.offline.clauses import PREPOSITIONS, find_subject, has_verb, is_past, sentences
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
from m2a.agents.offline.question_forms import LISTS, has_question_form, may_ask_of_somebody
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, plain, tokens
from m2a.agents.offline.values import find_values, has_place

Act = Literal["tell", "ask", "chat", "preference", "forget", "restore", "command", "unread"]
_MAX_ACT_LENGTH = 2000  # characters of a message; its act is decided from no more than these
_TOPIC_WORDS = 4  # at most, of a sentence that only names something

# From these probabilities of telling a sentence is kept.
_TELLS = 0.25  # if it is the whole message, unless asking is more probable
_TELLS_BESIDE_A_QUESTION = 0.9  # in a message with a question
_TELLS_BESIDE_CHAT = 0.7  # in a message that only chats
# A sentence that opens with its verb tells from these probabilities of telling, and below these of asking.
_TELLS_THOUGH_INVERTED, _ASKS_INVERTED = 0.9, 0.1
_SURELY_TELLS = 0.97  # from this probability it is certainly a statement
_IDLE = 0.8  # from this probability of chatting a sentence of a message that tells something is left out

# From these probabilities a message without the fixed words is a request to forget.
_FORGETS = 0.5  # if it tells nothing else
_FORGETS_TELLING = 0.7  # if it tells something
_SURELY_FORGETS = 0.9  # whatever it tells: it is read as that request alone
_MAY_FORGET = 0.06  # with words such as "delete"; below `_FORGETS` it is read otherwise if no memory matches
_SENTENCE_FORGETS = 0.3  # from this probability a sentence of such a message belongs to the request
_YOU_OR_FORGET = re.compile(r"\b(?:you|forget|delete|erase)\b", re.IGNORECASE)
_OF_WHAT_WAS_TOLD = re.compile(r"\b(?:you|told|tell|said|mentioned|wrote|typed|shared)\b", re.IGNORECASE)
_REMEMBER = re.compile(
    r"^(?:please |can you |could you |would you |i(?:'d| would) (?:like|want) you to |also )*"
    r"(?:(?:don't|do not|never|dont) forget|remember|keep in mind|bear in mind|note(?: down)?|make a note|save|"
    r"remind (?:me|us)(?= that\b)|"  # there are no reminders
    r"(?:change|update|correct|amend|fix) (?:your|the|my|that) (?:notes?|records?|memory|file|entry|typo)"
    r"(?: (?:about|on|for) [^:]+(?=:))?)"
    r"(?:,| that\b|:| this\b| for me\b| -| of\b)*\s+"
    r"(?!(?:me|when|what|where|who|how|to)\b|(?:it|(?:that|this|the|your)(?: \w+)?)\W*$)(?P<what>.+)",
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
# "You know Ana moved, right?", "It's Monday, isn't it?"
_QUESTION_TAG = re.compile(
    rf"(?:(?<! or)(?<! and)[,\s]+(?:right|correct|you know|remember|yes|no|ok|okay|eh|huh|"
    rf"can you (?:believe|imagine) (?:it|that)|{AUXILIARY}n't (?:it|he|she|they|we|you|i))|"
    rf",\s*{AUXILIARY} (?:it|he|she|they|we|you|i|there))\s*\?$",
    re.IGNORECASE,
)
_IN_A_HURRY = re.compile(  # where an apostrophe is left out: "im", "hes", "dont"
    r"\b(?:i(?=m\b)|(?:he|she|that|what|where|who|how)(?=s\b)|(?:i|we|you|they)(?=ve\b)|(?:you|they)(?=re\b)|"
    r"(?:do|does|did|is|are|was|were|has|have|had|could|would|should|ca|wo)n(?=t\b))",
    re.IGNORECASE,
)
# An opening that only asks for attention: "Guess what? I got the job!"
_ATTENTION = re.compile(
    r"^\W*(?:(?:hey|hi|oh|so|and|ok(?:ay)?)\b\W*(?:[A-Z]\w+\W+)?)*(?:guess what|you know what|you'll never guess)\b"
    r"[\s!?.,:-]+(?!(?:i|we|you|he|she|it|they)\b[^.!]*\?)(?=\w)",
    re.IGNORECASE,
)
# "Did I mention that his left eye is glass?" is a statement.
_MENTIONED = re.compile(
    r"^(?:did|have) i (?:ever |already )?(?:mention(?:ed)?|tell you|told you|say|said) that (?P<what>[^?.!]+)\?+$",
    re.IGNORECASE,
)
# A sentence that points at a photo or announces something, and asks nothing: "Look what I bought".
SHOWS = re.compile(
    r"^\W*(?:(?:oh|hey|wow|just)\b,? )*(?:look|see|check out) (?:at )?(?:what|who|how) (?:i|we|my|our)\b[^?]*$",
    re.IGNORECASE,
)
# A taste or a fear of the user's: "I love the sea", "I'm scared of wasps", but not "I love it" or "I hate when …".
_TASTE_OR_FEAR = re.compile(
    r"^\W*i(?:'?m| am)? (?:(?:really|also|so|very) )*(?:love|hate|adore|dislike|enjoy|prefer|can't stand|"
    r"(?:terrified|scared|afraid|frightened|fond) of|keen on) (?!(?:it|this|that|these|those|you|your|him|her|them|everything|"
    r"how|what|when|where|why|to|being|talking|chatting|not to say|the (?:way|idea|sound|thought|fact))\b)[^?]+$",
    re.IGNORECASE,
)

# As in a diary or a list: "paid the fine", "booked our flights", "must ring the bank".
_NOTED = re.compile(
    r"^(?:(?:paid|bought|booked|sent|returned|posted|ordered|renewed|cancelled|sold|fixed|finished|signed|picked up) (?:for )?"
    r"(?:the|my|our|his|her|their|a|an|some|back|off)|(?:must|need to|have to|got to|gotta)(?! (?:i|we|you|he|she|they)\b)) "
    r"[\w'-]+[^?]*$",
    re.IGNORECASE,
)

# "What Theo is scared of is elevators": a statement that opens like a question; but "what I need is the dentist's number".
_SAYS_WHAT = re.compile(
    r"^what (?!i(?:'d|'m| am)? (?:need|want|like to|after|looking)\b)"
    r"(?P<clause>(?:(?:i|we|he|she|they|my|our|his|her|their|the)\b|(?-i:[A-Z])).+) (?:is|are|was|were) "
    r"(?!(?:it|he|she|they|there|that|this|i|we|you)\b)[^?]+$",
    re.IGNORECASE,
)
# "He studies law now, so forget what I said about the stage."
_THEN_FORGET = re.compile(
    r"(?P<statement>.{10,}?),? (?:and )?so,? (?P<request>(?:(?:please|pls|kindly|just|can you|could you|you can) )*"
    r"(?:forget|delete|erase|remove|drop|scrap|scrub|scratch|disregard|ignore)\b.+)$",
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
    """Returns the texts whose vectors the reading of a message may need, none if it is not English or only courteous."""
    text = _text_to_read(message)
    return _to_encode(text, _parts_of(text))


def _to_encode(text: str, parts: Sequence[str]) -> list[str]:
    return [text[:_MAX_ACT_LENGTH], *parts] if is_english(text) and not is_courteous(text) else []


def _text_to_read(message: str) -> str:
    """Returns the message with its apostrophes, without words that only ask for attention or whether it was told before."""
    text = _ATTENTION.sub("", plain(message))
    text = mentioned["what"] if (mentioned := _MENTIONED.match(text)) else text
    return _IN_A_HURRY.sub(lambda match: f"{match[0]}'", text) if is_english(text) else text


def _utterances(message: str, sense: Sense) -> list[Utterance]:
    text = _text_to_read(message)
    parts = _parts_of(text)
    sense.wordings(_to_encode(text, parts))  # one batch is encoded faster
    if asks_to_forget(text) and not any(map(opens_with_forget, parts)):
        return [Utterance("forget", text)]
    if is_courteous(text):
        return [Utterance("chat", text)]
    if not is_english(text):
        return [Utterance("unread", part) for part in parts]
    message_act = act_of(text[:_MAX_ACT_LENGTH], sense)
    has_question = any(part.endswith("?") and not _is_small_talk(part) for part in parts)
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
    return _as_forget_request(text, result, sense, has_question=has_question) or result


def _as_forget_request(
    text: str, items: Sequence[Utterance], sense: Sense, *, has_question: bool
) -> list[Utterance] | None:
    """Returns the utterances of a message that asks in other words to forget something, None if it does not ask."""
    if has_forget_words(text):
        asks = has_question and not _YOU_OR_FORGET.search(text)  # "drop off address please?"
        narrates = is_past(text) and not _OF_WHAT_WAS_TOLD.search(text) and any(item.act == "tell" for item in items)
        threshold = _SURELY_FORGETS if asks else _MAY_FORGET
        certain = _SURELY_FORGETS if narrates else _FORGETS
    elif text.endswith("?") or WH_FIRST.match(text.lower()):
        return None  # "Can you remember my sister's name?", however much it resembles a request to forget
    else:
        # A user who wants a number forgotten does not repeat it.
        if_it_tells = _SURELY_FORGETS if re.search(r"\d", text) else _FORGETS_TELLING
        threshold = if_it_tells if any(item.act == "tell" for item in items) else _FORGETS
        certain = _SURELY_FORGETS
    probability = forget_probability(text, sense)
    if probability < threshold:
        return None
    statements = _further_statements(items, sense)
    request = " ".join(item.text for item in items if item not in statements) if statements else text
    return [Utterance("forget", request, tuple(items) if probability < certain else ()), *statements]


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


_POINTS_AT_TOPIC = re.compile(
    r"(?:they|those|these|its?|that|he|she|(?:love|like|hate|adore|can't stand) (?:it|them))\b", re.IGNORECASE
)
# "Remember when I said the party was Saturday? It's moved to the 25th": what was said is only recalled.
_RECALLS = re.compile(
    r"\W*(?:(?:so|ok|hey|oh|and)\W+)*(?:(?:do )?(?:you )?(?:remember|know|recall) )?(?:when|how|that|what)? ?"
    r"(?:i|we) (?:said|told you|mentioned)\b[^?]*\?$",
    re.IGNORECASE,
)
_ANSWERS_WITH_PLACE = re.compile(rf"(?:{'|'.join(PREPOSITIONS)}) \w", re.IGNORECASE)  # "The key? Under the mat."


def _parts_of(text: str) -> list[str]:
    """Returns the sentences, apart from requests to forget in them, each with what the one before it only names.

    "He studies law now, so forget what I said about the stage" is two parts, "Peanuts. They make my face swell." is one.
    """
    result: list[str] = []
    for part in (part for sentence in sentences(text) for part in _apart_from_request(sentence)):
        topic = result[-1] if result and (_names_topic(result[-1]) or _RECALLS.match(result[-1])) else ""
        points = _POINTS_AT_TOPIC.match(part) or (has_forget_words(part) and not content_of_request(part))
        gives_value = topic.endswith("?") and (_ANSWERS_WITH_PLACE.match(part) or find_values(part))
        if topic and not part.endswith("?") and (points or gives_value):
            result[-1] += f" {part}"
        else:
            result.append(part)
    return result


def _names_topic(sentence: str) -> bool:
    """Returns whether the sentence only names something: "Peanuts.", "The long key?"."""
    if len(tokens(sentence)) > _TOPIC_WORDS:
        return False
    asks = re.search(rf"\b(?:{WH}|{AUXILIARY})\b", sentence, re.IGNORECASE)
    return not has_verb(sentence) or (sentence.endswith("?") and not asks)


def _apart_from_request(sentence: str) -> tuple[str, ...]:
    """Splits a statement from the request after it, unless both name the same."""
    match = _THEN_FORGET.match(sentence)
    if match is None:
        return (sentence,)
    named = wanted_words(match["request"])
    return (match["statement"], match["request"]) if named and not named & content(match["statement"]) else (sentence,)


def _with_statement(item: Utterance) -> list[Utterance]:
    """Splits "No, both are true: I live in Graz and in Vienna" into the request to restore and the statement."""
    request, _, statement = item.text.partition(": ")
    if item.act != "restore" or find_subject(statement) is None:
        return [item]
    return [Utterance("restore", request), Utterance("tell", statement)]


def _with_fixed_words(text: str, sense: Sense) -> Utterance | None:
    """Returns the utterance if its words alone decide its act."""
    if RESTORE.search(text):
        return Utterance("restore", text)
    if NOT_TO_MENTION.match(text):
        return Utterance("command", text)
    if target := forget_target(text, sense):
        return Utterance("forget", target)
    if statement := _to_remember(text):
        return Utterance("preference" if _STYLE.search(statement) else "tell", statement)
    if COMMAND.match(text) and not (LISTS.match(text) or re.search(r"\b(?:my|our)\b", text)):
        return Utterance("command", text)
    if _STYLE.search(text) and not text.endswith("?"):
        return Utterance("preference", text)
    return None


def _to_remember(sentence: str) -> str | None:
    """Returns what a sentence asks to remember, None if it does not."""
    match = _REMEMBER.match(sentence)
    return match["what"] if match and not sentence.endswith("?") else None


def _classified(sentence: str, message_act: Act, sense: Sense, *, alone: bool, has_question: bool) -> Utterance:
    """Returns the sentence with its act: a statement, a question, or chat."""
    if (tag := _QUESTION_TAG.search(sentence)) and not _is_small_talk(sentence):
        statement = sentence[: tag.start()].strip(" ,")
        if act_of(f"{statement}.", sense) == "tell":
            return Utterance("tell", statement)
        return Utterance("chat" if message_act == "chat" else "ask", sentence)
    act = _act_of_sentence(sentence, message_act, sense, alone=alone, has_question=has_question)
    return Utterance("tell" if act == "chat" and _gives_another_value(sentence) else act, sentence)


def _gives_another_value(sentence: str) -> bool:
    """Returns whether the sentence corrects something, though it is as short as a remark: "Sorry, Thursday."."""
    taken_back = TAKES_BACK.search(sentence)
    return taken_back is not None and not sentence.endswith("?") and bool(find_values(sentence[taken_back.end() :]))


def _act_of_sentence(sentence: str, message_act: Act, sense: Sense, *, alone: bool, has_question: bool) -> Act:
    if _is_small_talk(sentence):
        return "chat"
    says_what = _SAYS_WHAT.match(sentence)
    if (_TASTE_OR_FEAR.match(sentence) and not _MAY_ASK.search(sentence)) or (
        says_what and has_verb(says_what["clause"])
    ):
        return "tell"
    if alone and _NOTED.match(sentence) and not re.search(rf"\b{WH}\b", sentence, re.IGNORECASE):
        return "tell"
    if has_question_form(sentence):
        return "ask"
    chances = act_probabilities(sentence, sense)
    if alone and may_ask_of_somebody(sentence):
        surely_tells = chances["tell"] >= _TELLS_THOUGH_INVERTED and chances["ask"] < _ASKS_INVERTED
        return "chat" if chances["chat"] >= _TELLS_BESIDE_CHAT else "tell" if surely_tells else "ask"
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
_NOT_KNOWN = re.compile(rf"\bdon't know {WH}\b", re.IGNORECASE)  # "I don't know what to do" asks nothing


def _may_ask(sentence: str) -> bool:
    """Returns whether a sentence without a question mark may ask: by one of its words, or as it is no clause ("locker code")."""
    return _MAY_ASK.search(_NOT_KNOWN.sub("", sentence)) is not None or find_subject(sentence) is None


def _is_small_talk(sentence: str) -> bool:
    return bool(GREETING.match(sentence) or SHOWS.match(sentence))
