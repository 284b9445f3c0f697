"""Answers to questions: quotations with their date and source, and what code can count or compute from them.

What stands in quotation marks is the raw message's own words, found through the evidence. What is counted or computed is worded
as such.
"""

import re
from collections.abc import Collection, Sequence
from datetime import date

from m2a.agents.offline.claims import Claim, exclude_each_other, puts_elsewhere, share_a_frame, tell_of_different_kinds
from m2a.agents.offline.clauses import PRONOUNS, find_subject, segments
from m2a.agents.offline.dates import find_dates, number, written
from m2a.agents.offline.questions import Question
from m2a.agents.offline.relevance import Match, is_sure, rests_on, share_evidence, together
from m2a.agents.offline.said import OF_A_DAY, quoted
from m2a.agents.offline.showing import said_to_user
from m2a.agents.offline.text import content, equivalents, meets, plain, stem, stems
from m2a.agents.offline.values import amount_of
from m2a.agents.state import FollowedFact, MemoryContext, PhotoView
from m2a.memory.quotations import Quotation, quotations
from m2a.memory.withheld import FORGOTTEN
from m2a.memory.words import finished_words
from m2a.types import Concept, DateInterval, MemoryEntry, Message

DECLINED = "I don't have that in memory."
STILL_OPEN = "That was still open when you told me."
_LISTED = 8
_QUOTED = 2
_MORE = 0.2  # of the best memory's probability: what is told of the same person beside it
_A_NAME = 4  # words
_ALIKE = 24  # what says the same of other values: all languages that somebody speaks
_NEAREST = 3
_BRIEF = 45  # words that the nearest memories have together, the first of them apart
_LIKELY = 0.2  # the probability from which a memory is near though it shares no word with the question
_BESIDE = 2
_WHOLE = 400  # characters up to which the nearest message is quoted as a whole
_LOOSELY_CLOSE = 0.3  # of the best memory's probability: what is counted or told beside it
_CLOSE = 0.6  # the same for what is quoted beside it


def answer(
    question: Question,
    chosen: Sequence[MemoryEntry],
    context: MemoryContext,
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView] = (),
) -> str:
    """The answer in words, with its marks, from the chosen memories, best first; `DECLINED` where there is none.

    Of memories that exclude each other only the newest is told, and that an older one is kept.
    """
    messages = context.messages
    if not chosen:
        said = [hit.record for hit in context.hits if isinstance(hit.record, Message)]
        return _said(question, said) if said else DECLINED
    told, older = newest_of_each(chosen)
    reply = _followed_by(_answer(question, told, messages, concepts, today, recalled), _kept_too(older, messages))
    is_open = not _ASKS_OF_PLANS.search(question.text) and all(_is_open(entry.text) for entry in told)
    return f"{STILL_OPEN} {reply}" if is_open else reply


_OPEN = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|hop(?:e|es|ed|ing) (?:to|that|for)|think(?:s|ing)? (?:of|about) \w+ing|considering|"
    r"(?<!in )(?<!of )(?<!last )(?<!this )(?<!next )(?-i:may [a-z]))",
    re.IGNORECASE,
)
_ON_CONDITION = re.compile(r"\W*(?:if|unless|when|once|as|because|since|although|though)\b", re.IGNORECASE)
_ASKS_OF_PLANS = re.compile(
    r"\b(?:might|may|hop(?:e|es|ing)|think(?:s|ing)?|considering|plan(?:s|ned|ning)?|wants?|dream(?:s|ing)?|wish(?:es)?|ideas?|"
    r"will|would|going to|next|soon)\b|'ll\b",
    re.IGNORECASE,
)


def _is_open(text: str) -> bool:
    """Whether the text tells, clause by clause, only what may be: "Daniel might get a job in Braga"."""
    clauses = [text[first:last] for first, last in segments(text)]
    return _OPEN.search(clauses[0]) is not None and all(
        _OPEN.search(clause) or _ON_CONDITION.match(clause) for clause in clauses
    )


def _answer(
    question: Question,
    told: Sequence[MemoryEntry],
    messages: Sequence[Message],
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView],
) -> str:
    match question.kind.answer:
        case "counted":
            return _counted(question, told, concepts, messages)
        case "computed":
            return _computed(question, told, messages, today)
        case "shown":
            return _shown(told, messages, recalled)
        case "with photos":
            return _list(told, messages, question.names) + _photos(told[:1], recalled)
    return _list(told, messages, question.names)


