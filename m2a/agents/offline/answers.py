"""Answers to questions: quotations with their date and source, and what code can count or compute from them.

Text in quotation marks is copied from the raw messages that the memory cites. What is counted or computed is worded as such.
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
_MAX_LISTED = 8
_MAX_QUOTED = 2
_MORE_OF_PERSON = 0.2  # the share of the best probability from which another memory of the same person is quoted too
_NAME_WORDS = 4  # a subject with more words is no name
_MAX_ALIKE = 24  # memories that give other values of the same: all languages that somebody speaks
_MAX_NEAREST = 3
_NEAREST_WORDS = 45  # the most words that the nearest memories have together; the first is quoted however long it is
_MIN_NEAR = 0.2  # the probability from which a memory is near even if it shares no word with the question
_MAX_BESIDE = 2
_WHOLE_MESSAGE = 400  # characters up to which the nearest message is quoted as a whole
_LOOSELY_CLOSE = 0.3  # the share of the best probability from which another memory is counted or listed too
_CLOSE = 0.6  # the same for one that is quoted


def answer(
    question: Question,
    chosen: Sequence[MemoryEntry],
    context: MemoryContext,
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView] = (),
) -> str:
    """Returns the answer with its citation marks from the chosen memories, best first; `DECLINED` if there is nothing.

    Of memories that exclude each other only the newest is quoted, with a note that older ones are kept.
    """
    messages = context.messages
    if not chosen:
        found = [hit.record for hit in context.hits if isinstance(hit.record, Message)]
        return _quoted_messages(question, found) if found else DECLINED
    current, older = newest_of_each(chosen)
    reply = _followed_by(_answer(question, current, messages, concepts, today, recalled), _older_notes(older, messages))
    is_open = not _ASKS_OF_PLANS.search(question.text) and all(_is_open(entry.text) for entry in current)
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
    """Returns whether every clause of the text is about something uncertain: "Daniel might get a job in Braga"."""
    clauses = [text[first:last] for first, last in segments(text)]
    return _OPEN.search(clauses[0]) is not None and all(
        _OPEN.search(clause) or _ON_CONDITION.match(clause) for clause in clauses
    )


def _answer(
    question: Question,
    entries: Sequence[MemoryEntry],
    messages: Sequence[Message],
    concepts: Sequence[Concept],
    today: date,
    recalled: Sequence[PhotoView],
) -> str:
    match question.kind.answer:
        case "counted":
            return _counted(question, entries, concepts, messages)
        case "computed":
            return _computed(question, entries, messages, today)
        case "shown":
            return _shown(entries, messages, recalled)
        case "with photos":
            return _list(entries, messages, question.names) + _photos(entries[:1], recalled)
    return _list(entries, messages, question.names)


def led_to(facts: Sequence[FollowedFact], messages: Sequence[Message]) -> str:
    """Returns the value of the last fact on a line of its own, followed by a quotation for each fact."""
    days = {message.message_id: message.said_at.date() for message in messages}
    quotations = [f'On {_day(days[fact.message_id])} you told me: "{fact.sentence}"' for fact in facts]
    return "\n".join([_upper(facts[-1].value), *dict.fromkeys(quotations)])


def newest_of_each(chosen: Sequence[MemoryEntry]) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
    """Returns the memories that hold, and those that a newer one supersedes, both in the order given.

    A correction that repeats the words of the memory apart from the value restates all of it.
    """
    excluded = [entry for entry in chosen if any(_takes_its_place(other, entry) for other in chosen)]
    return [entry for entry in chosen if entry not in excluded], excluded


def _takes_its_place(newer: MemoryEntry, older: MemoryEntry) -> bool:
    if _age_of(newer) <= _age_of(older):
        return False
    is_correction = newer.corrects == older.memory_id
    is_elsewhere = not is_correction and puts_elsewhere(older.text, newer.text)
    if is_elsewhere or (not is_correction and exclude_each_other(older.text, newer.text)):
        return True
    if Claim.of(older.text).kinds - Claim.of(newer.text).kinds:  # "on Wednesdays now" says nothing about "at 4"
        return False
    return is_correction and (exclude_each_other(older.text, newer.text) or share_a_frame(older.text, newer.text))


def _age_of(entry: MemoryEntry) -> tuple[int, int]:
    return max((last for _, last in entry.evidence_ids), default=0), entry.memory_id


def _older_notes(older: Sequence[MemoryEntry], messages: Sequence[Message]) -> list[str]:
    """Returns a note that older statements about the same are kept, if there are any."""
    if not older:
        return []
    if len(older) == 1:
        return [f"I also keep what you said of it before, on {_day_told(older[0], messages)}."]
    return [f"I also keep {len(older)} older statements about it."]


def _quoted_messages(question: Question, messages: Sequence[Message]) -> str:
    """Returns quotations of the messages, for what is in no memory or is asked for by its day."""
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


def nearest(question: Question, entries: Sequence[MemoryEntry], context: MemoryContext) -> str:
    """Returns quotations of the nearest memories, or else messages, worded as something that may not be an answer."""
    if not entries:
        parts = []
        for message in (hit.record for hit in context.hits if isinstance(hit.record, Message)):
            words = message.text.strip() if len(message.text) <= _WHOLE_MESSAGE else quoted(question.text, message)
            parts.append(f'on {_day(message.said_at.date())} you said: "{words}"')
        return f"The nearest that I find in our conversations: {', and '.join(parts)}"
    current, older = newest_of_each(entries)
    notes = _older_notes(older, context.messages)
    groups = _told_once(together(current), context.messages)
    if len(groups) == 1:
        (entry, *corrections), beside = groups[0]
        quotation = quote(entry, context.messages, corrections, beside, question.names)
        return _followed_by(f"The nearest that I have: {quotation}", notes)
    return _followed_by(f"The nearest that I have:\n{_lines(current, context.messages, question.names)}", notes)


def selected(question: Question, matches: Sequence[Match]) -> list[MemoryEntry]:
    """Returns the memories that the answer rests on, each followed by its corrections. `matches` has the best first.

    Memories that answer about equally well, or are only near, keep the order of the search.
    """
    if not matches:
        return []
    if not is_sure(matches):
        return _with_corrections(_nearest_of(question, matches))
    best = matches[0].score
    if question.kind.answer in ("counted", "with photos", "shown"):
        return _with_corrections([match for match in matches if match.score >= _LOOSELY_CLOSE * best][:_MAX_LISTED])
    close = [match for match in matches if match.score >= _CLOSE * best][:_MAX_QUOTED]
    if question.kind.answer == "quoted":
        close.sort(key=_place)
    alike = [match for match in matches if _is_alike(match, matches[0])]
    alike += [match for match in matches[1:] if _is_more_of_the_same(question, match, matches[0])][:_MAX_QUOTED]
    chosen = _with_its_message(close, matches)
    if all(_is_alike(match, matches[0]) for match in chosen):  # statements of the same kind: the newest first
        chosen.sort(key=lambda match: _age_of(match.entry)[0], reverse=True)
    return _with_corrections(list(dict.fromkeys([*chosen, *alike]))[:_MAX_ALIKE])


def _nearest_of(question: Question, matches: Sequence[Match]) -> list[Match]:
    """Returns the first few of the search that may be about the question, and those that give other values of the same."""
    matches = sorted(_of_the_named(question, matches), key=_place)
    close = [match for match in matches if match.score >= _MIN_NEAR or _speaks_of(question, match)][:_MAX_NEAREST]
    brief = [i for i in range(len(close)) if sum(len(m.entry.text.split()) for m in close[: i + 1]) <= _NEAREST_WORDS]
    alike = [match for match in matches if _is_alike(match, close[0])] if close else []
    return list(dict.fromkeys([*close[:1], *(close[i] for i in brief), *alike]))


def _place(match: Match) -> int:
    return match.place


def _is_alike(match: Match, best: Match) -> bool:
    """Returns whether it gives another value of the same: "I am allergic to wasps" with "to nuts", but not "I am tired"."""
    text, best_text = match.entry.text, best.entry.text
    is_related = bool(content(text) & content(best_text)) or exclude_each_other(text, best_text)
    return is_related and share_a_frame(text, best_text) and not tell_of_different_kinds(text, best_text)


def _of_the_named(question: Question, matches: Sequence[Match]) -> Sequence[Match]:
    """Returns the matches that mention somebody whom the question names, or all of them if none does."""
    names = {stem(word) for name in question.names for word in name.split()}
    return [match for match in matches if names & set(stems(match.entry.text))] or matches


def _speaks_of(question: Question, match: Match) -> bool:
    """Returns whether it has a word of the question or a synonym."""
    words = frozenset(word for entry in (match.entry, *match.corrections) for word in stems(entry.text))
    return any(meets(stem(word), words) for word in question.words)


def _is_more_of_the_same(question: Question, match: Match, best: Match) -> bool:
    """Returns whether a less probable memory names somebody whom the question and the best memory name: a second allergy."""
    names = {stem(word) for name in question.names for word in name.split()}
    shared = names & set(stems(match.entry.text)) & set(stems(best.entry.text))
    return bool(shared) and match.score >= _MORE_OF_PERSON * best.score


def _with_its_message(chosen: Sequence[Match], matches: Sequence[Match]) -> list[Match]:
    """Returns the best, others from its message, then the rest: the next sentence often has the other half of an answer."""
    best = chosen[0]
    beside = [match for match in matches if match is not best and share_evidence(match.entry, best.entry)]
    same_message = [best, *beside[:_MAX_BESIDE]]
    return [*same_message, *(match for match in chosen if match not in same_message)]


def _with_corrections(chosen: Sequence[Match]) -> list[MemoryEntry]:
    return list(dict.fromkeys(entry for match in chosen for entry in (match.entry, *match.corrections)))


def quote(
    entry: MemoryEntry,
    messages: Sequence[Message],
    corrections: Sequence[MemoryEntry] = (),
    beside: Sequence[MemoryEntry] = (),
    names: Collection[str] = (),
) -> str:
    """Returns `On 12 March 2026 you told me: "…"` with marks that cite the memory and those `beside` it.

    Its corrections are quoted with it, in the order of `_in_order`.
    """
    (first, _), *others = _in_order(entry, corrections, names)
    quotation = f"{_upper(_quoted(first, messages, 'told me'))} {_marks(first, beside if first is entry else ())}"
    return _followed_by(quotation, _others(others, entry, messages, beside))


def _in_order(
    entry: MemoryEntry, corrections: Sequence[MemoryEntry], names: Collection[str]
) -> list[tuple[MemoryEntry, str]]:
    """Returns a memory and its corrections in the order of quotation, each after the first with words that introduce it.

    The newest comes first, since it holds, unless it is about somebody other than the `names` in the question: "Bas is eight"
    says nothing about Noor in "Bas is seven and Noor is four".
    """
    names_asked = content(" ".join(names)) & content(entry.text)
    subject = Claim.of(corrections[-1].text).subject_names if corrections else frozenset()
    if names_asked and subject and not names_asked & subject:
        return [(entry, ""), *((correction, "Since then") for correction in corrections)]
    return [(member, "Before that") for member in reversed((entry, *corrections))]


def _followed_by(text: str, more: Sequence[str]) -> str:
    """Returns the text followed by `more`, if any; then a full stop is set before the last marks of the text."""
    if not more:
        return text
    marks = _LAST_MARKS.search(text)
    words = text[: marks.start()] if marks is not None else text
    end = "" if _ENDS.search(words) else "."
    return " ".join([f"{words}{end}{text[len(words) :]}", *more])


_LAST_MARKS = re.compile(r"(?: \[(?:memory|photo) \d+\])+$")
_ENDS = re.compile(r"[.!?…]\W*$")


def _others(
    others: Sequence[tuple[MemoryEntry, str]],
    entry: MemoryEntry,
    messages: Sequence[Message],
    beside: Sequence[MemoryEntry],
) -> list[str]:
    """Returns the quotations after the first of a memory and its corrections; `beside` is cited with `entry`."""
    return [
        f"{introduction}, {_quoted(member, messages, 'told me')} {_marks(member, beside if member is entry else ())}"
        for member, introduction in others
    ]


def _quoted(entry: MemoryEntry, messages: Sequence[Message], verb: str) -> str:
    """Returns the user's words behind the memory with their days, and the dates that are meant but not written in them."""
    quotes = _words_of(entry, messages)
    if not quotes:
        return f"on {_day_told(entry, messages)} you {verb} something that I cannot quote"
    parts: list[str] = []
    last_day: date | None = None
    verb = f"{verb} about {person}" if (person := _who_is_meant(entry, quotes)) else verb
    for quotation in quotes:
        day = quotation.message.said_at.date()
        words = f'"{quotation.text}"'
        parts.append(words if day == last_day else f"on {_day(day)} you {verb}: {words}")
        last_day = day
    dates = [day for day in _days_meant(entry) if not any(day in q.text for q in quotes)]
    meaning = f" (meaning {', '.join(dict.fromkeys(dates))})" if dates else ""
    return " and ".join(parts) + meaning


