"""Forgetting: which entries go with the one that is forgotten, and which words and photos of messages are withheld with them."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlalchemy import delete, func, insert, select

from m2a.memory import reply_sources
from m2a.memory.attribution import Attribution
from m2a.memory.full_text import holding
from m2a.memory.quotations import Span, sentence_spans, spans_saying, spans_telling
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.repetitions import Statement, repeating_spans, spans_holding, spans_of_statement, statements
from m2a.memory.schema import forgotten_entry, kept_back, message, message_photo, trace, withheld_words
from m2a.memory.semantic_memory_store import RejectedWriteError, SemanticMemoryStore
from m2a.memory.sql import to_microseconds
from m2a.memory.titles import retitle, titles_by_conversation, titles_following
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import as_logged, give_back, withheld_by, withheld_photos, withheld_spans, withhold
from m2a.memory.words import finished_words
from m2a.types import EntryChange, KeptBackReason, MemoryEntry, Message, MessageSpan, RecordKey

_TAKEN_OUT: Mapping[KeptBackReason | None, EntryChange] = {
    None: "deleted",
    "unmentioned": "withheld",
    "expired": "expired",
}


class Forgetter:
    """Forgets, and takes it back."""

    def __init__(self, raw: RawMessageStore, semantic: SemanticMemoryStore) -> None:
        self._raw = raw
        self._semantic = semantic

    def forget(
        self,
        unit: UnitOfWork,
        memory_id: int | None,
        spans: Iterable[MessageSpan],
        by: Attribution,
        *,
        keeping: KeptBackReason | None = None,
        leaving: Collection[int] = (),
    ) -> int:
        """Take an entry out with all that belongs to it, and withhold its words and the spans; the id to take it back by.

        The spans are of the log. To the entry belong its corrections and whatever they superseded. Without an entry the spans
        alone are withheld. With `keeping` its owner still sees it: it is kept back, and not forgotten. `leaving` are further
        entries that are about to go: they keep no words and photos here.
        Raises `RejectedWriteError` for an unknown entry or message.
        """
        spans = set(spans)
        living = [] if memory_id is None else self._with_corrections(unit, memory_id)
        older = [number for found in living for number in self._semantic.predecessors(unit, found.memory_id)]
        entries = [*living, *self._semantic.superseded(unit, older).values()]
        forgetting_id = unit.next_id("forgetting")
        for found in living:
            change = _TAKEN_OUT[keeping]
            self._semantic.delete(unit, found.memory_id, by, change=change)
        alive = {found.memory_id for found in living}
        if entries:
            unit.execute(
                insert(forgotten_entry),
                [
                    {
                        "owner": unit.owner,
                        "forgetting_id": forgetting_id,
                        "memory_id": found.memory_id,
                        "was_alive": found.memory_id in alive,
                    }
                    for found in entries
                ],
            )
        if keeping is not None:
            key = {
                "owner": unit.owner,
                "forgetting_id": forgetting_id,
                "reason": keeping,
                "kept_at": to_microseconds(by.now),
            }
            unit.execute(insert(kept_back), [{**key, "memory_id": found.memory_id} for found in living])
        self.withhold(unit, forgetting_id, entries, spans, leaving)
        return forgetting_id

    def take_back(self, unit: UnitOfWork, forgetting_id: int, by: Attribution) -> None:
        """Let everything be remembered and read again that was forgotten by that. Raises `RejectedWriteError`."""
        this = unit.owns(forgotten_entry) & (forgotten_entry.c.forgetting_id == forgetting_id)
        lived = unit.scalars(select(forgotten_entry.c.memory_id).where(this, forgotten_entry.c.was_alive)).all()
        unit.execute(delete(forgotten_entry).where(this))
        is_of_it = unit.owns(kept_back) & (kept_back.c.forgetting_id == forgetting_id)
        unit.execute(delete(kept_back).where(is_of_it))
        self._semantic.revive(unit, lived, by)
        with titles_following(unit, withheld_by(unit, forgetting_id)):
            give_back(unit, forgetting_id)

    def withhold(
        self,
        unit: UnitOfWork,
        forgetting_id: int,
        entries: Sequence[MemoryEntry],
        spans: Collection[MessageSpan],
        leaving: Collection[int] = (),
    ) -> None:
        """Withhold what says the entries, which are no more, and the spans (of the log), wherever it is said again."""
        gone_ids = {*leaving, *(gone.memory_id for gone in entries)}
        evidence = self._evidence(unit, entries)
        others = self._staying_on(unit, evidence, gone_ids)
        found = set(spans)
        # Where words of an entry's evidence are named, they alone are to go: the rest of it may be said and shown again.
        named = {span.message_id for span in spans}
        whole = [gone for gone in entries if not named & set(gone.evidence_message_ids())]
        for gone in whole:
            found |= _said(gone, [evidence[i] for i in gone.evidence_message_ids() if i in evidence], others)
        messages = evidence | self._raw.as_logged(unit, {span.message_id for span in found})
        texts = [messages[number].text[first:last] for number, first, last in found if number in messages]
        texts += [gone.text for gone in whole]
        staying = _words_that_stay(whole, others)
        repeated = self._repetitions(unit, texts, staying, min(messages, default=0), gone_ids)
        found |= {span for span in repeated if span.message_id not in named}
        told_in = [m for m in evidence.values() if m.role == "user"]
        found |= self._replies(unit, whole, staying, told_in, gone_ids)
        photos = self._photos(unit, entries, found, messages, gone_ids)
        touched = {span.message_id for span in found} | {number for number, _ in photos}
        with titles_following(unit, touched):
            withhold(unit, forgetting_id, found, photos)
        titles = titles_by_conversation(unit)
        forgotten = self.is_forgotten(unit, list(titles.values()))
        retitle(unit, [one for one, tells in zip(titles, forgotten, strict=True) if tells])

    def is_forgotten(self, unit: UnitOfWork, texts: Sequence[str]) -> list[bool]:
        """Whether each of the texts says again, or asks for by its words, what was forgotten."""
        forgotten = self._forgotten_statements(unit) if any(texts) else []
        return [
            any(statement.is_repeated_by("assistant", set(finished_words(text))) for statement in forgotten)
            for text in texts
        ]

    def _forgotten_statements(self, unit: UnitOfWork) -> list[Statement]:
        ids = unit.scalars(select(forgotten_entry.c.memory_id).where(unit.owns(forgotten_entry))).all()
        entries = self._semantic.gone(unit, ids)
        kept = _words_that_stay(entries, self._semantic.resting_with(unit, entries))
        texts = [gone.text for gone in entries]
        columns = (withheld_words.c.message_id, withheld_words.c.first_character, withheld_words.c.last_character)
        spans = unit.execute(select(*columns).where(unit.owns(withheld_words))).all()
        logged = self._raw.as_logged(unit, {number for number, _, _ in spans})
        texts += [logged[number].text[first:last] for number, first, last in spans if number in logged]
        return statements(texts, {}, 0, kept)

    def in_log(self, unit: UnitOfWork, spans: Iterable[MessageSpan]) -> set[MessageSpan]:
        """The spans of messages as they are read, as spans of the log."""
        spans = list(spans)
        ids = {span.message_id for span in spans}
        logged = self._raw.as_logged(unit, ids)
        withheld = withheld_spans(unit, ids)
        found = set[MessageSpan]()
        for number, first, last in spans:
            if number not in logged:
                raise RejectedWriteError(f"There is no message {number}.")
            if not 0 <= first < last:
                raise RejectedWriteError(f"[{first}, {last}] is no part of message {number}.")
            text = logged[number].text
            found.add(MessageSpan(number, *as_logged((first, last), text, withheld.get(number, ()))))
        return {span for span in found if span.first < span.last}

    def _with_corrections(self, unit: UnitOfWork, memory_id: int) -> list[MemoryEntry]:
        named = self._semantic.get(unit, [memory_id]).get(memory_id)
        if named is None:
            raise RejectedWriteError(f"There is no memory {memory_id}.")
        found = {memory_id: named}
        waiting = [memory_id]
        while waiting:
            ties = self._semantic.corrections_of(unit, waiting)
            new = {e.memory_id: e for some in ties.values() for e in some if e.memory_id not in found}
            found |= new
            waiting = list(new)
        return list(found.values())

    def _evidence(self, unit: UnitOfWork, entries: Sequence[MemoryEntry]) -> dict[int, Message]:
        return self._raw.as_logged(unit, {number for gone in entries for number in gone.evidence_message_ids()})

    def _staying_on(
        self, unit: UnitOfWork, message_ids: Collection[int], gone_ids: Collection[int]
    ) -> list[MemoryEntry]:
        """The active entries that rest on any of the messages, without those that go."""
        staying = self._semantic.resting_on(unit, message_ids).difference(gone_ids)
        return list(self._semantic.get(unit, staying).values())

    def _repetitions(
        self,
        unit: UnitOfWork,
        texts: Sequence[str],
        staying: Mapping[str, frozenset[str]],
        since: int,
        gone_ids: Collection[int],
    ) -> set[MessageSpan]:
        """Where the texts are said again, by the user anywhere, by the assistant from the message before them on."""
        words = {word for text in texts for word in finished_words(text)}
        if not words:
            return set()
        found = holding(unit, words)
        frequency = {word: sum(word in held for held in map(set, found.values())) for word in words}
        repeated = statements(texts, frequency, unit.count(message), staying)
        candidates = [
            number
            for number, held in found.items()
            if any(statement.is_repeated_by("assistant", set(held)) for statement in repeated)
        ]
        repeating = dict[int, list[Span]]()
        logged = self._raw.as_logged(unit, candidates)
        for number, candidate in logged.items():
            may_repeat = candidate.role == "user" or number >= since - 1
            if may_repeat and (spans := repeating_spans(repeated, candidate.role, candidate.text)):
                repeating[number] = spans
        by_user = {number for number in repeating if logged[number].role == "user"}
        kept = {
            MessageSpan(number, *span)
            for other in self._staying_on(unit, by_user, gone_ids)
            for number in by_user.intersection(other.evidence_message_ids())
            for span in spans_saying(other.text, logged[number].text)
        }
        return {MessageSpan(number, *span) for number, spans in repeating.items() for span in spans} - kept

    def _replies(
        self,
        unit: UnitOfWork,
        entries: Sequence[MemoryEntry],
        staying: Mapping[str, frozenset[str]],
        told_in: Sequence[Message],
        gone_ids: Collection[int],
    ) -> set[MessageSpan]:
        """What replies tell of the entries in words of their own: those that rest on them, and those to what the user told.

        Each sentence with a word of an entry that neither the question nor another memory of the reply accounts for.
        """
        telling = {word for gone in entries for word in finished_words(gone.text) if word not in staying[gone.text]}
        found = set[MessageSpan]()
        for reply_id, cited, question in self._citing(unit, {gone.memory_id for gone in entries}):
            others = self._semantic.get(unit, cited.difference(gone_ids)).values()
            known = {word for other in others for word in finished_words(other.text)}
            found |= self._sentences(unit, reply_id, telling - known - set(finished_words(question)))
        for told in told_in:
            said = [span for gone in entries for span in spans_telling(gone.text, told.text)]
            rest = [told.text[slice(*span)] for span in sentence_spans(told.text) if span not in said]
            reply_id = unit.scalar(
                select(func.min(message.c.message_id)).where(
                    unit.owns(message),
                    message.c.conversation_id == told.conversation_id,
                    message.c.message_id > told.message_id,
                    message.c.role == "assistant",
                )
            )
            if reply_id is not None:
                found |= self._sentences(unit, reply_id, telling - set(finished_words(" ".join(rest))))
        return found

    def _sentences(self, unit: UnitOfWork, reply_id: int, words: Collection[str]) -> set[MessageSpan]:
        reply = self._raw.as_logged(unit, [reply_id]).get(reply_id)
        if reply is None or reply.role != "assistant":
            return set()
        return {MessageSpan(reply_id, *span) for span in spans_holding(words, reply.text)}

    def _citing(self, unit: UnitOfWork, memory_ids: Collection[int]) -> list[tuple[int, set[int], str]]:
        """The replies that rest on the memories: each with all memories that it rests on, and the question."""
        replies = reply_sources.replies_on(unit, {RecordKey("entry", number) for number in memory_ids})
        cited = reply_sources.memories_under(unit, replies)
        answers = dict(unit.rows_among((trace.c.message_id, trace.c.answers), replies))
        questions = self._raw.as_logged(unit, answers.values())
        return [
            (reply_id, set(cited[reply_id]), questions[answered].text if answered in questions else "")
            for reply_id, answered in answers.items()
        ]

    def _photos(
        self,
        unit: UnitOfWork,
        entries: Sequence[MemoryEntry],
        spans: Collection[MessageSpan],
        messages: dict[int, Message],
        gone_ids: set[int],
    ) -> set[tuple[int, str]]:
        """The photos of the entries, and of what the user said that is forgotten as a whole, in the messages that show them.

        One that another memory holds stays; so does one that another message of the user shows, in that message.
        """
        telling = {number for gone in entries for number in gone.evidence_message_ids()}
        photos = {photo_id for gone in entries for photo_id in gone.photo_ids}
        for number in {span.message_id for span in spans}:
            covered = [(first, last) for message_id, first, last in spans if message_id == number]
            if number in messages and messages[number].role == "user" and _covers(covered, messages[number].text):
                telling.add(number)
                photos |= set(messages[number].photos)
        holders = self._semantic.with_photos(unit, photos)
        photos -= {photo_id for photo_id, memory_ids in holders.items() if not set(memory_ids) <= gone_ids}
        shown = unit.execute(
            select(message_photo.c.photo_id, message.c.message_id, message.c.role)
            .join(
                message,
                (message.c.owner == message_photo.c.owner) & (message.c.message_id == message_photo.c.message_id),
            )
            .where(unit.owns(message_photo), message_photo.c.photo_id.in_(photos))
        ).all()
        hidden = withheld_photos(unit, {row.message_id for row in shown})
        rows = [row for row in shown if (row.message_id, row.photo_id) not in hidden]
        elsewhere = {row.photo_id for row in rows if row.role == "user" and row.message_id not in telling}
        return {
            (row.message_id, row.photo_id)
            for row in rows
            if row.message_id in telling or (row.role == "assistant" and row.photo_id not in elsewhere)
        }


def _words_that_stay(gone: Iterable[MemoryEntry], others: Sequence[MemoryEntry]) -> dict[str, frozenset[str]]:
    """By the text of each entry that is gone the words of its parts that stay, as entries that rest on the same messages."""
    found: dict[str, frozenset[str]] = {}
    for one in gone:
        words, ids = set(finished_words(one.text)), set(one.evidence_message_ids())
        beside = [
            set(finished_words(other.text)) for other in others if not ids.isdisjoint(other.evidence_message_ids())
        ]
        found[one.text] = frozenset().union(*(part for part in beside if part < words))
    return found


def _said(gone: MemoryEntry, evidence: Sequence[Message], others: Sequence[MemoryEntry]) -> set[MessageSpan]:
    """What of its evidence says the entry.

    Where none of the user's words do (another language), it is whatever the user said there that no other memory rests on.
    """
    found = set[MessageSpan]()
    for told in evidence:
        beside = [other.text for other in others if told.role == "user" and other.rests_on_message(told.message_id)]
        found |= {MessageSpan(told.message_id, *span) for span in spans_of_statement(gone.text, told.text, beside)}
    if found:
        return found
    for told in evidence:
        if told.role == "user":
            kept = [
                span
                for other in others
                if other.rests_on_message(told.message_id)
                for span in spans_saying(other.text, told.text)
            ]
            found |= {MessageSpan(told.message_id, *span) for span in sentence_spans(told.text) if span not in kept}
    return found


def _covers(spans: Sequence[Span], text: str) -> bool:
    return all(any(start <= first and last <= end for start, end in spans) for first, last in sentence_spans(text))