def led_to(facts: Sequence[FollowedFact], messages: Sequence[Message]) -> str:
    """The value that the last of the facts gives, in a line of its own, and under it what was said, fact by fact."""
    days = {message.message_id: message.said_at.date() for message in messages}
    told = [f'On {_day(days[fact.message_id])} you told me: "{fact.sentence}"' for fact in facts]
    return "\n".join([_upper(facts[-1].value), *dict.fromkeys(told)])


def newest_of_each(chosen: Sequence[MemoryEntry]) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
    """The memories that hold, and those that a newer one of them excludes; each in the order given.

    A correction in the words of what it corrects, but for the value, tells all of it.
    """
    excluded = [entry for entry in chosen if any(_takes_its_place(other, entry) for other in chosen)]
    return [entry for entry in chosen if entry not in excluded], excluded


def _takes_its_place(newer: MemoryEntry, older: MemoryEntry) -> bool:
    if _age_of(newer) <= _age_of(older):
        return False
    tied = newer.corrects == older.memory_id
    elsewhere = not tied and puts_elsewhere(older.text, newer.text)
    if elsewhere or (not tied and exclude_each_other(older.text, newer.text)):
        return True
    if Claim.of(older.text).kinds - Claim.of(newer.text).kinds:  # "on Wednesdays now" says nothing of "at 4"
        return False
    return tied and (exclude_each_other(older.text, newer.text) or share_a_frame(older.text, newer.text))


def _age_of(entry: MemoryEntry) -> tuple[int, int]:
    return max((last for _, last in entry.evidence_ids), default=0), entry.memory_id


def _kept_too(older: Sequence[MemoryEntry], messages: Sequence[Message]) -> list[str]:
    """That older statements of the same are kept."""
    if not older:
        return []
    if len(older) == 1:
        return [f"I also keep what you said of it before, on {_told_on(older[0], messages)}."]
    return [f"I also keep {len(older)} older statements about it."]


def _said(question: Question, messages: Sequence[Message]) -> str:
    """What was said, by the messages: it is in no memory, or asked for by its day."""
    if question.kind.answer == "said on the day":
        days = list(dict.fromkeys(m.said_at.date() for m in messages))
        head = (
            "On {} you said:" if len(messages) < OF_A_DAY else "The last that you told me on {}:"
        )  # there may be more
        return "\n".join(
            "\n".join([head.format(_day(day)), *(f'- "{m.text.strip()}"' for m in messages if m.said_at.date() == day)])
            for day in days
        )
    parts = [f'on {_day(m.said_at.date())} you said: "{quoted(question.text, m)}"' for m in messages]
    return _upper(", and ".join(parts))


def nearest(question: Question, found: Sequence[MemoryEntry], context: MemoryContext) -> str:
    """What comes near to an answer and may be none, so that nothing is read into it that was not said.

    Where that is no memory, it is what was said.
    """
    if not found:
        parts = []
        for said in (hit.record for hit in context.hits if isinstance(hit.record, Message)):
            words = said.text.strip() if len(said.text) <= _WHOLE else quoted(question.text, said)
            parts.append(f'on {_day(said.said_at.date())} you said: "{words}"')
        return f"The nearest that I find in our conversations: {', and '.join(parts)}"
    told, older = newest_of_each(found)
    kept = _kept_too(older, context.messages)
    groups = _told_once(together(told), context.messages)
    if len(groups) == 1:
        (entry, *corrections), beside = groups[0]
        quoted_first = quote(entry, context.messages, corrections, beside, question.names)
        return _followed_by(f"The nearest that I have: {quoted_first}", kept)
    return _followed_by(f"The nearest that I have:\n{_lines(told, context.messages, question.names)}", kept)