def _days_meant(entry: MemoryEntry) -> list[str]:
    """Returns the dates added to the user's words; if the memory has a date inside one, that date: "next month, on the 3rd"."""
    dates = [d.interval for d in find_dates(entry.text, entry.recorded_at.date(), past=False)]
    days = []
    for written_date in _DATE_MEANT.findall(entry.text):
        period = next((d.interval for d in find_dates(written_date, entry.recorded_at.date(), past=False)), None)
        inside = [d for d in dates if period and d != period and period.first <= d.first and d.last <= period.last]
        days.append(written(min(inside, key=lambda d: d.last - d.first)) if inside else written_date)
    return days


_DATE_MEANT = re.compile(r"\(((?:\d{1,2} )?(?:[A-Z][a-z]+ )?\d{4}(?: to [^()]*\d{4})?)\)")


_ENDS_WITHHELD = re.compile(re.escape(FORGOTTEN) + r"\W*(?:(?:and|but|so)\W+)?$", re.IGNORECASE)
# Forgotten words, and the conjunctions that joined them to the rest.
_FORGOTTEN_CLAUSE = re.compile(
    r"(?:[\s,;:–—-]+(?:and|but|or|so|because|since|although|though|while|und|aber|oder|et|mais|y|pero|e|ma)\b){0,2}"
    r"[\s,;:–—-]*" + re.escape(FORGOTTEN) + r"\W*(?:(?:and|but|or|so)\b\W*)?",
    re.IGNORECASE,
)
_LEANS = re.compile(r"\W*(?:he|she|they|his|her|their)\b", re.IGNORECASE)


