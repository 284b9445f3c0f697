"""Finds where the assistant's replies and their traces reveal erased content."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import select, update

from m2a.memory import change_log, held_memories, reply_sources
from m2a.memory.quotations import Span
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.repetitions import is_code, reveals, sentences_containing
from m2a.memory.schema import entry, entry_history, message, message_reading, pending_update, photo
from m2a.memory.sql import same_ids
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import FORGOTTEN, without_marks
from m2a.memory.words import finished_words
from m2a.types import MessageSpan, RecordKey, Role

# Words with which the assistant speaks about its memory and about photos. They reveal nothing of what the user said.
_ASSISTANT_WORDS = frozenset(
    finished_words(
        """
        photo picture image show shown showing recognise see seen look name named call called tell told telling say said
        know remember memory keep kept forget forgot forgotten message conversation chat change changed near nearest sure
        answer ask asked question note noted
        """
    )
)


def revealing_text(role: Role, text: str) -> str:
    """Returns the revealing part of an erased text: all of a user's text, but only the codes in a reply, whose phrases recur."""
    return text if role == "user" else " ".join(word for word in finished_words(text) if is_code(word))


def words_only_in_erased(unit: UnitOfWork, texts: Iterable[str]) -> set[str]:
    """Returns the revealing words: those in the texts that occur in nothing of the user's that remains."""
    words = {word for text in texts for word in finished_words(without_marks(text))}
    from_user = (
        select(message.c.words, message_reading.c.words)
        .select_from(message.outerjoin(message_reading, same_ids(message_reading, message, "message_id")))
        .where(unit.owns(message), message.c.role == "user")
    )
    for logged, readable in unit.execute(from_user):
        words.difference_update((logged if readable is None else readable).split())
    for remaining in (
        select(entry.c.text, entry.c.caption).where(unit.owns(entry), entry.c.alive),
        select(photo.c.caption).where(unit.owns(photo)),
    ):
        for row in unit.execute(remaining):
            words.difference_update(word for text in row for word in finished_words(text))
    return words


def revealing_spans(
    unit: UnitOfWork,
    raw: RawMessageStore,
    revealing_words: Collection[str],
    *,
    citing: Collection[int],
    conversation_ids: Collection[str],
    since: int,
) -> set[MessageSpan]:
    """Returns the spans of the assistant's messages, from the message `since` on, that reveal erased content.

    In replies that rest on it (`citing`), and in later messages of its conversations, these are all sentences with one of the
    revealing words; a citing reply without such a sentence is revealing as a whole. Elsewhere, these are sentences with several
    such words or with a code.
    """
    messages = select(message.c.message_id, message.c.conversation_id, message.c.words).where(
        unit.owns(message), message.c.role == "assistant", message.c.message_id >= since
    )
    revealing = set(revealing_words) - _ASSISTANT_WORDS
    near, far = set(citing), set[int]()
    for message_id, conversation_id, words in unit.execute(messages):
        shared = revealing.intersection(words.split())
        if shared and conversation_id in conversation_ids:
            near.add(message_id)
        elif reveals(shared):
            far.add(message_id)
    result = set[MessageSpan]()
    for number, reply in raw.as_logged(unit, near | far).items():
        spans: list[Span] = sentences_containing(revealing, reply.text)
        if number not in near:
            spans = [
                span for span in spans if reveals(revealing.intersection(finished_words(reply.text[slice(*span)])))
            ]
        elif number in citing and not spans and reply.text:
            spans = [(0, len(reply.text))]
        result |= {MessageSpan(number, *span) for span in spans}
    return result


def scrub_notes(
    unit: UnitOfWork,
    revealing_words: Collection[str],
    erased: Collection[RecordKey],
    photo_ids: Collection[str],
    forgettings: Collection[int],
    rewritten: Collection[int],
) -> None:
    """Removes from traces, histories and failed updates everything that names or reveals erased content.

    Changes keep their numbers. In `rewritten` messages all positions have moved, so refused requests to forget parts of them
    can no longer be carried out.
    """
    for reply_id, _answers, steps in change_log.traces(unit):
        scrubbed = _scrubbed(steps, set(revealing_words), erased, photo_ids, forgettings, rewritten)
        if scrubbed != steps:
            change_log.write_steps(unit, reply_id, scrubbed)
            for number, refusal in enumerate(scrubbed.get("refusals", ())):
                if refusal["change"] is None:
                    held_memories.settle(unit, reply_id, number)
    reply_sources.erase(unit, erased)
    for table, key, column, nothing in (
        (entry_history, entry_history.c.history_id, entry_history.c.why, ""),
        (pending_update, pending_update.c.message_id, pending_update.c.last_error, None),
    ):
        for number, text in unit.execute(select(key, column).where(unit.owns(table), column != "")).all():
            if _contains_any(text, revealing_words):
                same_row = unit.owns(table) & (key == number)
                unit.execute(update(table).where(same_row).values({column: nothing}))


def _scrubbed(
    steps: Mapping[str, Any],
    revealing_words: Collection[str],
    erased: Collection[RecordKey],
    photo_ids: Collection[str],
    forgettings: Collection[int],
    rewritten: Collection[int],
) -> dict[str, Any]:
    memory_ids = {key.record_id for key in erased if key.kind == "entry"}
    message_ids = {key.record_id for key in erased if key.kind == "message"}
    searches = [
        search
        | {
            "photo_ids": [photo_id for photo_id in search["photo_ids"] if photo_id not in photo_ids],
            "hits": [hit for hit in search["hits"] if _key(hit) not in erased],
        }
        for search in steps.get("searches", ())
        if not _contains_any(search["text"], revealing_words)
    ]
    sources = [
        source | {"message_ids": [number for number in source["message_ids"] if number not in message_ids]}
        for source in steps.get("sources", ())
        if _key(source["hit"]) not in erased
    ]
    scrubbed = {**steps, "searches": searches, "sources": sources}
    if "changes" in steps:
        scrubbed["changes"] = [
            change | {"undone": True, "erased": True}
            if change.get("forgetting_id") in forgettings or {change["memory_id"], change["previous_id"]} & memory_ids
            else change
            for change in steps["changes"]
        ]
    if "refusals" in steps:
        scrubbed["refusals"] = [
            refusal | {"text": FORGOTTEN, "reason": "", "change": None}
            if _contains_any(json.dumps(refusal, ensure_ascii=False), revealing_words)
            else refusal | {"change": None}
            if any(message_id in rewritten for message_id, *_span in (refusal["change"] or {}).get("spans", ()))
            else refusal
            for refusal in steps["refusals"]
        ]
    return scrubbed


def _key(hit: Mapping[str, Any]) -> RecordKey:
    return RecordKey(hit["kind"], hit["id"])


def _contains_any(text: str, revealing_words: Collection[str]) -> bool:
    return not set(finished_words(text)).isdisjoint(revealing_words)
