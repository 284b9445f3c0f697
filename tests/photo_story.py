"""A chat model, and what a user tells it, for photos that are shown first and named later."""

import re
from collections.abc import Mapping
from typing import Any

from tests.scripted_model import Call, Prompt

NAMING, ANOTHER = "That's Mango, my dog.", "And this is my teapot"
REQUEST, QUESTION = "Show me the first photo again", "Who is this?"


def keep_names(prompt: Prompt) -> Call:
    """Keeps a message that names the photo before it, and nothing else."""
    if prompt.stage != "manage update" or "Mango" not in prompt.said:
        return "finish", {}
    values: Mapping[str, Any] = {
        "text": prompt.said,
        "evidence_ids": [[prompt.message_id, prompt.message_id]],
        "photos": earlier(prompt)[:1],
        "concepts": [{"name": "Mango", "kind": "pet"}],
    }
    return "add_memory", values


def earlier(prompt: Prompt) -> list[int]:
    """Returns the numbers of the photos in earlier messages, in order."""
    return [int(number) for number in re.findall(r"^Photo (\d+), from message \d+", prompt.text, re.M)]


def answer(prompt: Prompt) -> str:
    if match := re.search(r"It looks like (\w+), whom the user named", prompt.material):
        return f"{match[1]}!"
    if "first photo" in prompt.said:
        return f"[photo {earlier(prompt)[0]}]"
    return "Hm?"
