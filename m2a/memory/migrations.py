"""Migrates a database from an older schema version to the newest. M2A opens the databases of all its earlier versions.

A migration never changes: it states in SQL what its version changed, and uses neither the tables in `schema`, which are the
newest, nor other code that may change. Work that needs the program's current rules (finding the words of a forgotten memory)
is left to `version_1_forgettings.withhold_forgotten_entries`, which runs once the schema is up to date.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, text

from m2a.memory.schema import SCHEMA_VERSION

# The authors of entries under schema version 1 that are not language models; every other name is that of a model.
_CHECKED_WRITERS = ("offline rules", "the user", "M2A")

# Settings that tell `version_1_forgettings` and `restoration` what schema version 1 left behind.
LAST_HISTORY_OF_VERSION_1 = "last_history_of_schema_1"
FORGOTTEN_BEFORE_WITHHOLDING = "forgotten_before_words_were_withheld"


def migrate(connection: Connection, version: int) -> None:
    """Runs all migrations after `version`, in order, in the caller's transaction."""
    is_sqlite = connection.dialect.name == "sqlite"
    types = {
        "id": "INTEGER" if is_sqlite else "BIGINT",
        "serial": "INTEGER" if is_sqlite else "BIGSERIAL",
        "bytes": "BLOB" if is_sqlite else "BYTEA",
        "false": "0" if is_sqlite else "false",
    }
    for number in range(version + 1, SCHEMA_VERSION + 1):
        statements, move = _MIGRATIONS[number]
        for statement in statements.format(**types).split(";"):
            connection.exec_driver_sql(statement)
        if move is not None:
            move(connection)
        _execute(connection, "UPDATE setting SET value = :version WHERE key = 'schema_version'", version=str(number))


# Version 2: entries record what they rest on and what they correct, words can be withheld, and update records are gone.

_VERSION_2 = """
ALTER TABLE owner ADD COLUMN last_forgetting_id {id} DEFAULT '0' NOT NULL;
ALTER TABLE entry ADD COLUMN rests_on VARCHAR(9) DEFAULT 'stated' NOT NULL;
ALTER TABLE entry ADD COLUMN corrects {id};
CREATE INDEX entry_by_correction ON entry (owner, corrects);
ALTER TABLE entry_history ADD COLUMN successor_id {id};
ALTER TABLE concept_alias ADD COLUMN memory_id {id};
CREATE TABLE concept_photo_of_version_1 AS SELECT * FROM concept_photo;
DROP TABLE concept_photo;
CREATE TABLE concept_photo (
    owner VARCHAR(32) NOT NULL,
    concept_id {id} NOT NULL,
    photo_id VARCHAR(64) NOT NULL,
    memory_id {id} NOT NULL,
    who TEXT NOT NULL,
    message_id {id} NOT NULL,
    PRIMARY KEY (owner, concept_id, photo_id, memory_id)
);
INSERT INTO concept_photo (owner, concept_id, photo_id, memory_id, who, message_id)
    SELECT owner, concept_id, photo_id, memory_id, who, message_id FROM concept_photo_of_version_1;
DROP TABLE concept_photo_of_version_1;
ALTER TABLE pending_update ADD COLUMN answers {id} DEFAULT '0' NOT NULL;
ALTER TABLE pending_update ADD COLUMN set_aside BOOLEAN DEFAULT {false} NOT NULL;
CREATE TABLE forgotten_entry (
    owner VARCHAR(32) NOT NULL,
    forgetting_id {id} NOT NULL,
    memory_id {id} NOT NULL,
    was_alive BOOLEAN NOT NULL,
    PRIMARY KEY (owner, forgetting_id, memory_id)
);
CREATE INDEX forgotten_entry_by_memory ON forgotten_entry (owner, memory_id);
CREATE TABLE withheld_words (
    owner VARCHAR(32) NOT NULL,
    forgetting_id {id} NOT NULL,
    message_id {id} NOT NULL,
    first_character INTEGER NOT NULL,
    last_character INTEGER NOT NULL,
    PRIMARY KEY (owner, forgetting_id, message_id, first_character)
);
CREATE INDEX withheld_words_of_message ON withheld_words (owner, message_id);
CREATE TABLE withheld_photo (
    owner VARCHAR(32) NOT NULL,
    forgetting_id {id} NOT NULL,
    message_id {id} NOT NULL,
    photo_id VARCHAR(64) NOT NULL,
    PRIMARY KEY (owner, forgetting_id, message_id, photo_id)
);
CREATE INDEX withheld_photo_of_message ON withheld_photo (owner, message_id);
CREATE TABLE message_reading (
    owner VARCHAR(32) NOT NULL,
    message_id {id} NOT NULL,
    version INTEGER NOT NULL,
    words TEXT,
    PRIMARY KEY (owner, message_id)
)
"""

