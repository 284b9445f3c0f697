"""Figures from MemoryAgentBench's paper (table 2), in percent. They are quoted, not measured here.

A row may stand beside ours only for the same sub-dataset at the same size, so each column names its published sub-dataset; what
was composed here has other names and gets no published row. Agents without a model in their name use GPT-4o-mini.
"""

from dataclasses import dataclass

SOURCE = "MemoryAgentBench, table 2"
QUESTIONS = {
    "ruler_qa1_197K": 100,
    "ruler_qa2_421K": 100,
    "longmemeval_s*": 300,
    "eventqa_full": 500,
    "recsys_redial_full": 200,
    "infbench_sum_eng_shots2": 100,
    "detective_qa": 71,
    "factconsolidation_sh_262k": 100,
    "factconsolidation_mh_262k": 100,
}
_COLUMNS = (*tuple(QUESTIONS)[:4], "classification", *tuple(QUESTIONS)[4:])  # classification: the mean of five sets
_EMPTY_STORE = "its adapter asks another store than it filled"


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row as printed, and what readers must know about it."""

    system: str
    printed: tuple[float, ...]
    overall: float
    note: str = ""

    @property
    def rates(self) -> dict[str, float]:
        return dict(zip(_COLUMNS, self.printed, strict=True))


ROWS = (
    PublishedRow("GPT-4o", (72.0, 51.0, 32.0, 77.2, 87.6, 12.3, 32.2, 77.5, 60.0, 5.0), 48.8),
    PublishedRow("GPT-4o-mini", (64.0, 43.0, 30.7, 59.0, 82.0, 15.1, 28.9, 63.4, 45.0, 5.0), 42.2),
    PublishedRow("GPT-4.1-mini", (83.0, 66.0, 55.7, 82.6, 75.6, 16.7, 41.9, 56.3, 36.0, 5.0), 46.9),
    PublishedRow("Gemini 2.0 Flash", (87.0, 59.0, 47.0, 67.2, 84.0, 8.7, 23.9, 59.2, 30.0, 3.0), 42.4),
    PublishedRow("Claude 3.7 Sonnet", (77.0, 53.0, 34.0, 74.6, 89.4, 18.3, 52.5, 71.8, 43.0, 2.0), 49.6),
    PublishedRow("BM25", (66.0, 56.0, 45.3, 74.6, 75.4, 13.6, 19.0, 52.1, 48.0, 3.0), 41.5),
    PublishedRow("Contriever", (22.0, 31.0, 15.7, 66.8, 70.6, 15.2, 17.2, 42.3, 18.0, 7.0), 29.8),
    PublishedRow("text-embedding-3-small", (60.0, 44.0, 48.3, 63.0, 70.0, 15.3, 17.7, 54.9, 28.0, 3.0), 37.1),
    PublishedRow("text-embedding-3-large", (54.0, 44.0, 50.3, 70.0, 72.4, 16.2, 18.2, 56.3, 28.0, 4.0), 38.0),
    PublishedRow("Qwen3-Embedding-4B", (57.0, 47.0, 43.3, 71.4, 78.0, 12.2, 14.8, 59.2, 29.0, 3.0), 38.2),
    PublishedRow("RAPTOR", (29.0, 38.0, 34.3, 45.8, 59.4, 12.3, 13.4, 42.3, 14.0, 1.0), 27.0),
    PublishedRow("GraphRAG", (47.0, 47.0, 35.0, 34.4, 39.8, 9.8, 0.4, 39.4, 14.0, 2.0), 23.4),
    PublishedRow("MemoRAG", (29.0, 33.0, 20.0, 56.0, 77.0, 13.1, 9.2, 50.7, 21.0, 7.0), 30.9),
    PublishedRow("HippoRAG-v2", (76.0, 66.0, 50.7, 67.6, 61.4, 10.2, 14.6, 57.7, 54.0, 5.0), 41.6),
    PublishedRow("Mem0", (25.0, 32.0, 36.0, 37.5, 32.4, 10.0, 4.8, 36.6, 18.0, 2.0), 21.1, _EMPTY_STORE),
    PublishedRow("Cognee", (31.0, 26.0, 29.3, 26.8, 35.4, 10.1, 2.3, 29.6, 28.0, 3.0), 20.6, _EMPTY_STORE),
    PublishedRow("Zep", (44.0, 25.0, 38.3, 42.5, 62.8, 12.1, 4.2, 28.2, 7.0, 3.0), 24.0, _EMPTY_STORE),
    PublishedRow("Self-RAG", (35.0, 42.0, 25.7, 31.8, 11.6, 12.8, 0.9, 35.2, 19.0, 3.0), 18.7),
    PublishedRow("MemGPT", (41.0, 38.0, 32.0, 26.2, 67.6, 14.0, 2.5, 42.3, 28.0, 3.0), 28.3),
    PublishedRow("MIRIX", (62.0, 61.0, 37.3, 29.8, 38.4, 9.8, 9.9, 40.8, 14.0, 2.0), 26.2),
    PublishedRow("MIRIX, GPT-4.1-mini", (73.0, 75.0, 51.0, 53.0, 61.0, 10.3, 18.9, 62.0, 20.0, 3.0), 37.7),
)
