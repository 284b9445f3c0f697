"""The figures that the M2A paper prints, in percent, to stand beside ours. They are quoted, not measured here.

Judges there are Qwen3-VL-32B (Q) and GPT-4o (G); the tables give both and their mean. Its benchmark is the authors' own
merged set, which is not published: a difference to a run here is not a difference between systems alone.
"""

from dataclasses import dataclass

SOURCE = "M2A paper, judged by Qwen3-VL-32B and GPT-4o (mean)"
CATEGORIES = ("multi-hop", "temporal", "open-domain", "single-hop", "visual-centric", "total")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """Mean of both judges per category of `CATEGORIES`, in percent."""

    chat_model: str
    method: str
    accuracy: tuple[float, ...]


TABLE_1 = (
    PublishedRow("GPT-4o-mini", "LoCoMo (RAG)", (25.96, 17.14, 32.66, 42.95, 30.68, 33.27)),
    PublishedRow("GPT-4o-mini", "Mem0", (26.25, 16.38, 29.17, 44.47, 36.67, 34.73)),
    PublishedRow("GPT-4o-mini", "A-MEM", (26.77, 23.37, 32.30, 44.71, 36.54, 36.26)),
    PublishedRow("GPT-4o-mini", "M2A", (27.66, 31.78, 38.55, 56.48, 43.27, 44.64)),
    PublishedRow("Qwen3-VL-8B", "LoCoMo (RAG)", (25.00, 29.13, 30.73, 45.96, 36.24, 37.31)),
    PublishedRow("Qwen3-VL-8B", "Mem0", (35.29, 34.11, 33.86, 53.15, 40.37, 43.95)),
    PublishedRow("Qwen3-VL-8B", "A-MEM", (40.43, 31.31, 31.25, 44.85, 38.84, 40.10)),
    PublishedRow("Qwen3-VL-8B", "M2A", (43.44, 40.96, 50.00, 64.93, 52.90, 54.69)),
    PublishedRow("GLM-4.6V-Flash", "LoCoMo (RAG)", (24.83, 23.37, 29.69, 44.47, 33.67, 35.22)),
    PublishedRow("GLM-4.6V-Flash", "Mem0", (44.51, 34.27, 37.50, 57.79, 40.37, 47.46)),
    PublishedRow("GLM-4.6V-Flash", "A-MEM", (42.39, 36.69, 33.85, 47.92, 42.92, 43.28)),
    PublishedRow("GLM-4.6V-Flash", "M2A", (48.05, 40.96, 54.69, 66.29, 54.29, 56.48)),
)

TABLE_2 = {  # Qwen3-VL-8B, all categories: Qwen3-VL-32B, GPT-4o, mean
    "m2a-paper": (55.44, 53.94, 54.69),
    "m2a-semantic-only": (41.56, 41.19, 41.38),
    "m2a-single-retrieval": (38.08, 39.26, 38.67),
    "m2a-dense-only": (51.15, 50.03, 50.59),
}