# Version 1 created these tables when a database was opened, so some databases lack them.
_RANKED_TABLES = """
CREATE TABLE IF NOT EXISTS ranked_record (
    owner VARCHAR(32) NOT NULL,
    kind VARCHAR(7) NOT NULL,
    record_id {id} NOT NULL,
    version INTEGER NOT NULL,
    conversation_id VARCHAR(32) NOT NULL,
    speaker TEXT NOT NULL,
    said_at BIGINT NOT NULL,
    words TEXT NOT NULL,
    traits {bytes} NOT NULL,
    vector {bytes} NOT NULL,
    tokens {bytes} NOT NULL,
    PRIMARY KEY (owner, kind, record_id)
);
CREATE TABLE IF NOT EXISTS ranked_count (
    owner VARCHAR(32) NOT NULL,
    counted VARCHAR(15) NOT NULL,
    item TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (owner, counted, item)
)
"""


# Version 3: users can say what a photo does not show, photos without a name are captioned too, and a column says which message
# a reply answers.
_VERSION_3 = """
ALTER TABLE concept_photo ADD COLUMN is_denied BOOLEAN DEFAULT {false} NOT NULL;
ALTER TABLE photo ADD COLUMN captioned_by TEXT DEFAULT '' NOT NULL;
UPDATE photo SET captioned_by = 'schema version 2' WHERE caption <> '';
ALTER TABLE trace ADD COLUMN answers {id} DEFAULT '0' NOT NULL
"""

# Version 4: erasures leave receipts.
_VERSION_4 = """
CREATE TABLE receipt (
    receipt_id {serial} NOT NULL,
    owner VARCHAR(32) NOT NULL,
    kind VARCHAR(12) NOT NULL,
    erased TEXT NOT NULL,
    erased_at BIGINT NOT NULL,
    purged_at BIGINT,
    PRIMARY KEY (receipt_id)
)
"""

# Version 5: owners have settings, and refused memories of past turns are listed in one place.
_VERSION_5 = """
CREATE TABLE owner_setting (
    owner VARCHAR(32) NOT NULL,
    key VARCHAR(40) NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner, key)
);
CREATE TABLE held_memory (
    owner VARCHAR(32) NOT NULL,
    message_id {id} NOT NULL,
    number INTEGER NOT NULL,
    held VARCHAR(8) NOT NULL,
    PRIMARY KEY (owner, message_id, number)
)
"""

# Version 6: memories can be pinned, can have a last day, and can be kept without being used.
_VERSION_6 = """
ALTER TABLE entry ADD COLUMN pinned_at BIGINT;
ALTER TABLE entry ADD COLUMN used_until VARCHAR(10);
CREATE INDEX entry_by_pin ON entry (owner, pinned_at);
CREATE INDEX entry_by_last_day ON entry (owner, used_until);
CREATE TABLE kept_back (
    owner VARCHAR(32) NOT NULL,
    memory_id {id} NOT NULL,
    forgetting_id {id} NOT NULL,
    reason VARCHAR(11) NOT NULL,
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (owner, memory_id)
);
CREATE INDEX kept_back_by_forgetting ON kept_back (owner, forgetting_id)
"""