def selected(question: Question, found: Sequence[Match]) -> list[MemoryEntry]:
    """Of the memories found, best first, those that the answer will rest on, each followed by what corrects it.

    Of what answers about as well, and of what is only near, the order is that of the search.
    """
    if not found:
        return []
    if not is_sure(found):
        return _with_corrections(_nearest_of(question, found))
    best = found[0].score
    if question.kind.answer in ("counted", "with photos", "shown"):
        return _with_corrections([match for match in found if match.score >= _LOOSELY_CLOSE * best][:_LISTED])
    close = [match for match in found if match.score >= _CLOSE * best][:_QUOTED]
    if question.kind.answer == "quoted":
        close.sort(key=_place)
    alike = [match for match in found if _is_alike(match, found[0])]
    alike += [match for match in found[1:] if _is_more_of_the_same(question, match, found[0])][:_QUOTED]
    told = _with_its_message(close, found)
    if all(_is_alike(match, found[0]) for match in told):  # of what says the same the newest comes first
        told.sort(key=lambda match: _age_of(match.entry)[0], reverse=True)
    return _with_corrections(list(dict.fromkeys([*told, *alike]))[:_ALIKE])


def _nearest_of(question: Question, found: Sequence[Match]) -> list[Match]:
    """The first that the search found of those that may speak of what is asked, and what says the same of other values."""
    found = sorted(_of_the_named(question, found), key=_place)
    close = [match for match in found if match.score >= _LIKELY or _speaks_of(question, match)][:_NEAREST]
    brief = [at for at in range(len(close)) if sum(len(one.entry.text.split()) for one in close[: at + 1]) <= _BRIEF]
    alike = [match for match in found if _is_alike(match, close[0])] if close else []
    return list(dict.fromkeys([*close[:1], *(close[at] for at in brief), *alike]))


def _place(match: Match) -> int:
    return match.place


def _is_alike(match: Match, best: Match) -> bool:
    """Whether it says another value of the same: "I am allergic to wasps" beside "to nuts", and not "I am tired"."""
    mine, other = match.entry.text, best.entry.text
    shares = bool(content(mine) & content(other)) or exclude_each_other(mine, other)
    return shares and share_a_frame(mine, other) and not tell_of_different_kinds(mine, other)


def _of_the_named(question: Question, found: Sequence[Match]) -> Sequence[Match]:
    """Those that speak of whom the question names, where any does: what is near but of others helps nobody."""
    names = {stem(word) for name in question.names for word in name.split()}
    return [match for match in found if names & set(stems(match.entry.text))] or found


def _speaks_of(question: Question, match: Match) -> bool:
    """Whether it holds a word of the question, or one that says the same."""
    said = frozenset(word for entry in (match.entry, *match.corrections) for word in stems(entry.text))
    return any(meets(stem(word), said) for word in question.words)


def _is_more_of_the_same(question: Question, match: Match, best: Match) -> bool:
    """Whether it tells, less surely, of those by name whom the question and the best memory name: a second allergy."""
    names = {stem(word) for name in question.names for word in name.split()}
    both = names & set(stems(match.entry.text)) & set(stems(best.entry.text))
    return bool(both) and match.score >= _MORE * best.score


def _with_its_message(chosen: Sequence[Match], found: Sequence[Match]) -> list[Match]:
    """The best, what was said in one breath with it, and the rest: half of an answer often stands in the next sentence."""
    best = chosen[0]
    beside = [match for match in found if match is not best and share_evidence(match.entry, best.entry)]
    together = [best, *beside[:_BESIDE]]
    return [*together, *(match for match in chosen if match not in together)]


def _with_corrections(chosen: Sequence[Match]) -> list[MemoryEntry]:
    return list(dict.fromkeys(entry for match in chosen for entry in (match.entry, *match.corrections)))


def quote(
    entry: MemoryEntry,
    messages: Sequence[Message],
    corrections: Sequence[MemoryEntry] = (),
    beside: Sequence[MemoryEntry] = (),
    names: Collection[str] = (),
) -> str:
    """`On 12 March 2026 you told me: "…"` with marks that cite it and those told `beside` it.

    What was corrected is told with it, in the order of `_in_order`.
    """
    (first, _), *others = _in_order(entry, corrections, names)
    told = f"{_upper(_quoted(first, messages, 'told me'))} {_marks(first, beside if first is entry else ())}"
    return _followed_by(told, _others(others, entry, messages, beside))