def _who_is_meant(entry: MemoryEntry, quotes: Sequence[Quotation]) -> str:
    """Returns the person that the memory names, if the quotation begins with "she" or the like, or after withheld words.

    Returns "" if the quotation begins otherwise.
    """
    if not quotes or not (_LEANS.match(quotes[0].text) or _follows_withheld_words(quotes[0])):
        return ""
    subject = find_subject(entry.text)
    if subject is None or subject.text.lower() in PRONOUNS or len(subject.text.split()) > _NAME_WORDS:
        return ""
    if _LEANS.match(subject.text):
        return ""
    return said_to_user(re.sub(r"'s$", "", subject.text))


def _follows_withheld_words(quotation: Quotation) -> bool:
    before, separator, _ = quotation.message.text.partition(quotation.text)
    return bool(separator) and quotation.text[:1].islower() and _ENDS_WITHHELD.search(before) is not None


def _words_of(entry: MemoryEntry, messages: Sequence[Message]) -> list[Quotation]:
    """Returns the quotations for a memory: the newer of repeated words, or the whole message if the memory rewords it."""
    quotes = quotations(entry, messages)
    if not quotes:
        sources = [m for m in messages if m.role == "user" and rests_on(entry, [m.message_id]) and m.text.strip()]
        quotes = [Quotation(message, message.text.strip()) for message in sources[-1:]]
    quotes = [Quotation(q.message, piece) for q in quotes for piece in _what_stays(q.text)]
    words = [set(finished_words(quotation.text)) for quotation in quotes]
    return [
        quotation
        for index, quotation in enumerate(quotes)
        if not any(words[index] <= later for later in words[index + 1 :])
    ]


