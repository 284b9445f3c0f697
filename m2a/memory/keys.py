"""Validates the keys that M2A generates. Only valid keys may become part of a path or of a collection's name."""

import re

_OWNER = re.compile(r"[0-9a-f]{32}")
_PHOTO_ID = re.compile(r"[0-9a-f]{64}")


def is_owner_key(key: str) -> bool:
    return _OWNER.fullmatch(key) is not None


def is_photo_id(key: str) -> bool:
    return _PHOTO_ID.fullmatch(key) is not None


def checked_owner(key: str) -> str:
    """Returns the key. Raises `ValueError` if it is not an owner key."""
    if not is_owner_key(key):
        raise ValueError(f"{key!r} is not an owner key of 32 hexadecimal digits.")
    return key