def _in_order(
    entry: MemoryEntry, corrections: Sequence[MemoryEntry], names: Collection[str]
) -> list[tuple[MemoryEntry, str]]:
    """A memory and what corrects it, as they are told, each but the first with the words that introduce it.

    The newest comes first, since it holds; unless it is of somebody else of the memory than the `names` asked about: "Bas is
    eight" says nothing of Noor in "Bas is seven and Noor is four".
    """
    asked = content(" ".join(names)) & content(entry.text)
    subject = Claim.of(corrections[-1].text).subject_names if corrections else frozenset()
    if asked and subject and not asked & subject:
        return [(entry, ""), *((one, "Since then") for one in corrections)]
    return [(one, "Before that") for one in reversed((entry, *corrections))]


def _followed_by(told: str, more: Sequence[str]) -> str:
    """What was told, with a full stop before its last marks where more is said after it, and that."""
    if not more:
        return told
    marks = _LAST_MARKS.search(told)
    words = told[: marks.start()] if marks is not None else told
    end = "" if _ENDS.search(words) else "."
    return " ".join([f"{words}{end}{told[len(words) :]}", *more])


_LAST_MARKS = re.compile(r"(?: \[(?:memory|photo) \d+\])+$")
_ENDS = re.compile(r"[.!?…]\W*$")


def _others(
    others: Sequence[tuple[MemoryEntry, str]],
    entry: MemoryEntry,
    messages: Sequence[Message],
    beside: Sequence[MemoryEntry],
) -> list[str]:
    """What is told after the first of a memory and its corrections; `beside` is told with `entry`."""
    return [
        f"{introduced}, {_quoted(one, messages, 'told me')} {_marks(one, beside if one is entry else ())}"
        for one, introduced in others
    ]


def _quoted(entry: MemoryEntry, messages: Sequence[Message], verb: str) -> str:
    """The user's own words under the memory, each with its day; and the day that they mean, where they name it otherwise."""
    found = _words_of(entry, messages)
    if not found:
        return f"on {_told_on(entry, messages)} you {verb} something that I cannot quote"
    parts: list[str] = []
    last_day: date | None = None
    verb = f"{verb} about {who}" if (who := _who_is_meant(entry, found)) else verb
    for quotation in found:
        day = quotation.message.said_at.date()
        words = f'"{quotation.text}"'
        parts.append(words if day == last_day else f"on {_day(day)} you {verb}: {words}")
        last_day = day
    meant = [day for day in _days_meant(entry) if not any(day in one.text for one in found)]
    meaning = f" (meaning {', '.join(dict.fromkeys(meant))})" if meant else ""
    return " and ".join(parts) + meaning


def _days_meant(entry: MemoryEntry) -> list[str]:
    """The dates put beside the user's words; for one within which the memory names another, that: "next month, on the 3rd"."""
    named = [one.interval for one in find_dates(entry.text, entry.recorded_at.date(), past=False)]
    days = []
    for meant in _DATE_MEANT.findall(entry.text):
        whole = next((one.interval for one in find_dates(meant, entry.recorded_at.date(), past=False)), None)
        within = [
            one for one in named if whole and one != whole and whole.first <= one.first and one.last <= whole.last
        ]
        days.append(written(min(within, key=lambda one: one.last - one.first)) if within else meant)
    return days


_DATE_MEANT = re.compile(r"\(((?:\d{1,2} )?(?:[A-Z][a-z]+ )?\d{4}(?: to [^()]*\d{4})?)\)")


_NOT_TOLD = re.compile(re.escape(FORGOTTEN) + r"\W*(?:(?:and|but|so)\W+)?$", re.IGNORECASE)
# What was forgotten, with what joined it to the rest, which joins nothing any more.
_FORGOTTEN_CLAUSE = re.compile(
    r"(?:[\s,;:–—-]+(?:and|but|or|so|because|since|although|though|while|und|aber|oder|et|mais|y|pero|e|ma)\b){0,2}"
    r"[\s,;:–—-]*" + re.escape(FORGOTTEN) + r"\W*(?:(?:and|but|or|so)\b\W*)?",
    re.IGNORECASE,
)
_LEANS = re.compile(r"\W*(?:he|she|they|his|her|their)\b", re.IGNORECASE)


