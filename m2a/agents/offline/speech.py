"""What a sentence does: state, ask, correct, ask to remember or forget, tell the assistant what to do, or chat."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from m2a.agents.offline import cues
from m2a.agents.offline.clauses import AUXILIARIES, PRONOUNS, SUBORDINATORS, find_subject, is_verb, sentences
from m2a.agents.offline.dates import find_dates
from m2a.agents.offline.text import plain, tokens
from m2a.memory.words import finished_words

Act = Literal[
    "statement", "question", "correction", "remember", "forget", "preference", "command", "hypothetical", "chat"
]


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
    stripped = re.sub(cues.OPENER, "", sentence.strip(), flags=re.IGNORECASE)
    return stripped or sentence.strip()


def strip_correction(sentence: str) -> str:
    """The sentence without "wait no," and the like."""
    return cues.CORRECTION_OPENER.sub("", sentence.strip()).strip() or sentence.strip()


def is_question(sentence: str) -> bool:
    """By its mark, or by its word order where the mark was left out."""
    text = strip_opener(sentence)
    if text.endswith("?"):
        return True
    words = [token.lower for token in tokens(text)]
    if not words:
        return False
    if words[0] in ("what", "which", "whose", "how") and any(
        words[at] in AUXILIARIES and _is_subject_word(words[at + 1]) for at in range(1, min(5, len(words) - 1))
    ):
        return True
    if words[0] in cues.WH or words[0] in ("what's", "who's"):
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


def _labelled(text: str) -> Utterance | None:
    if (owned := cues.OWNED_LABEL.match(text)) and not find_subject(owned["value"].split(",")[0]):
        return Utterance("statement", f"{owned['what']} is {owned['value']}", text)
    match = cues.LABEL.match(text)
    if (
        match is None
        or find_subject(match["value"])
        or find_subject(match["noun"])
        or match["noun"].split()[-1].lower() in cues.NO_LABELS
    ):
        return None
    body = f"{match['whose'] or 'my '}{match['noun'].lower()} is {match['value']}"
    return Utterance("correction" if match["fresh"] else "statement", body, text)


def _read(sentence: str) -> list[Utterance]:
    text = strip_opener(sentence)
    if cues.SAYING.match(text) and not text.endswith("?") and not _tells_fact(text):
        return [Utterance("chat", text, sentence)]
    if not text.endswith("?") and (wrong := cues.WRONG_ABOUT.match(sentence)):
        return [Utterance("correction", _of_subject(wrong["rest"], wrong["about"]), sentence)]
    if tail := cues.REMEMBER_TAIL.search(text):
        told = text[: tail.start()].strip(" ,")
        if find_subject(told):
            return [Utterance("preference" if cues.STYLE.search(told) else "remember", told, sentence)]
    if not text.endswith("?") and (labelled := _labelled(text)):
        return [labelled]
    if tag := cues.TAG.search(text):
        body = text[: tag.start()]
        known = cues.YOU_KNOW.match(body)
        if known:
            rest = body[known.end() :].strip(" ,.")
            return [Utterance("statement", rest, sentence)] if rest else []
        if (
            cues.CHAT.match(body)
            or not find_subject(body)
            or re.match(r"(?:do|did|have|you|your)\b", body, re.IGNORECASE)
        ):
            return [Utterance("question" if not cues.CHAT.match(body) else "chat", text, sentence)]
        return [Utterance("statement", body.strip(" ,"), sentence)]
    if text.endswith("?"):
        known = cues.YOU_KNOW.match(text)
        if (
            known
            and text.lower().startswith(("you know", "you remember", "remember"))
            and not re.search(r"\bwhat|when|where|who|how\b", text)
        ):
            return [Utterance("statement", text[known.end() :].strip(" ?"), sentence)]
        chat = re.match(
            r"^(?:how are (?:you|things)|how(?:'s| is) (?:it going|life|everything|your)|what(?:'s| is) (?:up|"
            r"new|going on)|are you (?:there|ok|okay|well|awake|ready|still)|"
            r"how have you|how do you do|how was your|did you (?:sleep|miss|have)|you there|all (?:good|well)|"
            r"isn't it|ready)\b",
            text,
            re.IGNORECASE,
        )
        return [Utterance("chat" if chat or _is_greeting_question(text) else "question", text, sentence)]
    if match := cues.REMEMBER.match(text):
        return [
            Utterance("preference" if cues.STYLE.search(match["what"]) else "remember", match["what"].strip(), sentence)
        ]
    if cues.STYLE.search(text) and not is_question(text):
        return [Utterance("preference", text, sentence)]
    if (
        (match := cues.FORGET.match(text))
        and cues.FORGET_OBJECT.match(match["what"])
        and not re.match(r"(?:scratch|forget|ignore|strike) (?:that|it|this)\b[\s,.:-]+\w", text, re.IGNORECASE)
    ):
        return _forget(match["what"].strip(), text, sentence)
    if cues.ASKING.match(text) or is_question(text):
        return [Utterance("question", text, sentence)]
    opener = cues.CORRECTION_OPENER.match(sentence)
    if opener and cues.STRONG_OPENER.search(opener.group()):
        rest = strip_correction(sentence)
        if is_question(rest):
            return [Utterance("question", rest, sentence)]
        if re.search(r"\w", rest) and rest != sentence.strip() and not (cues.CHAT.match(rest) and not has_value(rest)):
            return [Utterance("correction", rest, sentence)]
        if not cues.CHAT.match(sentence) and re.search(r"\w{3}", rest) and rest != sentence.strip():
            return [Utterance("correction", rest, sentence)]
    if cues.CHAT.match(text) and not _tells_fact(text):
        return [Utterance("chat", text, sentence)]
    if (cues.REMARK.match(text) or cues.VAGUE.match(text)) and not has_number_or_name(text):
        return [Utterance("chat", text, sentence)]
    if cues.HYPOTHETICAL.match(text):
        return [Utterance("hypothetical", text, sentence)]
    if cues.COMMAND.match(text) and not find_subject(text.split(" ", 1)[0]) and not _names_its_subject(text):
        return [Utterance("command", text, sentence)]
    if cues.FRAGMENT.search(text) and len(tokens(text)) <= 9 and not find_subject(text):
        return [Utterance("correction", text, sentence)]
    if not _states(text) and not _is_appointment(text):
        return [Utterance("chat", text, sentence)]
    if cues.CORRECTION_ANYWHERE.search(text):
        return [Utterance("correction", text, sentence)]
    return [Utterance("statement", text, sentence)]


def _is_appointment(text: str) -> bool:
    """What stands in a diary: "Dentist on Friday at 3:30", "Dinner with Ana tomorrow"."""
    opening = text.split()[0].strip(",.!") if text.split() else ""
    dates = find_dates(text, date(2000, 1, 1), past=False)
    return len(tokens(text)) >= 3 and bool(finished_words(opening)) and bool(dates) and dates[0].start > 0


def _names_its_subject(text: str) -> bool:
    """A noun that looks like an order: "Book club meets at Greta's", "Plan B is the bus"."""
    subject = find_subject(text)
    words = subject.text.split() if subject else []
    return bool(subject and subject.start == 0 and 2 <= len(words) <= 3) and not _is_subject_word(words[1].lower())


def _of_subject(text: str, subject: str) -> str:
    """The text with its first pronoun replaced by the subject: "her PhD is in oceanography" is Priya's."""
    owner = f"{subject}'" if subject.endswith("s") else f"{subject}'s"
    text, done = re.subn(r"^(?:his|her|its|their)\b(?= \w)", owner, text, count=1, flags=re.IGNORECASE)
    return text if done else re.sub(r"^(?:he|she|it|they)\b", subject, text, count=1, flags=re.IGNORECASE)


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
                r"(?:are|do|can|could|will|would|have|did|who|what|how|where|were) (?:are |is |do |can )?(?:you|"
                r"your)\b",
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
    return len(rest) == 2 and len(tokens(rest[1])) >= 4 and bool(find_subject(rest[1])) and not cues.CHAT.match(rest[1])


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
    ) or (len(words) >= 3 and bool(re.search(r"\b(?:my|our|i)\b", text, re.IGNORECASE)))
