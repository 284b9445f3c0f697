"""What a request names as a file: only what was uploaded here. Gradio would fetch an address that stands in its place."""

import json
import re
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"\s*([a-z][a-z0-9+.-]*:|[/\\]{2})", re.IGNORECASE)
_FETCHING_PATH = re.compile(r"/(?:proxy=|(?:file[=/])\s*(?:[a-z][a-z0-9+.-]*:|[/\\]{2}))", re.IGNORECASE)


def path_fetches(path: str) -> bool:
    """Whether Gradio would answer the path of a request with what it fetches from elsewhere."""
    return _FETCHING_PATH.search(path) is not None


def names_elsewhere(body: bytes, hosts: Collection[str]) -> bool:
    """Whether anything in the JSON is a file that lies elsewhere: a `path` that is an address, a `url` of another host.

    Raises `ValueError` for what is no JSON.
    """
    try:
        waiting: list[Any] = [json.loads(body)]
    except RecursionError:
        raise ValueError("This is nested too deep.") from None
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            if _is_elsewhere(item.get("path"), ()) or _is_elsewhere(item.get("url"), hosts):
                return True
            waiting += item.values()
    return False


def _is_elsewhere(name: object, hosts: Collection[str]) -> bool:
    if not isinstance(name, str) or not _ADDRESS.match(name):
        return False
    try:
        address = urlsplit(name)
        return address.scheme != "http" or address.netloc not in hosts
    except ValueError:
        return True
