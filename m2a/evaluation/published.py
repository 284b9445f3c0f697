"""Figures from the M2A paper, in percent, for comparison. They are quoted, not measured here.

Its judges are Qwen3-VL-32B and GPT-4o; the paper's tables give both, and the mean is computed here. Its benchmark is the authors'
own merged set, which is not published, so a run here differs from it in more than the systems.
"""

from dataclasses import dataclass

SOURCE = "M2A paper, judged by Qwen3-VL-32B and GPT-4o (mean)"
JUDGING_NOTE = (
    "Its judges follow appendix D.3, by which an answer is right as long as it touches on the same topic. Judges here are "
    "stricter, except those whose name begins with paper:, which use the paper's wording."
)
CATEGORIES = ("multi-hop", "temporal", "open-domain", "single-hop", "visual-centric", "total")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """The accuracy by each judge, per category of `CATEGORIES`, in percent."""

    chat_model: str
    method: str
    by_qwen: tuple[float, ...]
    by_gpt: tuple[float, ...]

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The mean of both judges."""
        return tuple((qwen + gpt) / 2 for qwen, gpt in zip(self.by_qwen, self.by_gpt, strict=True))


_BY_MODEL = {  # by chat model and method: judged right by Qwen3-VL-32B, and by GPT-4o
    "GPT-4o-mini": {
        "LoCoMo (RAG)": ((27.10, 17.45, 36.14, 43.93, 31.10, 34.19), (24.82, 16.82, 29.17, 41.97, 30.27, 32.35)),
        "Mem0": ((25.89, 15.62, 27.08, 45.07, 36.39, 34.66), (26.60, 17.13, 31.25, 43.87, 36.94, 34.80)),
        "A-MEM": ((28.36, 24.61, 30.21, 45.18, 36.39, 36.79), (25.18, 22.12, 34.38, 44.23, 36.70, 35.73)),
        "M2A": ((27.30, 31.15, 40.63, 56.24, 44.03, 44.61), (28.01, 32.40, 36.46, 56.71, 42.51, 44.67)),
    },
    "Qwen3-VL-8B": {
        "LoCoMo (RAG)": ((24.82, 28.97, 31.25, 43.88, 37.31, 36.64), (23.76, 29.28, 30.21, 48.04, 35.17, 37.98)),
        "Mem0": ((34.75, 33.64, 34.38, 54.34, 41.59, 44.56), (35.82, 34.58, 33.33, 51.96, 39.14, 43.33)),
        "A-MEM": ((40.07, 31.78, 32.29, 44.63, 39.14, 40.14), (40.78, 30.84, 30.21, 45.07, 38.53, 40.07)),
        "M2A": ((43.26, 39.25, 51.04, 66.71, 54.13, 55.44), (43.62, 42.67, 48.96, 63.14, 51.68, 53.94)),
    },
    "GLM-4.6V-Flash": {
        "LoCoMo (RAG)": ((25.18, 24.61, 32.29, 45.18, 35.17, 36.21), (24.47, 22.12, 27.08, 43.76, 32.11, 34.23)),
        "Mem0": ((43.97, 34.27, 39.58, 57.91, 40.37, 47.73), (45.04, 33.02, 35.42, 57.67, 39.45, 47.19)),
        "A-MEM": ((41.84, 29.90, 35.42, 49.94, 44.65, 43.60), (39.36, 31.15, 36.46, 45.90, 41.90, 41.19)),
        "M2A": ((48.58, 39.87, 57.30, 66.11, 55.66, 56.67), (47.51, 42.05, 52.08, 66.47, 52.91, 56.29)),
    },
}
TABLE_1 = tuple(
    PublishedRow(chat_model, method, *by_judge)
    for chat_model, methods in _BY_MODEL.items()
    for method, by_judge in methods.items()
)

FULL_SYSTEM = "m2a-paper"
TABLE_2 = {  # Qwen3-VL-8B, all categories: by Qwen3-VL-32B and by GPT-4o
    FULL_SYSTEM: (55.44, 53.94),
    "m2a-semantic-only": (41.56, 41.19),
    "m2a-single-retrieval": (38.08, 39.26),
    "m2a-dense-only": (51.15, 50.03),
}