def _who_is_meant(entry: MemoryEntry, quoted_of_it: Sequence[Quotation]) -> str:
    """Whom the quotation is about that begins with "she", or after words that are not told: by the memory, which names them.

    "" where the quotation begins otherwise.
    """
    if not quoted_of_it or not (_LEANS.match(quoted_of_it[0].text) or _follows_what_is_not_told(quoted_of_it[0])):
        return ""
    subject = find_subject(entry.text)
    if subject is None or subject.text.lower() in PRONOUNS or len(subject.text.split()) > _A_NAME:
        return ""
    if _LEANS.match(subject.text):
        return ""
    return said_to_user(re.sub(r"'s$", "", subject.text))


def _follows_what_is_not_told(quotation: Quotation) -> bool:
    before, found, _ = quotation.message.text.partition(quotation.text)
    return bool(found) and quotation.text[:1].islower() and _NOT_TOLD.search(before) is not None


def _words_of(entry: MemoryEntry, messages: Sequence[Message]) -> list[Quotation]:
    """What is quoted of a memory: of words said twice the newer, and all of a short message where it is told in other words."""
    found = quotations(entry, messages)
    if not found:
        mine = [m for m in messages if m.role == "user" and rests_on(entry, [m.message_id]) and m.text.strip()]
        found = [Quotation(message, message.text.strip()) for message in mine[-1:]]
    found = [Quotation(one.message, piece) for one in found for piece in _what_stays(one.text)]
    words = [set(finished_words(quotation.text)) for quotation in found]
    return [
        quotation
        for index, quotation in enumerate(found)
        if not any(words[index] <= later for later in words[index + 1 :])
    ]


def _what_stays(quoted: str) -> list[str]:
    """The pieces of a quotation out of which words were forgotten."""
    if FORGOTTEN not in quoted:
        return [quoted]
    pieces = [piece.strip(" \n,;:-") for piece in _FORGOTTEN_CLAUSE.split(quoted)]
    return [piece for piece in pieces if len(piece.split()) > 1]


def _list(found: Sequence[MemoryEntry], messages: Sequence[Message], names: Collection[str] = ()) -> str:
    groups = _told_once(together(found), messages)
    if len(groups) == 1:
        (entry, *corrections), beside = groups[0]
        return quote(entry, messages, corrections, beside, names)
    return f"You told me:\n{_lines(found, messages, names)}"


def _lines(chosen: Sequence[MemoryEntry], messages: Sequence[Message], names: Collection[str] = ()) -> str:
    lines = []
    for (entry, *corrections), beside in _told_once(together(chosen), messages):
        (first, _), *others = _in_order(entry, corrections, names)
        found = _words_of(first, messages)
        about = f"About {who}: " if (who := _who_is_meant(first, found)) else ""
        words = " and ".join(f'"{quotation.text}"' for quotation in found)
        line = f"- {about}{words} ({_told_on(first, messages)}) {_marks(first, beside if first is entry else ())}"
        lines.append(_followed_by(line, _others(others, entry, messages, beside)))
    return "\n".join(lines)


def _told_once(
    groups: Sequence[list[MemoryEntry]], messages: Sequence[Message]
) -> list[tuple[list[MemoryEntry], list[MemoryEntry]]]:
    """Each group, and the memories that are told with it: uncorrected ones whose words stand among those it quotes."""
    words = [[(one.message.message_id, one.text) for one in _words_of(group[0], messages)] for group in groups]
    told_with: dict[int, int] = {}
    for index, group in enumerate(groups):
        holders = (
            other
            for other in range(len(groups))
            if other not in (index, *told_with) and words[index] and _are_among(words[index], words[other])
        )
        if len(group) == 1 and (holder := next(holders, None)) is not None:
            told_with[index] = holder
    return [
        (group, [groups[other][0] for other, holder in told_with.items() if holder == index])
        for index, group in enumerate(groups)
        if index not in told_with
    ]


def _are_among(words: Sequence[tuple[int, str]], others: Sequence[tuple[int, str]]) -> bool:
    return all(any(message == other and text in longer for other, longer in others) for message, text in words)


def _marks(entry: MemoryEntry, beside: Sequence[MemoryEntry]) -> str:
    return " ".join(f"[memory {one.memory_id}]" for one in (entry, *beside))


