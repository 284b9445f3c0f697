"""Forgets entries together with everything that belongs to them, and withholds the words and photos that repeat them."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlalchemy import delete, func, insert, select

from m2a.memory import reply_sources
from m2a.memory.attribution import Attribution
from m2a.memory.full_text import messages_containing
from m2a.memory.quotations import Span, matching_sentences, sentence_spans, stating_sentences
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.repetitions import Statement, repeating_spans, sentences_containing, spans_of_statement, statements
from m2a.memory.schema import forgotten_entry, kept_back, message, trace, withheld_words
from m2a.memory.semantic_memory_store import RejectedWriteError, SemanticMemoryStore
from m2a.memory.sql import to_microseconds
from m2a.memory.titles import retitle, titles_by_conversation, titles_following
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import as_logged, release, withheld_by, withheld_photos, withheld_spans, withhold
from m2a.memory.words import finished_words
from m2a.types import EntryChange, KeptBackReason, MemoryEntry, Message, MessageSpan, RecordKey

# How the history calls a forgetting, by the reason for which the entry is kept back.
_CHANGES: Mapping[KeptBackReason | None, EntryChange] = {
    None: "deleted",
    "unmentioned": "withheld",
    "expired": "expired",
    "asked": "withheld",
}


class Forgetter:
    """Forgets entries, and undoes that."""

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
        also_forgotten: Collection[int] = (),
    ) -> int:
        """Forgets an entry, and withholds its words and the spans. Returns the id of the forgetting, for `undo`.

        The spans refer to messages as logged. Corrections of the entry, and everything that these entries superseded, are
        forgotten too. Without an entry, only the spans are withheld. With `keeping`, the entry is kept back instead, so its
        owner can still see it. The words and photos of `also_forgotten`, further entries about to be forgotten, need not stay.
        Raises `RejectedWriteError` for an unknown entry or message.
        """
        spans = set(spans)
        live = [] if memory_id is None else self._with_corrections(unit, memory_id)
        older = [number for entry in live for number in self._semantic.predecessors(unit, entry.memory_id)]
        entries = [*live, *self._semantic.superseded(unit, older).values()]
        forgetting_id = unit.next_id("forgetting")
        for entry in live:
            self._semantic.delete(unit, entry.memory_id, by, change=_CHANGES[keeping])
        live_ids = {entry.memory_id for entry in live}
        if entries:
            unit.execute(
                insert(forgotten_entry),
                [
                    {
                        "owner": unit.owner,
                        "forgetting_id": forgetting_id,
                        "memory_id": entry.memory_id,
                        "was_alive": entry.memory_id in live_ids,
                    }
                    for entry in entries
                ],
            )
        if keeping is not None:
            key = {
                "owner": unit.owner,
                "forgetting_id": forgetting_id,
                "reason": keeping,
                "kept_at": to_microseconds(by.now),
            }
            unit.execute(insert(kept_back), [{**key, "memory_id": entry.memory_id} for entry in live])
        self.withhold(unit, forgetting_id, entries, spans, also_forgotten)
        return forgetting_id

    def count_forgotten_corrections(self, unit: UnitOfWork, forgetting_id: int) -> int:
        """Returns the number of live memories that a forgetting took out besides the named one, because they correct it."""
        were_live = unit.count(
            forgotten_entry, forgotten_entry.c.forgetting_id == forgetting_id, forgotten_entry.c.was_alive
        )
        return max(0, were_live - 1)

    def request_spans(self, unit: UnitOfWork, forgetting_id: int) -> set[MessageSpan]:
        """Returns the spans, as logged, that a forgetting withholds after all evidence of its entries: the request to forget."""
        ids = unit.scalars(
            select(forgotten_entry.c.memory_id).where(
                unit.owns(forgotten_entry), forgotten_entry.c.forgetting_id == forgetting_id
            )
        ).all()
        newest = max(
            (n for memory in self._semantic.not_live(unit, ids) for n in memory.evidence_message_ids()), default=0
        )
        spans = withheld_spans(unit, withheld_by(unit, forgetting_id))
        later = ((number, own) for number, own in spans.items() if number > newest)
        return {MessageSpan(number, *span) for number, own in later for span in own}

    def undo(self, unit: UnitOfWork, forgetting_id: int, by: Attribution) -> None:
        """Undoes a forgetting: revives its entries and gives back the words and photos. Raises `RejectedWriteError`."""
        of_entries = unit.owns(forgotten_entry) & (forgotten_entry.c.forgetting_id == forgetting_id)
        were_live = unit.scalars(
            select(forgotten_entry.c.memory_id).where(of_entries, forgotten_entry.c.was_alive)
        ).all()
        unit.execute(delete(forgotten_entry).where(of_entries))
        of_forgetting = unit.owns(kept_back) & (kept_back.c.forgetting_id == forgetting_id)
        unit.execute(delete(kept_back).where(of_forgetting))
        self._semantic.revive(unit, were_live, by)
        with titles_following(unit, withheld_by(unit, forgetting_id)):
            release(unit, forgetting_id)

    def withhold(
        self,
        unit: UnitOfWork,
        forgetting_id: int,
        entries: Sequence[MemoryEntry],
        spans: Collection[MessageSpan],
        also_forgotten: Collection[int] = (),
    ) -> None:
        """Withholds the words of the forgotten entries and the spans (of messages as logged), wherever they are repeated."""
        gone_ids = {*also_forgotten, *(memory.memory_id for memory in entries)}
        evidence = self._raw.as_logged(unit, {number for memory in entries for number in memory.evidence_message_ids()})
        others = self._other_entries_on(unit, evidence, gone_ids)
        withheld = set(spans)
        # If the spans name words in an entry's evidence, only these words go; the rest may be said and shown again.
        named = {span.message_id for span in spans}
        whole = [memory for memory in entries if not named & set(memory.evidence_message_ids())]
        for memory in whole:
            withheld |= _evidence_sentences(
                memory, [evidence[i] for i in memory.evidence_message_ids() if i in evidence], others
            )
        messages = evidence | self._raw.as_logged(unit, {span.message_id for span in withheld})
        texts = [messages[number].text[first:last] for number, first, last in withheld if number in messages]
        texts += [memory.text for memory in whole]
        staying = _words_that_stay(whole, others)
        repeated = self._repetitions(unit, texts, staying, min(messages, default=0), gone_ids)
        withheld |= {span for span in repeated if span.message_id not in named}
        from_user = [m for m in evidence.values() if m.role == "user"]
        withheld |= self._replies(unit, whole, staying, from_user, gone_ids)
        photos = self._photos(unit, entries, withheld, messages, gone_ids)
        touched = {span.message_id for span in withheld} | {number for number, _ in photos}
        with titles_following(unit, touched):
            withhold(unit, forgetting_id, withheld, photos)
        titles = titles_by_conversation(unit)
        forgotten = self.is_forgotten(unit, list(titles.values()))
        retitle(
            unit,
            [conversation_id for conversation_id, repeats in zip(titles, forgotten, strict=True) if repeats],
        )

    def is_forgotten(self, unit: UnitOfWork, texts: Sequence[str]) -> list[bool]:
        """Returns for each text whether it repeats, or asks for, something forgotten."""
        forgotten = self._forgotten_statements(unit) if any(texts) else []
        return [
            any(statement.is_repeated_by("assistant", set(finished_words(text))) for statement in forgotten)
            for text in texts
        ]

    def _forgotten_statements(self, unit: UnitOfWork) -> list[Statement]:
        ids = unit.scalars(select(forgotten_entry.c.memory_id).where(unit.owns(forgotten_entry))).all()
        entries = self._semantic.not_live(unit, ids)
        staying = _words_that_stay(entries, self._semantic.resting_with(unit, entries))
        texts = [memory.text for memory in entries]
        columns = (withheld_words.c.message_id, withheld_words.c.first_character, withheld_words.c.last_character)
        spans = unit.execute(select(*columns).where(unit.owns(withheld_words))).all()
        logged = self._raw.as_logged(unit, {number for number, _, _ in spans})
        texts += [logged[number].text[first:last] for number, first, last in spans if number in logged]
        return statements(texts, {}, 0, staying)

    def in_log(self, unit: UnitOfWork, spans: Iterable[MessageSpan]) -> set[MessageSpan]:
        """Converts spans of messages as they read now to spans of messages as logged. Raises `RejectedWriteError`."""
        spans = list(spans)
        ids = {span.message_id for span in spans}
        logged = self._raw.as_logged(unit, ids)
        withheld = withheld_spans(unit, ids)
        converted = set[MessageSpan]()
        for number, first, last in spans:
            if number not in logged:
                raise RejectedWriteError(f"There is no message {number}.")
            if not 0 <= first < last:
                raise RejectedWriteError(f"[{first}, {last}] is not a part of message {number}.")
            text = logged[number].text
            converted.add(MessageSpan(number, *as_logged((first, last), text, withheld.get(number, ()))))
        return {span for span in converted if span.first < span.last}

    def _with_corrections(self, unit: UnitOfWork, memory_id: int) -> list[MemoryEntry]:
        entries = {memory_id: self._semantic.live_entry(unit, memory_id)}
        pending = [memory_id]
        while pending:
            corrections = self._semantic.corrections_of(unit, pending)
            new = {e.memory_id: e for group in corrections.values() for e in group if e.memory_id not in entries}
            entries |= new
            pending = list(new)
        return list(entries.values())

    def _other_entries_on(
        self, unit: UnitOfWork, message_ids: Collection[int], gone_ids: Collection[int]
    ) -> list[MemoryEntry]:
        """Returns the live entries that rest on any of the messages, except those that are forgotten."""
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
        """Returns the spans that repeat the texts: the user's anywhere, the assistant's from just before `since` on."""
        words = {word for text in texts for word in finished_words(text)}
        if not words:
            return set()
        matches = messages_containing(unit, words)
        frequency = {word: sum(word in own for own in map(set, matches.values())) for word in words}
        repeated = statements(texts, frequency, unit.count(message), staying)
        candidates = [
            number
            for number, own in matches.items()
            if any(statement.is_repeated_by("assistant", set(own)) for statement in repeated)
        ]
        repeating = dict[int, list[Span]]()
        logged = self._raw.as_logged(unit, candidates)
        for number, candidate in logged.items():
            may_repeat = candidate.role == "user" or number >= since - 1
            if may_repeat and (spans := repeating_spans(repeated, candidate.role, candidate.text)):
                repeating[number] = spans
        by_user = {number for number in repeating if logged[number].role == "user"}
        stated_elsewhere = {
            MessageSpan(number, *span)
            for other in self._other_entries_on(unit, by_user, gone_ids)
            for number in by_user.intersection(other.evidence_message_ids())
            for span in matching_sentences(other.text, logged[number].text)
        }
        return {MessageSpan(number, *span) for number, spans in repeating.items() for span in spans} - stated_elsewhere

    def _replies(
        self,
        unit: UnitOfWork,
        entries: Sequence[MemoryEntry],
        staying: Mapping[str, frozenset[str]],
        from_user: Sequence[Message],
        gone_ids: Collection[int],
    ) -> set[MessageSpan]:
        """Returns the sentences of replies that reveal the entries in other words.

        These are the replies that rest on the entries, and the replies to the user's messages that stated them. A sentence
        reveals an entry if it contains one of its words that comes neither from the question nor from another memory that
        the reply rests on.
        """
        revealing = {
            word for memory in entries for word in finished_words(memory.text) if word not in staying[memory.text]
        }
        sentences = set[MessageSpan]()
        for reply_id, cited, question in self._citing(unit, {memory.memory_id for memory in entries}):
            others = self._semantic.get(unit, cited.difference(gone_ids)).values()
            from_others = {word for other in others for word in finished_words(other.text)}
            sentences |= self._sentences(unit, reply_id, revealing - from_others - set(finished_words(question)))
        for source in from_user:
            stating = [span for memory in entries for span in stating_sentences(memory.text, source.text)]
            rest = [source.text[slice(*span)] for span in sentence_spans(source.text) if span not in stating]
            reply_id = unit.scalar(
                select(func.min(message.c.message_id)).where(
                    unit.owns(message),
                    message.c.conversation_id == source.conversation_id,
                    message.c.message_id > source.message_id,
                    message.c.role == "assistant",
                )
            )
            if reply_id is not None:
                sentences |= self._sentences(unit, reply_id, revealing - set(finished_words(" ".join(rest))))
        return sentences

    def _sentences(self, unit: UnitOfWork, reply_id: int, words: Collection[str]) -> set[MessageSpan]:
        reply = self._raw.as_logged(unit, [reply_id]).get(reply_id)
        if reply is None or reply.role != "assistant":
            return set()
        return {MessageSpan(reply_id, *span) for span in sentences_containing(words, reply.text)}

    def _citing(self, unit: UnitOfWork, memory_ids: Collection[int]) -> list[tuple[int, set[int], str]]:
        """Returns (reply id, ids of all its memories, question) for the replies that rest on the memories."""
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
        """Returns (message id, photo id) for the photos of the entries and of the user's messages that are forgotten entirely.

        A photo of another memory stays. A photo stays in other messages of the user that show it.
        """
        sources = {number for memory in entries for number in memory.evidence_message_ids()}
        photos = {photo_id for memory in entries for photo_id in memory.photo_ids}
        for number in {span.message_id for span in spans}:
            covered = [(first, last) for message_id, first, last in spans if message_id == number]
            if number in messages and messages[number].role == "user" and _covers(covered, messages[number].text):
                sources.add(number)
                photos |= set(messages[number].photos)
        holders = self._semantic.with_photos(unit, photos)
        photos -= {photo_id for photo_id, memory_ids in holders.items() if not set(memory_ids) <= gone_ids}
        shown = self._raw.showing(unit, photos)
        hidden = withheld_photos(unit, {message_id for message_id, _photo_id, _role in shown})
        readable = [row for row in shown if row[:2] not in hidden]
        elsewhere = {photo_id for number, photo_id, role in readable if role == "user" and number not in sources}
        return {
            (number, photo_id)
            for number, photo_id, role in readable
            if number in sources or (role == "assistant" and photo_id not in elsewhere)
        }


def _words_that_stay(forgotten: Iterable[MemoryEntry], others: Sequence[MemoryEntry]) -> dict[str, frozenset[str]]:
    """Returns, by the text of each forgotten entry, the words of other entries with the same evidence that state part of it."""
    staying: dict[str, frozenset[str]] = {}
    for memory in forgotten:
        words, ids = set(finished_words(memory.text)), set(memory.evidence_message_ids())
        beside = [
            set(finished_words(other.text)) for other in others if not ids.isdisjoint(other.evidence_message_ids())
        ]
        staying[memory.text] = frozenset().union(*(part for part in beside if part < words))
    return staying


def _evidence_sentences(
    memory: MemoryEntry, evidence: Sequence[Message], others: Sequence[MemoryEntry]
) -> set[MessageSpan]:
    """Returns the spans of an entry's evidence that state it.

    If none do, for example because they are in another language, these are all sentences of the user in the evidence that no
    other memory states.
    """
    spans = set[MessageSpan]()
    for source in evidence:
        is_from_user = source.role == "user"
        beside = [other.text for other in others if is_from_user and other.rests_on_message(source.message_id)]
        stating = spans_of_statement(memory.text, source.text, beside)
        spans |= {MessageSpan(source.message_id, *span) for span in stating}
    if spans:
        return spans
    for source in evidence:
        if source.role == "user":
            staying = [
                span
                for other in others
                if other.rests_on_message(source.message_id)
                for span in matching_sentences(other.text, source.text)
            ]
            sentences = sentence_spans(source.text)
            spans |= {MessageSpan(source.message_id, *span) for span in sentences if span not in staying}
    return spans


def _covers(spans: Sequence[Span], text: str) -> bool:
    return all(any(start <= first and last <= end for start, end in spans) for first, last in sentence_spans(text))
