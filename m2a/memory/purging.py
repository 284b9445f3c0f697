"""Purging: removes the bytes of erased content from every file. An interrupted purge starts again from the beginning."""

from datetime import datetime

from m2a.memory import receipts
from m2a.memory.audit import remove_unreferenced_photos
from m2a.memory.database import Database
from m2a.memory.stores import Stores


def is_purge_due(database: Database) -> bool:
    """Returns whether the disk may still contain erased content."""
    with database.snapshot() as connection:
        return bool(receipts.unpurged(connection))


def purge(stores: Stores, now: datetime) -> int:
    """Wipes deleted content from the database, the index, the cached vectors and the photos.

    Returns the number of erasures that this removed from the disk. Also finishes erasures that a crash has interrupted.
    Raises `DatabaseError` and `IndexUnavailableError`; it is safe to purge again afterwards.
    """
    with stores.database.snapshot() as connection:
        erased = receipts.unpurged(connection)
    remove_unreferenced_photos(stores)
    stores.retrieval().indexer.purge()
    stores.database.purge()
    with stores.database.transaction() as connection:
        receipts.note_purged(connection, erased, now)
    return len(erased)


def out_of_reach(stores: Stores) -> list[str]:
    """Returns a sentence about each place that a purge does not reach."""
    sentences = ["Backups and snapshots, and what a disk keeps of deleted files, are not reached."]
    if not stores.database.is_sqlite:
        sentences.append("PostgreSQL keeps its write-ahead log until it is recycled.")
    if not stores.retrieval().index.is_lite:
        sentences.append("The Milvus server keeps deleted rows until it compacts by itself.")
    return sentences
