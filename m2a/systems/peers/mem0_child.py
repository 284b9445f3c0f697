"""Mem0 as a child program that runs in the package's own environment; see `child_protocol`.

Without a chat model, every message is added unchanged, with `infer=False` (mode `store-only`). With one, Mem0 extracts memories
from pairs of messages, as in its authors' own LoCoMo run, and a memory has the ids of its pair. Mem0 assumes that a conversation
took place today, so an instruction of the call, which is public API, gives the real day.

Keyword search (BM25 by fastembed) is on, with stop words from here, because fastembed would fetch them from a hub. Entity boosts
are off, as they are if spaCy is not installed, because no registry has the spaCy model under its makers' name.
"""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from child_protocol import Answer, Request, in_words, message_text, serve

os.environ.update(MEM0_TELEMETRY="False", HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

USER = "owner"  # Mem0 requires a scope, but a folder holds only one owner's memory


class Mem0Peer:
    def __init__(self, memory: Any, *, infers: bool) -> None:
        self._memory = memory
        self._infers = infers

    def observe(self, messages: list[dict[str, Any]]) -> Answer:
        size = 2 if self._infers else 1
        stored, failed = 0, []
        for start in range(0, len(messages), size):
            batch = messages[start : start + size]
            message_ids = [message["message_id"] for message in batch]
            try:
                stored += self._add(batch, message_ids)
            except Exception as error:
                failed.append({"message_ids": message_ids, "error": in_words(error)})
        return {"stored": stored, "failed": failed}

    def _add(self, batch: list[dict[str, Any]], message_ids: list[int]) -> int:
        said_at = batch[0]["said_at"]
        added = self._memory.add(
            [{"role": message["role"], "content": message_text(message)} for message in batch],
            user_id=USER,
            metadata={"message_ids": message_ids, "created_at": said_at},
            infer=self._infers,
            prompt=f"These messages were sent at {said_at}. That is the observation date and the current date."
            if self._infers
            else None,
        )
        return len(added["results"])

    def retrieve(self, question: str, k: int) -> Answer:
        hits = self._memory.search(question, top_k=k, filters={"user_id": USER})["results"]
        return {"memories": [{"memory": hit["memory"], "message_ids": hit["metadata"]["message_ids"]} for hit in hits]}

    def close(self) -> None:
        self._memory.vector_store.client.close()
        self._memory.close()


def open_mem0(request: Request) -> tuple[Mem0Peer, Answer]:
    folder = Path(request["folder"])
    os.environ["MEM0_DIR"] = str(folder / "mem0")  # read when mem0 is imported
    from mem0 import Memory

    has_model = request["chat_model"] is not None
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 384},
            },
            "embedder": {
                "provider": "huggingface",
                "config": {"model": request["encoder_folder"], "embedding_dims": 384},
            },
            "llm": {
                "provider": "openai",
                # Mem0 makes a client even if it never uses it.
                "config": {
                    "model": request["chat_model"] or "none",
                    "openai_base_url": request["chat_base_url"] or "http://127.0.0.1:9",
                    "api_key": request["chat_key"] or "none",
                },
            },
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.vector_store._bm25_encoder = _keyword_encoder(folder)
    about = {
        "package": "mem0ai",
        "version": version("mem0ai"),
        "mode": "chat model" if has_model else "store-only",
        "notes": ["keyword search on", "entity boosts off (no spaCy model)"],
    }
    return Mem0Peer(memory, infers=has_model), about


def _keyword_encoder(folder: Path) -> Any:
    """Returns the encoder that Mem0 would make, but without a download: a package has the 179 English stop words."""
    from bm25s.stopwords import STOPWORDS_EN_PLUS
    from fastembed import SparseTextEmbedding

    return SparseTextEmbedding("Qdrant/bm25", specific_model_path=str(folder), stopwords=set(STOPWORDS_EN_PLUS))


if __name__ == "__main__":
    serve(open_mem0)
