"""Finds file references in a request that point elsewhere. Gradio would fetch an address given in place of an upload."""

import json
import re
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"\s*([a-z][a-z0-9+.-]*:|[/\\]{2})", re.IGNORECASE)
_FETCHING_PATH = re.compile(r"/(?:proxy=|(?:file[=/])\s*(?:[a-z][a-z0-9+.-]*:|[/\\]{2}))", re.IGNORECASE)


def path_fetches(path: str) -> bool:
    """Returns whether Gradio would fetch something from elsewhere to answer this request path."""
    return _FETCHING_PATH.search(path) is not None


def names_elsewhere(body: bytes, hosts: Collection[str]) -> bool:
    """Returns whether the JSON names a file elsewhere: a `path` that is an address, or a `url` of another host.

    Raises `ValueError` for anything but JSON.
    """
    try:
        pending: list[Any] = [json.loads(body)]
    except RecursionError:
        raise ValueError("This is nested too deeply.") from None
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += item
        elif isinstance(item, dict):
            if _is_elsewhere(item.get("path"), ()) or _is_elsewhere(item.get("url"), hosts):
                return True
            pending += item.values()
    return False


def _is_elsewhere(name: object, hosts: Collection[str]) -> bool:
    if not isinstance(name, str) or not _ADDRESS.match(name):
        return False
    try:
        address = urlsplit(name)
        return address.scheme != "http" or address.netloc not in hosts
    except ValueError:
        return True
