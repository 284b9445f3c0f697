"""Rows of an evaluation and the folder of a run, for reports."""

import json
import random
from pathlib import Path

from m2a.evaluation.amounts import amounts_of
from m2a.evaluation.record import (
    EvidenceTurn,
    IngestionRecord,
    QuestionRecord,
    as_line,
)
from m2a.evaluation.summary import summarise

CATEGORIES = ("multi-hop", "temporal", "single-hop", "visual single-hop", "visual temporal")


HOSTILE = "<script>window.ran = 1</script> & | pipes"


def rows_of(system: str, rate: float, *, seed: int, judged: bool = True, count: int = 40) -> list[QuestionRecord]:
    """Returns the rows of a run in which a share `rate` of the questions is right."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        right = draw.random() < rate
        rows.append(
            QuestionRecord(
                system,
                "conv-1",
                f"conv-1/{number}",
                CATEGORIES[number % len(CATEGORIES)],
                f"Which colour has thing {number}? {HOSTILE}",
                "red",
                evidence=("D1:1",),
                evidence_turns=(EvidenceTurn("D1:1", "Ada", "8 May 2023", f"It is red. {HOSTILE}"),),
                retrieved=("D1:1", "D1:2") if right else ("D1:3",),
                reply="red" if right else "blue",
                verdicts={"judge": "right" if right else "wrong"} if judged else {},
                input_tokens=900 if system == "m2a" else 20000,
                output_tokens=20,
                context_tokens=700,
                calls=3,
                seconds=1.5,
                search_seconds=0.02,
            )
        )
    return rows


def run_folder(folder: Path, rows: list[QuestionRecord], chat_model: str = "openai:small", **settings: object) -> Path:
    folder.mkdir()
    ingestion = [
        IngestionRecord(system, "conv-1", "1", False, 80, 2.0) for system in dict.fromkeys(row.system for row in rows)
    ]
    (folder / "questions.jsonl").write_text("".join(map(as_line, rows)), encoding="utf-8")
    (folder / "ingestion.jsonl").write_text("".join(map(as_line, ingestion)), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(summarise(rows)), encoding="utf-8")
    (folder / "facts.json").write_text(json.dumps(amounts_of(rows, ingestion)), encoding="utf-8")
    record = {"benchmark": "visual", "chat_model": chat_model, "judges": ["judge"], "versions": {"m2a": "0.1"}}
    (folder / "run.json").write_text(json.dumps(record | settings), encoding="utf-8")
    return folder