# Version 7: the cost of a turn is stored with its reply, and dismissed findings are stored.
_VERSION_7 = """
CREATE TABLE turn_cost (
    owner VARCHAR(32) NOT NULL,
    message_id {id} NOT NULL,
    stage VARCHAR(6) NOT NULL,
    measured_at BIGINT NOT NULL,
    seconds FLOAT NOT NULL,
    first_word FLOAT,
    calls INTEGER NOT NULL,
    input_tokens BIGINT,
    output_tokens BIGINT,
    dollars FLOAT,
    PRIMARY KEY (owner, message_id, stage)
);
CREATE INDEX turn_cost_by_time ON turn_cost (owner, measured_at);
CREATE TABLE dismissed_finding (
    owner VARCHAR(32) NOT NULL,
    kind VARCHAR(13) NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (owner, kind, subject)
)
"""

# Version 8: an index for searches, which skip messages that the user has edited.
_VERSION_8 = "CREATE INDEX message_by_replaced ON message (owner, replaces)"

# Version 9: columns say what replies rest on and how many of their changes stand, which was only in JSON before.
_VERSION_9 = """
ALTER TABLE trace ADD COLUMN changes INTEGER DEFAULT '0' NOT NULL;
CREATE TABLE reply_source (
    owner VARCHAR(32) NOT NULL,
    message_id {id} NOT NULL,
    kind VARCHAR(7) NOT NULL,
    record_id {id} NOT NULL,
    PRIMARY KEY (owner, message_id, kind, record_id)
);
CREATE INDEX reply_source_by_record ON reply_source (owner, record_id)
"""

# Version 10: long records are ranked by passages. 500 characters is the longest passage.
_VERSION_10 = """
INSERT INTO outbox (owner, record, record_id)
    SELECT owner, 'message', CAST(message_id AS VARCHAR) FROM message WHERE length(text) > 500;
INSERT INTO outbox (owner, record, record_id)
    SELECT owner, 'entry', CAST(memory_id AS VARCHAR) FROM entry WHERE alive AND length(text) + length(caption) >= 500
"""


def _to_version_2(connection: Connection) -> None:
    _drop_update_records(connection)
    _rewrite_history(connection)
    _leave_entries_their_own_evidence(connection)
    _note_what_entries_rest_on(connection)
    _note_what_was_forgotten(connection)
    _rewrite_traces(connection)
    _note_answered_messages(connection)
    last = connection.scalar(text("SELECT max(history_id) FROM entry_history"))
    _set(connection, LAST_HISTORY_OF_VERSION_1, str(last or 0))


def _drop_update_records(connection: Connection) -> None:
    """Deletes update records, which repeat the text of changed memories; the history already records the changes."""
    records = _rows(connection, "SELECT owner, memory_id FROM entry WHERE kind = 'update record'")
    for row in records:
        this = {"owner": row.owner, "memory_id": row.memory_id}
        for table in ("entry", "entry_history", "entry_evidence", "entry_photo", "entry_concept"):
            _execute(connection, f"DELETE FROM {table} WHERE owner = :owner AND memory_id = :memory_id", **this)
        _tell_index(connection, row.owner, row.memory_id)


def _rewrite_history(connection: Connection) -> None:
    """Names the successor in the last row of a replaced entry, and empties reasons, which quoted the user and other memories."""
    _execute(
        connection,
        """UPDATE entry_history SET change = 'superseded', successor_id = (
               SELECT e.successor_id FROM entry e WHERE e.owner = entry_history.owner
               AND e.memory_id = entry_history.memory_id)
           WHERE change = 'deleted' AND EXISTS (
               SELECT 1 FROM entry e WHERE e.owner = entry_history.owner AND e.memory_id = entry_history.memory_id
               AND e.successor_id IS NOT NULL)""",
    )
    _execute(connection, "UPDATE entry_history SET why = ''")