def _what_stays(text: str) -> list[str]:
    """Returns the pieces of a quotation that are left after forgotten words are removed."""
    if FORGOTTEN not in text:
        return [text]
    pieces = [piece.strip(" \n,;:-") for piece in _FORGOTTEN_CLAUSE.split(text)]
    return [piece for piece in pieces if len(piece.split()) > 1]


def _list(entries: Sequence[MemoryEntry], messages: Sequence[Message], names: Collection[str] = ()) -> str:
    groups = _told_once(together(entries), messages)
    if len(groups) == 1:
        (entry, *corrections), beside = groups[0]
        return quote(entry, messages, corrections, beside, names)
    return f"You told me:\n{_lines(entries, messages, names)}"


def _lines(chosen: Sequence[MemoryEntry], messages: Sequence[Message], names: Collection[str] = ()) -> str:
    lines = []
    for (entry, *corrections), beside in _told_once(together(chosen), messages):
        (first, _), *others = _in_order(entry, corrections, names)
        quotes = _words_of(first, messages)
        about = f"About {person}: " if (person := _who_is_meant(first, quotes)) else ""
        words = " and ".join(f'"{quotation.text}"' for quotation in quotes)
        line = f"- {about}{words} ({_day_told(first, messages)}) {_marks(first, beside if first is entry else ())}"
        lines.append(_followed_by(line, _others(others, entry, messages, beside)))
    return "\n".join(lines)


