"""What the settings of the page show: the chat model in use, and how much there is on the disk."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatConnection:
    """The chat model in use and its server. The key is never told, only whether there is one.

    `fixed` are the settings that the environment sets, each with its variable: the page cannot change them. `file` is where
    the others are kept.
    """

    chat_model: str
    chat_base_url: str | None
    has_key: bool
    fixed: Mapping[str, str]
    file: str


@dataclass(frozen=True, slots=True)
class ConnectionWish:
    """The chat model to use from now on: None leaves what is, "" is no address. Without a `key` the one in use stays, where
    the provider and the server stay the same."""

    chat_model: str | None = None
    chat_base_url: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class DataSize:
    """How much an owner's memory holds, and how many bytes the data folder takes.

    Bytes are None of what lies on a server. `waiting` counts the changes that the index has not been told of yet.
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