def _leave_entries_their_own_evidence(connection: Connection) -> None:
    """Removes from an entry the evidence of the entry that it replaced, which version 1 had added."""
    _execute(
        connection,
        """DELETE FROM entry_evidence WHERE EXISTS (
               SELECT 1 FROM entry older JOIN entry_evidence shared
                   ON shared.owner = older.owner AND shared.memory_id = older.memory_id
               WHERE older.owner = entry_evidence.owner AND older.successor_id = entry_evidence.memory_id
               AND shared.first_id = entry_evidence.first_id AND shared.last_id = entry_evidence.last_id)
           AND EXISTS (
               SELECT 1 FROM entry_evidence own
               WHERE own.owner = entry_evidence.owner AND own.memory_id = entry_evidence.memory_id
               AND NOT EXISTS (
                   SELECT 1 FROM entry older JOIN entry_evidence shared
                       ON shared.owner = older.owner AND shared.memory_id = older.memory_id
                   WHERE older.owner = own.owner AND older.successor_id = own.memory_id
                   AND shared.first_id = own.first_id AND shared.last_id = own.last_id))""",
    )


def _note_what_entries_rest_on(connection: Connection) -> None:
    for row in _rows(connection, "SELECT owner, memory_id, who FROM entry_history WHERE change = 'added'"):
        if row.who not in _CHECKED_WRITERS:
            _execute(
                connection,
                "UPDATE entry SET rests_on = 'unchecked' WHERE owner = :owner AND memory_id = :memory_id",
                owner=row.owner,
                memory_id=row.memory_id,
            )


def _note_what_was_forgotten(connection: Connection) -> None:
    """Turns each entry that was deleted for good into a forgetting of its own, with everything that it had superseded."""
    gone = _rows(
        connection,
        "SELECT owner, memory_id FROM entry WHERE NOT alive AND successor_id IS NULL ORDER BY owner, memory_id",
    )
    for row in gone:
        _execute(
            connection,
            "UPDATE owner SET last_forgetting_id = last_forgetting_id + 1 WHERE owner = :owner",
            owner=row.owner,
        )
        pending = [row.memory_id]
        while pending:
            memory_id = pending.pop()
            _execute(
                connection,
                """INSERT INTO forgotten_entry (owner, forgetting_id, memory_id, was_alive)
                   SELECT o.owner, o.last_forgetting_id, e.memory_id, e.successor_id IS NULL FROM owner o, entry e
                   WHERE o.owner = :owner AND e.owner = o.owner AND e.memory_id = :memory_id""",
                owner=row.owner,
                memory_id=memory_id,
            )
            pending += [
                older.memory_id
                for older in _rows(
                    connection,
                    "SELECT memory_id FROM entry WHERE owner = :owner AND successor_id = :memory_id",
                    owner=row.owner,
                    memory_id=memory_id,
                )
            ]
    if gone:
        _set(connection, FORGOTTEN_BEFORE_WITHHOLDING, "1")


def _rewrite_traces(connection: Connection) -> None:
    """Converts the changes of replies to the form of version 2, with the id of each forgetting for undoing it."""
    forgettings = {
        (row.owner, row.memory_id): row.forgetting_id
        for row in _rows(connection, "SELECT owner, memory_id, forgetting_id FROM forgotten_entry WHERE was_alive")
    }
    for owner, message_id, steps in _traces(connection):
        if not steps.get("changes"):
            continue
        for change in steps["changes"]:
            change["rival_ids"] = []
            if change["change"] == "deleted":
                change["change"] = "forgotten"
                change["forgetting_id"] = forgettings.get((owner, change["previous_id"]))
            elif change["change"] == "replaced":
                change |= {"is_new": True, "along": [change["previous_id"]]}
        _execute(
            connection,
            "UPDATE trace SET steps = :steps WHERE owner = :owner AND message_id = :message_id",
            steps=json.dumps(steps),
            owner=owner,
            message_id=message_id,
        )


