"""Checks whether database, photos and index agree (`verify`), and repairs what it can (`repair`)."""

from collections.abc import Iterator
from datetime import UTC, datetime

from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from m2a.memory import updates
from m2a.memory.database import Database
from m2a.memory.owners import all_owners
from m2a.memory.restoration import restore_wrongly_replaced, wrongly_replaced
from m2a.memory.schema import (
    entry,
    entry_concept,
    entry_evidence,
    entry_history,
    entry_photo,
    message,
    message_photo,
    pending_update,
    photo,
)
from m2a.memory.stores import Stores
from m2a.memory.unit_of_work import UnitOfWork
from m2a.plurals import plural


def verify(stores: Stores) -> list[str]:
    """Returns a sentence for every fault; an empty list means that everything agrees. Changes nothing.

    If the database file is damaged, that is the only fault reported, because nothing read from it can be trusted.
    """
    if faults := list(_database_faults(stores.database)):
        return faults
    faults = list(_photo_faults(stores))
    indexer = stores.retrieval().indexer
    faults += (broken := indexer.faults())
    for owner in all_owners(stores.database):
        faults += _record_faults(stores.database, owner)
        faults += wrongly_replaced(stores.database, owner)
        with stores.database.read(owner) as unit:
            set_aside = updates.pending(unit, set_aside=True)
        faults += [
            f"The update after message {reply_id} failed and was set aside; `m2a repair` retries it."
            for reply_id in set_aside
        ]
        if broken:  # the contents of a broken index cannot be compared
            continue
        faults += [
            f"The index is wrong about {difference.record} {difference.record_id}: {difference.problem}."
            for difference in indexer.differences(owner)
        ]
    return faults


def repair(stores: Stores) -> list[str]:
    """Repairs what can be repaired without losing acknowledged data. Returns a sentence for each repair.

    Photo files stay if the database is damaged, or if it may not be the one that they belong to.
    """
    if any(_database_faults(stores.database)):
        return []
    repairs = []
    if removed := remove_unreferenced_photos(stores):
        repairs.append(f"Removed {plural(removed, 'photo file')} that no message shows.")
    if thumbnails := stores.photos.remove_damaged_thumbnails():
        repairs.append(f"Removed {plural(thumbnails, 'damaged thumbnail')}; they are made again when they are shown.")
    for owner in all_owners(stores.database):
        repairs += restore_wrongly_replaced(stores.database, owner, datetime.now(UTC))
        with stores.database.write(owner) as unit:
            retried = updates.retry(unit)
        if retried:
            repairs.append(f"{plural(retried, 'failed update')} will be tried again at the next turn.")
    indexer = stores.retrieval().indexer
    if indexer.faults():
        indexer.recover()
        repairs.append("The index was broken, so it is rebuilt from the database.")
    for owner in all_owners(stores.database):
        wrong = indexer.differences(owner)  # before the drain, which refills a lost collection by itself
        indexer.drain(owner)
        indexer.repair(indexer.differences(owner))
        if corrected := len(wrong) - len(indexer.differences(owner)):
            repairs.append(f"Corrected {plural(corrected, 'record')} in the index.")
    return repairs


def remove_unreferenced_photos(stores: Stores) -> int:
    """Removes the photo files without a row, and returns their number.

    Removes none if the database does not know the owner of one of them, because it may then be the wrong database.
    """
    owners = {path.parent.name for path in stores.photos.audit().files_without_row}
    return 0 if owners - set(all_owners(stores.database)) else stores.photos.remove_unreferenced()


def _database_faults(database: Database) -> Iterator[str]:
    if database.is_sqlite:
        try:
            with database.snapshot() as connection:
                for (line,) in connection.execute(text("PRAGMA integrity_check")):
                    if line != "ok":
                        yield f"The database file is damaged; restore it from a backup: {line}"
        except DBAPIError as error:
            yield f"The database file is damaged; restore it from a backup: {error.orig}"


def _photo_faults(stores: Stores) -> Iterator[str]:
    audit = stores.photos.audit()
    owners = set(all_owners(stores.database))
    for path in audit.files_without_row:
        if path.parent.name in owners:
            yield f"No message shows the photo file {path.name}."
        else:
            yield f"The photo file {path} belongs to an owner unknown to this database; check that it is the right database."
    for _owner, photo_id in audit.rows_without_file:
        yield f"The file of photo {photo_id} is missing."
    for _owner, photo_id in audit.rows_with_damaged_file:
        yield f"The file of photo {photo_id} is damaged."
    for _owner, photo_id in audit.rows_with_damaged_thumbnail:
        yield f"The thumbnail of photo {photo_id} is damaged."


def _record_faults(database: Database, owner: str) -> Iterator[str]:
    with database.read(owner) as unit:
        known_photos = set(unit.scalars(select(photo.c.photo_id).where(unit.owns(photo))))
        known_messages = set(unit.scalars(select(message.c.message_id).where(unit.owns(message))))
        shown = set(
            unit.execute(select(message_photo.c.message_id, message_photo.c.photo_id).where(unit.owns(message_photo)))
        )
        for message_id, photo_id in sorted(shown):
            if photo_id not in known_photos:
                yield f"Message {message_id} shows photo {photo_id}, which is not stored."
            if message_id not in known_messages:
                yield f"Photo {photo_id} belongs to message {message_id}, which does not exist."
        yield from _entry_faults(unit, known_messages, known_photos)
        for message_id in unit.scalars(select(pending_update.c.message_id).where(unit.owns(pending_update))):
            if message_id not in known_messages:
                yield f"An update is pending for message {message_id}, which does not exist."


def _entry_faults(unit: UnitOfWork, known_messages: set[int], known_photos: set[str]) -> Iterator[str]:
    entries = {row.memory_id: row for row in unit.execute(select(entry).where(unit.owns(entry)))}
    evidence = unit.execute(select(entry_evidence).where(unit.owns(entry_evidence))).all()
    for row in evidence:
        for end in {row.first_id, row.last_id}:
            if end not in known_messages:
                yield f"Memory {row.memory_id} rests on message {end}, which does not exist."
    supported = {row.memory_id for row in evidence}
    versions = dict(
        unit.execute(
            select(entry_history.c.memory_id, func.max(entry_history.c.version))
            .where(unit.owns(entry_history))
            .group_by(entry_history.c.memory_id)
        ).all()
    )
    for memory_id, row in entries.items():
        if memory_id not in supported:
            yield f"Memory {memory_id} has no evidence."
        if versions.get(memory_id) != row.version:
            yield f"The history of memory {memory_id} lacks its version {row.version}."
    for part, table in (("A photo", entry_photo), ("A name", entry_concept)):
        for memory_id in unit.scalars(select(table.c.memory_id).where(unit.owns(table))):
            if memory_id not in entries:
                yield f"{part} belongs to memory {memory_id}, which does not exist."
    photos = select(entry_photo.c.memory_id, entry_photo.c.photo_id).where(unit.owns(entry_photo))
    for memory_id, photo_id in unit.execute(photos):
        if photo_id not in known_photos:
            yield f"Memory {memory_id} holds photo {photo_id}, which is not stored."
