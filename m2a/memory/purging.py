"""Purging: what was erased is taken out of the bytes of every file. One that was cut off is done again, whole."""

from datetime import datetime

from m2a.memory import receipts
from m2a.memory.audit import owners_of_strays
from m2a.memory.database import Database
from m2a.memory.owners import all_owners
from m2a.memory.stores import Stores


def is_purge_due(database: Database) -> bool:
    """Whether the disk may still hold what was erased."""
    with database.snapshot() as connection:
        return bool(receipts.unpurged(connection))


def purge(stores: Stores, now: datetime) -> int:
    """Wipe what was deleted from database, index, cache of vectors and photos; how many erasures are off the disk by that.

    Also finishes what a crash cut off after an erasure. Raises `DatabaseError` and `IndexUnavailableError`: all of it can be
    done again.
    """
    with stores.database.snapshot() as connection:
        erased = receipts.unpurged(connection)
    if not owners_of_strays(stores) - set(all_owners(stores.database)):
        stores.photos.remove_unreferenced()
    stores.retrieval().indexer.purge()
    stores.database.purge()
    with stores.database.transaction() as connection:
        receipts.note_purged(connection, erased, now)
    return len(erased)


def out_of_reach(stores: Stores) -> list[str]:
    """What no purge reaches, a sentence each."""
    found = ["Backups and snapshots, and what a disk keeps of a file that was removed, are not reached."]
    if not stores.database.is_sqlite:
        found.append("PostgreSQL keeps its write-ahead log until it is recycled.")
    if not stores.retrieval().index.is_lite:
        found.append("The Milvus server keeps deleted rows until it compacts by itself.")
    return found