def _note_answered_messages(connection: Connection) -> None:
    pending = _rows(
        connection,
        """SELECT p.owner, p.message_id, t.steps FROM pending_update p
           JOIN trace t ON t.owner = p.owner AND t.message_id = p.message_id""",
    )
    for row in pending:
        _execute(
            connection,
            "UPDATE pending_update SET answers = :answers WHERE owner = :owner AND message_id = :message_id",
            answers=int(json.loads(row.steps)["answers"]),
            owner=row.owner,
            message_id=row.message_id,
        )


def _move_answered_messages(connection: Connection) -> None:
    for owner, message_id, steps in _traces(connection):
        if "answers" in steps:
            _execute(
                connection,
                "UPDATE trace SET answers = :answers, steps = :steps WHERE owner = :owner AND message_id = :message_id",
                answers=int(steps.pop("answers")),
                steps=json.dumps(steps),
                owner=owner,
                message_id=message_id,
            )
    _execute(connection, "ALTER TABLE pending_update DROP COLUMN answers")


def _note_held_memories(connection: Connection) -> None:
    for owner, message_id, steps in _traces(connection):
        for number, refusal in enumerate(steps.get("refusals", ())):
            kind = (refusal.get("change") or {}).get("kind")
            if kind in ("Addition", "Replacement") and not refusal.get("done"):
                _execute(
                    connection,
                    "INSERT INTO held_memory (owner, message_id, number, held) VALUES (:owner, :message_id, :number, 'check')",
                    owner=owner,
                    message_id=message_id,
                    number=number,
                )


def _note_sources_and_changes(connection: Connection) -> None:
    for owner, message_id, steps in _traces(connection):
        this = {"owner": owner, "message_id": message_id}
        if changes := sum(not change.get("undone") for change in steps.get("changes", ())):
            _execute(
                connection,
                "UPDATE trace SET changes = :changes WHERE owner = :owner AND message_id = :message_id",
                **this,
                changes=changes,
            )
        hits = [source["hit"] for source in steps.get("sources", ())]
        for kind, record_id in sorted({(hit["kind"], hit["id"]) for hit in hits}):
            _execute(
                connection,
                "INSERT INTO reply_source (owner, message_id, kind, record_id) VALUES (:owner, :message_id, :kind, :record_id)",
                **this,
                kind=kind,
                record_id=record_id,
            )


_MIGRATIONS: Mapping[int, tuple[str, Callable[[Connection], None] | None]] = {
    2: (f"{_RANKED_TABLES};{_VERSION_2}", _to_version_2),
    3: (_VERSION_3, _move_answered_messages),
    4: (_VERSION_4, None),
    5: (_VERSION_5, _note_held_memories),
    6: (_VERSION_6, None),
    7: (_VERSION_7, None),
    8: (_VERSION_8, None),
    9: (_VERSION_9, _note_sources_and_changes),
    10: (_VERSION_10, None),
}


def _traces(connection: Connection) -> list[tuple[str, int, dict[str, Any]]]:
    """Returns (owner, message id, trace) for every reply with a trace."""
    rows = _rows(connection, "SELECT owner, message_id, steps FROM trace")
    loaded = [(row.owner, row.message_id, json.loads(row.steps)) for row in rows]
    return [row for row in loaded if isinstance(row[2], dict)]


def _tell_index(connection: Connection, owner: str, memory_id: int) -> None:
    _execute(
        connection,
        "INSERT INTO outbox (owner, record, record_id) VALUES (:owner, 'entry', :record_id)",
        owner=owner,
        record_id=str(memory_id),
    )


def _set(connection: Connection, key: str, value: str) -> None:
    _execute(connection, "INSERT INTO setting (key, value) VALUES (:key, :value)", key=key, value=value)


def _execute(connection: Connection, statement: str, **values: object) -> None:
    connection.execute(text(statement), values)


def _rows(connection: Connection, statement: str, **values: object) -> list[Row]:  # type: ignore[type-arg]
    return list(connection.execute(text(statement), values))