def _told_on(entry: MemoryEntry, messages: Sequence[Message]) -> str:
    """The day of the user's newest message under the memory."""
    said = [
        message.said_at
        for message in messages
        if message.role == "user" and any(first <= message.message_id <= last for first, last in entry.evidence_ids)
    ]
    day = max(said, default=entry.recorded_at).date()
    return written(DateInterval(day, day))


def _counted(
    question: Question, found: Sequence[MemoryEntry], concepts: Sequence[Concept], messages: Sequence[Message]
) -> str:
    """The sum over what the memories count or name: two cats and a tortoise are three pets."""
    nouns = set(equivalents(stem(question.noun)))
    species = {breed: noun for noun in nouns for breed in equivalents(noun) - nouns}
    per_noun: dict[str, int] = {}
    names: dict[str, set[int]] = {}
    for concept in concepts:
        for alias in concept.aliases:
            word = next((one for one in stems(alias) if one in nouns), None)
            if word is not None and any(concept.concept_id in match.concept_ids for match in found):
                names.setdefault(word, set()).add(concept.concept_id)
    for match in found:
        said = list(dict.fromkeys(one for one in stems(match.text) if one in nouns))
        if _TWIN in said:  # "the twins, our two boys" are counted once
            per_noun[_TWIN] = 2
            said = []
        said = said or [one for one in stems(match.text) if one in species][:1]
        for mentioned in said:
            word = species.get(mentioned, mentioned)
            count = amount_of(match.text, {mentioned})
            if count is not None:
                per_noun[word] = max(per_noun.get(word, 0), count)
            elif word not in per_noun and _is_owned(match.text, mentioned):
                per_noun[word] = 1
    for word, ids in names.items():
        if _TWIN in per_noun and ids <= names.get(_TWIN, set()) and word != _TWIN:
            continue
        per_noun[word] = max(per_noun.get(word, 0), len(ids))
    total = sum(per_noun.values())
    listed = _list(found[:_LISTED], messages)
    if len(found) == 1 and len(per_noun) == 1 and not names:
        return listed
    if not total:
        return listed
    what = next((word for word in plain(question.text).split() if word.strip("?,.").lower() == question.noun), "")
    counted = f"{total} {what.strip('?')}".strip() if total > 1 else str(total)
    return f"{counted} by my count. {listed}"


_TWIN = stem("twin")


def _is_owned(text: str, word: str) -> bool:
    return bool(
        re.search(
            rf"\b(?:my|our|us|have|got|adopted|bought|a|an|her|his)\b[^.]*\b{re.escape(word[:4])}|"
            rf"\b(?-i:[A-Z])\w+,? (?:the|our|my|a) {re.escape(word[:4])}",  # "Pickle the tortoise"
            text,
            re.IGNORECASE,
        )
    )


def _computed(question: Question, found: Sequence[MemoryEntry], messages: Sequence[Message], today: date) -> str:
    groups = together(found)
    best, *corrections = groups[0]
    if question.kind.name == "age":
        age, quoted = _age(best, messages, today), quote(best, messages, corrections, names=question.names)
        return f"{age} {quoted}" if age and not corrections else quoted
    if question.kind.name == "duration":  # it has begun: the wedding, and not the next anniversary
        begun = [group for group in groups if (when := _holds(group)) and when.first <= today]
        best, *corrections = begun[0] if begun else groups[0]
    quoted, interval = quote(best, messages, corrections, names=question.names), _holds([best, *corrections])
    if interval is None:
        return quoted
    if question.kind.name == "duration" and question.within and interval.first < today < question.within.last:
        return f"{_span_to(_anniversary(interval, question.within), interval, question.unit)}. {quoted}"
    if question.kind.name == "duration" and interval.first > today:
        return quoted
    if interval.first > today:
        days = (interval.first - today).days
        span = _span(days, interval.first, today, question.unit)
        return f"{span} from today ({_day(today)}) to {_day(interval.first)}. {quoted}"
    days = (today - interval.first).days
    if days == 0:
        return f"That is today. {quoted}"
    if question.kind.name == "until":
        return f"That was {_span(days, interval.first, today, question.unit)} ago. {quoted}"
    about = "" if interval.first == interval.last else "about "
    since = "since then" if question.kind.name == "duration" else "ago"
    span = _span(days, interval.first, today, question.unit)
    return _upper(f"{about}{span} {since}, counted to today ({_day(today)}). {quoted}")


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _day(day: date) -> str:
    return written(DateInterval(day, day))


