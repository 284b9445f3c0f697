"""Values for the settings on the page: the chat model in use, and the size of the data."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatConnection:
    """The chat model in use and its server, with whether there is a key but never the key itself.

    `fixed` are the settings that environment variables set, each with its variable; the page cannot change them. `file` is
    where the others are saved. `sent_to` is to whom messages and photos go; empty while that is this computer.
    """

    chat_model: str
    chat_base_url: str | None
    has_key: bool
    fixed: Mapping[str, str]
    file: str
    sent_to: str


@dataclass(frozen=True, slots=True)
class ConnectionRequest:
    """The chat model to switch to. None leaves a value as it is, and an address of "" means none.

    Without a `key`, the current one stays if the provider and the server stay the same.
    """

    chat_model: str | None = None
    chat_base_url: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class DataSize:
    """The record counts of an owner's memory, and the size of the data folder.

    Bytes are None for data on a server. `waiting` is the number of records that are not up to date in the index.
    """

    folder: str
    conversations: int
    messages: int
    memories: int
    photos: int
    database_bytes: int | None
    index_bytes: int | None
    photo_bytes: int
    waiting: int
