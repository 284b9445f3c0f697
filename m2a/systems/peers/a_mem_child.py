"""A-Mem (PyPI's `a-mem`) as a child program that runs in the package's own environment; see `child_protocol`.

With a chat model, `add_note` makes a note of each message: the model names keywords, context and tags, and decides whether notes
are linked and neighbours rewritten. If a model call fails, the package uses the context "General" and goes on; only the gateway
can count that.

Without a chat model, `add_note` cannot be used, so the package's own retriever writes notes, with the fields that the package
gives to a note that no model has seen (mode `store-only`). Only the words of the message are searched then.

The `category` of a note holds its message id. No prompt shows it, and rewriting does not change it.
"""

import logging
import os
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from child_protocol import Answer, Request, in_words, message_text, serve

os.environ.update(
    ANONYMIZED_TELEMETRY="False",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    HF_HUB_OFFLINE="1",
    TRANSFORMERS_OFFLINE="1",
    TOKENIZERS_PARALLELISM="false",
)

CATEGORY = "message "


class AMemPeer:
    def __init__(self, system: Any, *, has_model: bool) -> None:
        self._system = system
        self._has_model = has_model

    def observe(self, messages: list[dict[str, Any]]) -> Answer:
        stored, failed = 0, []
        for message in messages:
            try:
                self._add(message)
                stored += 1
            except Exception as error:
                failed.append({"message_ids": [message["message_id"]], "error": in_words(error)})
        return {"stored": stored, "failed": failed}

    def _add(self, message: dict[str, Any]) -> None:
        text = message_text(message)
        said_at = datetime.fromisoformat(message["said_at"]).strftime("%Y%m%d%H%M")
        category = f"{CATEGORY}{message['message_id']}"
        if self._has_model:
            self._system.add_note(text, time=said_at, category=category)
            return
        from agentic_memory.memory_system import MemoryNote

        note = MemoryNote(text, timestamp=said_at, category=category)
        self._system.retriever.add_document(text, self._system._memory_note_to_metadata(note), note.id)

    def retrieve(self, question: str, k: int) -> Answer:
        hits = self._system.search_agentic(question, k)
        if not hits and self._system.retriever.count():
            raise RuntimeError("The package's search failed: it returned nothing.")
        memories: list[dict[str, Any]] = []
        for hit in hits:
            note = self._system.read(hit["id"])
            linked = [neighbour for link in note.links[:k] if (neighbour := self._system.read(link)) is not None]
            memories.append({**_as_memory(note), "linked": [_as_memory(n) for n in linked]})
        return {"memories": memories}

    def close(self) -> None:
        """Does nothing, since Chroma writes each note at once."""


def _as_memory(note: Any) -> dict[str, Any]:
    """Returns the note as the package presents it to a model."""
    return {
        "memory": f"talk start time:{note.timestamp}\tmemory content: {note.content}\tmemory context: {note.context}"
        f"\tmemory keywords: {note.keywords}\tmemory tags: {note.tags}",
        "message_ids": [int(note.category.removeprefix(CATEGORY))],
    }


def open_a_mem(request: Request) -> tuple[AMemPeer, Answer]:
    has_model = request["chat_model"] is not None
    # The package has no setting for the address.
    os.environ["OPENAI_BASE_URL"] = request["chat_base_url"] or "http://127.0.0.1:9"
    from agentic_memory.memory_system import AgenticMemorySystem

    logging.getLogger("chromadb").setLevel(logging.ERROR)
    system = AgenticMemorySystem(
        model_name=request["encoder_folder"],
        llm_backend="openai",
        llm_model=request["chat_model"] or "none",
        api_key=request["chat_key"] or "none",
        storage_path=str(Path(request["folder"]) / "chroma"),
    )
    about = {
        "package": "a-mem",
        "version": version("a-mem"),
        "mode": "chat model" if has_model else "store-only",
        "notes": ["a third party's fork of the authors' code"]
        + ([] if has_model else ["notes written by the package's retriever, since adding one needs a model"]),
    }
    return AMemPeer(system, has_model=has_model), about


if __name__ == "__main__":
    serve(open_a_mem)