def _happened(entry: MemoryEntry) -> DateInterval | None:
    return entry.happened or _first_date(entry)


def _holds(group: Sequence[MemoryEntry]) -> DateInterval | None:
    """When it is by the newest that says so, of a memory and what corrects it."""
    return next((when for entry in reversed(group) if (when := _happened(entry))), None)


def _anniversary(interval: DateInterval, within: DateInterval) -> date:
    """The day to count to where "this November" is asked of: that of the year, where it lies there; else the last."""
    day = interval.first
    if interval.first == interval.last and (day.month, day.day) != (2, 29):
        for year in (within.first.year, within.last.year):
            if within.first <= day.replace(year=year) <= within.last:
                return day.replace(year=year)
    return within.last


def _span_to(until: date, interval: DateInterval, unit: str) -> str:
    if interval.first == interval.last:
        return f"{_span((until - interval.first).days, interval.first, until, unit)} on {_day(until)}"
    return f"About {_count(until.year - interval.first.year, 'year')} by {_day(until)}"


def _first_date(entry: MemoryEntry) -> DateInterval | None:
    found = find_dates(entry.text, entry.recorded_at.date(), past=False)
    return found[0].interval if found else None


def _span(days: int, first: date, second: date, unit: str) -> str:
    """In the unit asked for, and beside it the others that one thinks in: "77 days (11 weeks, or 2 months)"."""
    earlier, later = min(first, second), max(first, second)
    months = (later.year - earlier.year) * 12 + later.month - earlier.month - (later.day < earlier.day)
    years, rest_months = divmod(months, 12)
    weeks, rest_days = divmod(days, 7)
    told = {"day": _count(days, "day")}
    if days >= 14 or unit == "week":
        told["week"] = _counts((weeks, "week"), (rest_days, "day"))
    if months:
        told["year" if years else "month"] = _counts((years, "year"), (rest_months, "month"))
    first_told = told.pop(unit, None) or told.pop("day")
    return first_told + (f" ({', or '.join(told.values())})" if told else "")


def _counts(*counted: tuple[int, str]) -> str:
    return " and ".join(_count(count, name) for count, name in counted if count) or _count(*counted[0])


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _age(entry: MemoryEntry, messages: Sequence[Message], today: date) -> str:
    """How old by now: from the year of birth, or from the age on a day that is known."""
    text = plain(entry.text)
    born = re.search(r"\bborn\b.*?\b((?:19|20)\d\d)\b", text)
    if born:
        interval = entry.happened
        if interval is not None and interval.first == interval.last:
            day = interval.first
            return f"{today.year - day.year - ((today.month, today.day) < (day.month, day.day))} years old today."
        years = today.year - int(born[1])
        return f"{years - 1} or {years} years old, counted from {born[1]}."
    turned = re.search(r"\bturn(?:s|ed|ing)? (\w+(?:-\w+)?)", text)
    if turned and entry.happened and entry.happened.first <= today and (age := number(turned[1])):
        day = entry.happened.first
        passed = today.year - day.year - ((today.month, today.day) < (day.month, day.day))
        return f"{age + passed} years old by now."
    return ""


def _shown(found: Sequence[MemoryEntry], messages: Sequence[Message], recalled: Sequence[PhotoView]) -> str:
    chosen = [
        match for match in found if any(view.memory and view.memory.memory_id == match.memory_id for view in recalled)
    ]
    if not chosen:
        return f"I have no photo of that. {_list(found[:1], messages)}"
    photos = _photos(chosen[:1], recalled)
    here = "Here they are" if photos.count("[photo") > 1 else "Here it is"
    return f"{here}. {quote(chosen[0], messages)}{photos}"


def _photos(found: Sequence[MemoryEntry], recalled: Sequence[PhotoView]) -> str:
    shown = {match.memory_id for match in found}
    marks = [
        f" [photo {view.number}]" for view in recalled if view.memory is not None and view.memory.memory_id in shown
    ]
    return "".join(marks)