def _told_once(
    groups: Sequence[list[MemoryEntry]], messages: Sequence[Message]
) -> list[tuple[list[MemoryEntry], list[MemoryEntry]]]:
    """Returns each group with the memories cited by its quotation: uncorrected ones whose words are part of it."""
    words = [[(q.message.message_id, q.text) for q in _words_of(group[0], messages)] for group in groups]
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
    return all(any(source == other and text in longer for other, longer in others) for source, text in words)


def _marks(entry: MemoryEntry, beside: Sequence[MemoryEntry]) -> str:
    return " ".join(f"[memory {member.memory_id}]" for member in (entry, *beside))


def _day_told(entry: MemoryEntry, messages: Sequence[Message]) -> str:
    """Returns the day of the user's newest message that the memory cites."""
    dates = [
        message.said_at
        for message in messages
        if message.role == "user" and any(first <= message.message_id <= last for first, last in entry.evidence_ids)
    ]
    day = max(dates, default=entry.recorded_at).date()
    return written(DateInterval(day, day))


def _counted(
    question: Question, entries: Sequence[MemoryEntry], concepts: Sequence[Concept], messages: Sequence[Message]
) -> str:
    """Returns the sum of what the memories count or name, with a list: two cats and a tortoise are three pets."""
    nouns = set(equivalents(stem(question.noun)))
    species = {breed: noun for noun in nouns for breed in equivalents(noun) - nouns}
    per_noun: dict[str, int] = {}
    names: dict[str, set[int]] = {}
    for concept in concepts:
        for alias in concept.aliases:
            word = next((root for root in stems(alias) if root in nouns), None)
            if word is not None and any(concept.concept_id in entry.concept_ids for entry in entries):
                names.setdefault(word, set()).add(concept.concept_id)
    for entry in entries:
        roots = list(dict.fromkeys(root for root in stems(entry.text) if root in nouns))
        if _TWIN in roots:  # "the twins, our two boys" are counted once
            per_noun[_TWIN] = 2
            roots = []
        roots = roots or [root for root in stems(entry.text) if root in species][:1]
        for mentioned in roots:
            word = species.get(mentioned, mentioned)
            count = amount_of(entry.text, {mentioned})
            if count is not None:
                per_noun[word] = max(per_noun.get(word, 0), count)
            elif word not in per_noun and _is_owned(entry.text, mentioned):
                per_noun[word] = 1
    for word, concept_ids in names.items():
        if _TWIN in per_noun and concept_ids <= names.get(_TWIN, set()) and word != _TWIN:
            continue
        per_noun[word] = max(per_noun.get(word, 0), len(concept_ids))
    total = sum(per_noun.values())
    listed = _list(entries[:_MAX_LISTED], messages)
    if len(entries) == 1 and len(per_noun) == 1 and not names:
        return listed
    if not total:
        return listed
    noun = next((word for word in plain(question.text).split() if word.strip("?,.").lower() == question.noun), "")
    counted = f"{total} {noun.strip('?')}".strip() if total > 1 else str(total)
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


