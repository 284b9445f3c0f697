"""The tables of the database in the newest schema version. `migrations` upgrades older databases to it."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.schema import SchemaItem

SCHEMA_VERSION = 10

metadata = MetaData()
_Id = BigInteger().with_variant(Integer, "sqlite")


def _table(name: str, *columns: SchemaItem) -> Table:
    """Returns a table whose rows belong to an owner, the first part of their key."""
    return Table(name, metadata, Column("owner", String(32), primary_key=True), *columns)


def _key(name: str) -> Column[int]:
    """Returns a column for a number that is another part of the key."""
    return Column(name, _Id, primary_key=True, autoincrement=False)


def _owner() -> Column[str]:
    return Column("owner", String(32), nullable=False)


owner = Table(
    "owner",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("last_message_id", _Id, nullable=False, server_default="0"),
    Column("last_memory_id", _Id, nullable=False, server_default="0"),
    Column("last_concept_id", _Id, nullable=False, server_default="0"),
    Column("last_forgetting_id", _Id, nullable=False, server_default="0"),
)

conversation = Table(
    "conversation",
    metadata,
    _owner(),
    Column("conversation_id", String(32), primary_key=True),
    Column("title", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Index("conversation_of_owner", "owner", "started_at"),
)

message = _table(
    "message",
    _key("message_id"),
    Column("conversation_id", String(32), nullable=False),
    Column("role", String(9), nullable=False),
    Column("speaker", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("said_at", BigInteger, nullable=False),
    Column("utc_offset", Integer, nullable=False),
    Column("replaces", _Id),
    Column("reference", Text),
    Column("partial", Boolean, nullable=False),
    CheckConstraint("role IN ('user', 'assistant')"),
    Index("message_of_conversation", "owner", "conversation_id", "message_id"),
    Index("message_by_time", "owner", "said_at"),
    Index("message_by_replaced", "owner", "replaces"),
)

message_photo = _table(
    "message_photo",
    _key("message_id"),
    Column("position", Integer, primary_key=True),
    Column("photo_id", String(64), nullable=False),
    Index("message_photo_by_photo", "owner", "photo_id"),
)

photo = _table(
    "photo",
    Column("photo_id", String(64), primary_key=True),
    Column("media_type", String(20), nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("caption", Text, nullable=False, server_default=""),
    Column("added_at", BigInteger, nullable=False),
    # The id of the captioner, whose caption may be empty; "" if the photo was never captioned.
    Column("captioned_by", Text, nullable=False, server_default=""),
)

entry = _table(
    "entry",
    _key("memory_id"),
    Column("version", Integer, nullable=False),
    Column("alive", Boolean, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Column("folded_hash", String(64), nullable=False),
    Column("caption", Text, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("happened_first", String(10)),
    Column("happened_last", String(10)),
    # The entry that replaced it. An entry that is neither alive nor superseded was undone or forgotten.
    Column("successor_id", _Id),
    Column("rests_on", String(9), nullable=False, server_default="stated"),
    # The entry of which this one corrects a part; both are live.
    Column("corrects", _Id),
    # When the user pinned it, and the last day on which to use it; NULL if not set.
    Column("pinned_at", BigInteger),
    Column("used_until", String(10)),
    Index("entry_alive", "owner", "alive", "kind"),
    Index("entry_by_text", "owner", "folded_hash"),
    Index("entry_by_successor", "owner", "successor_id"),
    Index("entry_by_correction", "owner", "corrects"),
    Index("entry_by_pin", "owner", "pinned_at"),
    Index("entry_by_last_day", "owner", "used_until"),
)

entry_photo = _table(
    "entry_photo",
    _key("memory_id"),
    Column("position", Integer, primary_key=True),
    Column("photo_id", String(64), nullable=False),
    Index("entry_photo_by_photo", "owner", "photo_id"),
)

entry_evidence = _table(
    "entry_evidence",
    _key("memory_id"),
    Column("position", Integer, primary_key=True),
    Column("first_id", _Id, nullable=False),
    Column("last_id", _Id, nullable=False),
    CheckConstraint("first_id <= last_id"),
)

entry_history = Table(
    "entry_history",
    metadata,
    Column("history_id", _Id, primary_key=True, autoincrement=True),
    _owner(),
    Column("memory_id", _Id, nullable=False),
    Column("version", Integer, nullable=False),
    Column("change", String(10), nullable=False),
    Column("text", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    # For a supersession, the entry that replaced it.
    Column("successor_id", _Id),
    Index("entry_history_of_entry", "owner", "memory_id"),
)

concept = _table(
    "concept",
    _key("concept_id"),
    Column("name", Text, nullable=False),
    Column("folded_name", Text, nullable=False),
    Column("kind", String(10), nullable=False),
    UniqueConstraint("owner", "folded_name"),
)

concept_alias = _table(
    "concept_alias",
    _key("concept_id"),
    Column("alias", Text, nullable=False),
    Column("folded_alias", String(400), primary_key=True),
    # The entry that states the alias; NULL in rows from schema version 1.
    Column("memory_id", _Id),
)

entry_concept = _table(
    "entry_concept",
    _key("memory_id"),
    _key("concept_id"),
    Index("entry_concept_by_concept", "owner", "concept_id"),
)

# Links between photos and concepts, with their author and the message in which the user said so. A link holds while its entry is
# live. A denied link says that the photo does not show the concept.
concept_photo = _table(
    "concept_photo",
    _key("concept_id"),
    Column("photo_id", String(64), primary_key=True),
    _key("memory_id"),
    Column("who", Text, nullable=False),
    Column("message_id", _Id, nullable=False),
    Column("is_denied", Boolean, nullable=False, server_default=false()),
)

# The records that are queued for the index, in order. `record` is `entry`, `message` or `photo`.
outbox = Table(
    "outbox",
    metadata,
    Column("sequence", _Id, primary_key=True, autoincrement=True),
    _owner(),
    Column("record", String(7), nullable=False),
    Column("record_id", String(64), nullable=False),
)

embedding = Table(
    "embedding",
    metadata,
    Column("content_hash", String(64), primary_key=True),
    Column("encoder_id", String(200), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

# The data that the ranking needs besides the index (`fusion = "best"`). It is computed from the record, so it can be rebuilt. The
# tokens contain traces of the two messages before it.
ranked_record = _table(
    "ranked_record",
    Column("kind", String(7), primary_key=True),
    _key("record_id"),
    Column("version", Integer, nullable=False),
    Column("conversation_id", String(32), nullable=False),
    Column("speaker", Text, nullable=False),
    Column("said_at", BigInteger, nullable=False),
    Column("words", Text, nullable=False),
    Column("traits", LargeBinary, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Column("tokens", LargeBinary, nullable=False),
)

# The numbers of ranked records that contain a word, that are by a speaker, and in total, updated in the same transactions.
ranked_count = _table(
    "ranked_count",
    Column("counted", String(15), primary_key=True),
    Column("item", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
)

pending_update = _table(
    "pending_update",
    _key("message_id"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("last_error", Text),
    # It failed too often: it waits for a repair and does not block other updates.
    Column("set_aside", Boolean, nullable=False, server_default=false()),
)

# The message that a reply answers, and its trace as JSON: the searches, the memories that it rests on, and what its update did.
# `changes` is the number of changes that have not been undone.
trace = _table(
    "trace",
    _key("message_id"),
    Column("steps", Text, nullable=False),
    Column("answers", _Id, nullable=False, server_default="0"),
    Column("changes", Integer, nullable=False, server_default="0"),
)

# The memories and messages that a reply rests on.
reply_source = _table(
    "reply_source",
    _key("message_id"),
    Column("kind", String(7), primary_key=True),
    _key("record_id"),
    Index("reply_source_by_record", "owner", "record_id"),
)

# The costs of a reply and of the update after it (`stage`): seconds, chat model calls, tokens, and dollars if the price is known.
turn_cost = _table(
    "turn_cost",
    _key("message_id"),
    Column("stage", String(6), primary_key=True),
    Column("measured_at", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("first_word", Float),
    Column("calls", Integer, nullable=False),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("dollars", Float),
    Index("turn_cost_by_time", "owner", "measured_at"),
)

# Findings that the user has dismissed: memory ids, or a photo id.
dismissed_finding = _table(
    "dismissed_finding",
    Column("kind", String(13), primary_key=True),
    Column("subject", Text, primary_key=True),
)

# The ids of messages that the triggers allow to be deleted, written in the same transaction as the DELETE. They stay, since no id
# is ever reused.
erasure = _table("erasure", _key("message_id"))

# What was erased and when, as JSON of ids without content. `purged_at` is NULL while the disk may still contain it.
receipt = Table(
    "receipt",
    metadata,
    Column("receipt_id", _Id, primary_key=True, autoincrement=True),
    _owner(),
    Column("kind", String(12), nullable=False),
    Column("erased", Text, nullable=False),
    Column("erased_at", BigInteger, nullable=False),
    Column("purged_at", BigInteger),
)

setting = Table(
    "setting", metadata, Column("key", String(100), primary_key=True), Column("value", Text, nullable=False)
)

# The settings of owners, as JSON.
owner_setting = _table(
    "owner_setting",
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

# Memories that were not written but can still be kept: refusal `number` in a reply's trace, which has the text. `held` says why.
held_memory = _table(
    "held_memory",
    _key("message_id"),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("held", String(8), nullable=False),
)

# What one forgetting removed: entries, words of messages and photos of messages. Undoing the forgetting deletes its rows.
forgotten_entry = _table(
    "forgotten_entry",
    _key("forgetting_id"),
    _key("memory_id"),
    Column("was_alive", Boolean, nullable=False),
    Index("forgotten_entry_by_memory", "owner", "memory_id"),
)

# The entries that are kept but not used. Only their owner sees what the forgetting withholds. `reason` is a `KeptBackReason`.
kept_back = _table(
    "kept_back",
    _key("memory_id"),
    Column("forgetting_id", _Id, nullable=False),
    Column("reason", String(11), nullable=False),
    Column("kept_at", BigInteger, nullable=False),
    Index("kept_back_by_forgetting", "owner", "forgetting_id"),
)

withheld_words = _table(
    "withheld_words",
    _key("forgetting_id"),
    _key("message_id"),
    Column("first_character", Integer, primary_key=True, autoincrement=False),
    Column("last_character", Integer, nullable=False),
    Index("withheld_words_of_message", "owner", "message_id"),
)

withheld_photo = _table(
    "withheld_photo",
    _key("forgetting_id"),
    _key("message_id"),
    Column("photo_id", String(64), primary_key=True),
    Index("withheld_photo_of_message", "owner", "message_id"),
)

# The readings of messages of which something was forgotten: a version that rises with every change, and the words by which the
# message is found ("" if nothing remains, NULL if they are the logged ones).
message_reading = _table(
    "message_reading",
    _key("message_id"),
    Column("version", Integer, nullable=False),
    Column("words", Text),
)


# Layer 1 is append-only: the database itself refuses updates, and deletions of messages that are not listed for erasure.
_GUARDED_TABLES = ("message", "message_photo")


def _sqlite_guard(table: str) -> list[str]:
    return [
        f"""CREATE TRIGGER {table}_refuses_update BEFORE UPDATE ON {table}
            BEGIN SELECT RAISE(ABORT, 'the raw message log is append-only'); END""",
        f"""CREATE TRIGGER {table}_refuses_delete BEFORE DELETE ON {table}
            WHEN NOT EXISTS (SELECT 1 FROM erasure WHERE owner = OLD.owner AND message_id = OLD.message_id)
            BEGIN SELECT RAISE(ABORT, 'the raw message log is append-only'); END""",
    ]


SQLITE_STATEMENTS = [
    *(statement for table in _GUARDED_TABLES for statement in _sqlite_guard(table)),
    # Finished words, so the tokenizer only has to split at spaces.
    "CREATE VIRTUAL TABLE message_words USING fts5(owner UNINDEXED, message_id UNINDEXED, words)",
    """CREATE TRIGGER message_words_insert AFTER INSERT ON message
       BEGIN INSERT INTO message_words (owner, message_id, words) VALUES (NEW.owner, NEW.message_id, NEW.words); END""",
    """CREATE TRIGGER message_words_delete AFTER DELETE ON message
       BEGIN DELETE FROM message_words WHERE owner = OLD.owner AND message_id = OLD.message_id; END""",
]

POSTGRESQL_STATEMENTS = [
    """CREATE FUNCTION refuse_message_change() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF TG_OP = 'DELETE' AND EXISTS (
           SELECT 1 FROM erasure WHERE owner = OLD.owner AND message_id = OLD.message_id) THEN RETURN OLD; END IF;
         RAISE EXCEPTION 'the raw message log is append-only';
       END $$""",
    *(
        f"CREATE TRIGGER {table}_refuses_change BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION refuse_message_change()"
        for table in _GUARDED_TABLES
    ),
    """CREATE FUNCTION refuse_message_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'the raw message log is append-only'; END $$""",
    *(
        f"CREATE TRIGGER {table}_refuses_truncate BEFORE TRUNCATE ON {table} EXECUTE FUNCTION refuse_message_truncate()"
        for table in _GUARDED_TABLES
    ),
    "CREATE INDEX message_words ON message USING gin (to_tsvector('simple', words))",
]
