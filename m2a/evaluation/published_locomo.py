"""Accuracy on LoCoMo as papers print it, in percent, with the check that a row must pass before it is quoted.

LoCoMo has 1,540 questions with an answer, so a row's overall accuracy must be the weighted mean of its categories. Many tables
label the columns wrongly; the right labels reproduce the printed overall. All rows are quoted, not measured here; chat models,
judges and prompts differ from table to table.
"""

from dataclasses import dataclass

QUESTIONS = {"multi-hop": 282, "temporal": 321, "open-domain": 96, "single-hop": 841}
AGREES = 0.15  # points between the weighted mean and the printed overall

_AS_PRINTED = ("single-hop", "multi-hop", "open-domain", "temporal")
_BY_NUMBER = ("multi-hop", "temporal", "open-domain", "single-hop")  # of the data set's categories, 1 to 4
_AS_IN_MEM0 = ("multi-hop", "open-domain", "single-hop", "temporal")  # later papers copied Mem0's


@dataclass(frozen=True, slots=True)
class PublishedLocomoRow:
    """A row of a paper. `printed` are the columns labelled single-hop, multi-hop, open-domain and temporal, and `categories` says
    which category each column is of."""

    source: str
    system: str
    chat_model: str
    printed: tuple[float, float, float, float]
    overall: float
    categories: tuple[str, str, str, str] = _AS_PRINTED

    @property
    def accuracy(self) -> dict[str, float]:
        """The accuracy by category, in the right assignment."""
        return dict(zip(self.categories, self.printed, strict=True))

    @property
    def weighted_mean(self) -> float:
        return sum(QUESTIONS[category] * value for category, value in self.accuracy.items()) / sum(QUESTIONS.values())

    @property
    def note(self) -> str:
        """What readers must know about the row; empty if the labels are right and the overall agrees."""
        notes = []
        if self.categories != _AS_PRINTED:
            notes.append("columns corrected: printed under other categories")
        if abs(self.weighted_mean - self.overall) > AGREES:
            notes.append("the overall is not the weighted mean")
        return "; ".join(notes)


_AS_IN_MEMU = ("single-hop", "multi-hop", "temporal", "open-domain")

_HYMEM, _ENGRAM = "HyMem, table 1", "ENGRAM, table 1"
LOCOMO_ROWS = (
    PublishedLocomoRow(_ENGRAM, "LangMem", "gpt-4o-mini", (67.32, 56.71, 49.56, 24.21), 55.28),
    PublishedLocomoRow(_ENGRAM, "Mem0", "gpt-4o-mini", (73.65, 57.85, 44.93, 53.34), 64.73),
    PublishedLocomoRow(_ENGRAM, "MemOS", "gpt-4o-mini", (78.32, 63.70, 54.56, 72.68), 72.99),
    PublishedLocomoRow(_ENGRAM, "OpenAI", "gpt-4o-mini", (61.73, 59.82, 32.87, 29.26), 52.81),
    PublishedLocomoRow(_ENGRAM, "Zep", "gpt-4o-mini", (51.42, 42.10, 39.12, 19.47), 42.29),
    PublishedLocomoRow(_ENGRAM, "ENGRAM", "gpt-4o-mini", (79.90, 79.79, 72.92, 70.79), 77.55),
    PublishedLocomoRow(_HYMEM, "LangMem", "gpt-4o-mini", (62.23, 47.92, 71.12, 23.43), 49.91, _AS_IN_MEM0),
    PublishedLocomoRow(_HYMEM, "A-Mem", "gpt-4o-mini", (40.22, 19.01, 55.10, 50.12), 49.01, _AS_IN_MEM0),
    PublishedLocomoRow(_HYMEM, "Mem0", "gpt-4o-mini", (67.13, 51.15, 72.93, 55.51), 66.88, _AS_IN_MEM0),
    PublishedLocomoRow(_HYMEM, "Zep", "gpt-4o-mini", (74.11, 66.04, 67.71, 79.76), 75.14, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "LightMem", "gpt-4o-mini", (76.61, 67.02, 45.83, 76.32), 72.99),
    PublishedLocomoRow(_HYMEM, "Nemori", "gpt-4o-mini", (82.10, 65.30, 44.80, 71.00), 74.40),
    PublishedLocomoRow(_HYMEM, "full context", "gpt-4o-mini", (80.14, 46.89, 58.33, 90.49), 77.51, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "LangMem", "gpt-4.1-mini", (74.47, 61.06, 67.71, 86.92), 78.05, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "Zep", "gpt-4.1-mini", (79.43, 69.16, 73.96, 83.33), 79.09, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "Mem0", "gpt-4.1-mini", (62.41, 57.32, 44.79, 66.47), 62.47, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "MIRIX", "gpt-4.1-mini", (85.11, 83.70, 65.62, 88.39), 85.38, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "Nemori", "gpt-4.1-mini", (84.90, 75.10, 51.00, 77.60), 79.40),
    PublishedLocomoRow(_HYMEM, "MemU", "gpt-4.1-mini", (74.91, 72.34, 43.61, 54.17), 66.67, _AS_IN_MEMU),
    PublishedLocomoRow(_HYMEM, "naive RAG, k = 3", "gpt-4.1-mini", (70.92, 69.47, 65.62, 75.74), 72.97, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "naive RAG, k = 5", "gpt-4.1-mini", (72.69, 74.14, 68.75, 81.21), 77.40, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "full context", "gpt-4.1-mini", (88.53, 77.70, 71.88, 92.70), 87.52, _BY_NUMBER),
    PublishedLocomoRow(_HYMEM, "HyMem", "gpt-4.1-mini", (85.15, 88.16, 77.08, 92.98), 89.55, _BY_NUMBER),
)