def _computed(question: Question, entries: Sequence[MemoryEntry], messages: Sequence[Message], today: date) -> str:
    groups = together(entries)
    best, *corrections = groups[0]
    if question.kind.name == "age":
        age, quotation = _age(best, messages, today), quote(best, messages, corrections, names=question.names)
        return f"{age} {quotation}" if age and not corrections else quotation
    if question.kind.name == "duration":  # it must have begun: the wedding, not the next anniversary
        begun = [group for group in groups if (when := _date_of(group)) and when.first <= today]
        best, *corrections = begun[0] if begun else groups[0]
    quotation, interval = quote(best, messages, corrections, names=question.names), _date_of([best, *corrections])
    if interval is None:
        return quotation
    if question.kind.name == "duration" and question.within and interval.first < today < question.within.last:
        return f"{_span_to(_anniversary(interval, question.within), interval, question.unit)}. {quotation}"
    if question.kind.name == "duration" and interval.first > today:
        return quotation
    if interval.first > today:
        days = (interval.first - today).days
        span = _span(days, interval.first, today, question.unit)
        return f"{span} from today ({_day(today)}) to {_day(interval.first)}. {quotation}"
    days = (today - interval.first).days
    if days == 0:
        return f"That is today. {quotation}"
    if question.kind.name == "until":
        return f"That was {_span(days, interval.first, today, question.unit)} ago. {quotation}"
    about = "" if interval.first == interval.last else "about "
    since = "since then" if question.kind.name == "duration" else "ago"
    span = _span(days, interval.first, today, question.unit)
    return _upper(f"{about}{span} {since}, counted to today ({_day(today)}). {quotation}")


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _day(day: date) -> str:
    return written(DateInterval(day, day))


def _happened(entry: MemoryEntry) -> DateInterval | None:
    return entry.happened or _first_date(entry)


def _date_of(group: Sequence[MemoryEntry]) -> DateInterval | None:
    """Returns the date in the newest of a memory and its corrections that has one."""
    return next((when for entry in reversed(group) if (when := _happened(entry))), None)


def _anniversary(interval: DateInterval, within: DateInterval) -> date:
    """Returns the day to count to if the question asks about "this November": the anniversary in it, or else its last day."""
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
    dates = find_dates(entry.text, entry.recorded_at.date(), past=False)
    return dates[0].interval if dates else None


def _span(days: int, first: date, second: date, unit: str) -> str:
    """Returns the span in the unit asked for, and in other usual units: "77 days (11 weeks, or 2 months)"."""
    earlier, later = min(first, second), max(first, second)
    months = (later.year - earlier.year) * 12 + later.month - earlier.month - (later.day < earlier.day)
    years, rest_months = divmod(months, 12)
    weeks, rest_days = divmod(days, 7)
    spans = {"day": _count(days, "day")}
    if days >= 14 or unit == "week":
        spans["week"] = _counts((weeks, "week"), (rest_days, "day"))
    if months:
        spans["year" if years else "month"] = _counts((years, "year"), (rest_months, "month"))
    first_span = spans.pop(unit, None) or spans.pop("day")
    return first_span + (f" ({', or '.join(spans.values())})" if spans else "")


def _counts(*counted: tuple[int, str]) -> str:
    return " and ".join(_count(count, name) for count, name in counted if count) or _count(*counted[0])


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _age(entry: MemoryEntry, messages: Sequence[Message], today: date) -> str:
    """Returns the age today, from the year of birth or from the age on a known day; "" if neither is known."""
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


def _shown(entries: Sequence[MemoryEntry], messages: Sequence[Message], recalled: Sequence[PhotoView]) -> str:
    chosen = [
        entry for entry in entries if any(view.memory and view.memory.memory_id == entry.memory_id for view in recalled)
    ]
    if not chosen:
        return f"I have no photo of that. {_list(entries[:1], messages)}"
    photos = _photos(chosen[:1], recalled)
    here = "Here they are" if photos.count("[photo") > 1 else "Here it is"
    return f"{here}. {quote(chosen[0], messages)}{photos}"


def _photos(entries: Sequence[MemoryEntry], recalled: Sequence[PhotoView]) -> str:
    ids = {entry.memory_id for entry in entries}
    marks = [f" [photo {view.number}]" for view in recalled if view.memory is not None and view.memory.memory_id in ids]
    return "".join(marks)
