"""A small dialogue between two people in LoCoMo's format, and what an evaluation of it needs, without weights."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PIL import Image

from m2a.evaluation.record import QuestionRecord, read_rows
from m2a.memory.ranking.learned_ranking import LearnedRanking
from m2a.systems.shared import Parts, SharedStores, Utterance
from m2a.wiring import offline_rules
from models.captioner import Count, uncounted
from models.chat_model import ChatModel
from models.provider_chat_model import ProviderChatModel
from tests.chat_server import ChatServer
from tests.encoders import COLOURS, ColourImageEncoder, HashingTokenEncoder

SESSIONS = {
    1: (
        "1:56 pm on 8 May, 2023",
        [
            ("Anna", "I bought a canoe at the lake yesterday."),
            ("Ben", "My parrot Coco learned to whistle."),
            ("Anna", "Here is the canoe in its shed."),
            ("Ben", "I start a pottery course on Monday."),
        ],
    ),
    2: (
        "9:05 am on 2 June, 2023",
        [
            ("Anna", "My sister Olga moved to Lisbon."),
            ("Ben", "The pottery course is in Bristol."),
        ],
    ),
}
QUESTIONS: list[dict[str, Any]] = [
    {"question": "What did Anna buy at the lake?", "answer": "a canoe", "category": 4, "evidence": ["D1:1"]},
    {"question": "Which bird of Ben's can whistle?", "answer": "Coco", "category": 1, "evidence": ["D1:2"]},
    {"question": "Where did Olga move?", "answer": "Lisbon", "category": 4, "evidence": ["D2:1"]},
    {"question": "Where is the pottery course?", "answer": "Bristol", "category": 2, "evidence": ["D2:2"]},
]


def paint(path: Path, colour: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (64, 64), COLOURS[colour]).save(path)
    return path


def write_dialogues(folder: Path, *, photos: bool = False, names: tuple[str, ...] = ("conv-1",)) -> Path:
    """Writes and returns the file. With photos, the third turn shows a red one, and a question another red one."""
    samples = []
    for name in names:
        conversation: dict[str, Any] = {"speaker_a": "Anna", "speaker_b": "Ben"}
        for number, (when, lines) in SESSIONS.items():
            conversation[f"session_{number}_date_time"] = when
            conversation[f"session_{number}"] = [
                {"dia_id": f"D{number}:{turn}", "speaker": speaker, "text": text}
                for turn, (speaker, text) in enumerate(lines, start=1)
            ]
        questions = list(QUESTIONS)
        if photos:
            paint(folder / "photos" / "shown.png", "red")
            conversation["session_1"][2]["photos"] = ["photos/shown.png"]
            paint(folder / "photos" / "asked.png", "red")
            questions.append(
                {
                    "question": "Where is this kept?",
                    "answer": "in its shed",
                    "category": 10,
                    "evidence": ["D1:3"],
                    "photos": ["photos/asked.png"],
                }
            )
        samples.append({"sample_id": name, "conversation": conversation, "qa": questions})
    file = folder / "benchmark.json"
    file.write_text(json.dumps(samples))
    return file


def session(number: int, *texts: str) -> list[Utterance]:
    """What Anna and Ben say in turn on that day of June."""
    said_at = datetime(2023, 6, number, 9, tzinfo=UTC)
    return [
        Utterance(f"D{number}:{place}", "user", "Anna" if place % 2 else "Ben", text, said_at)
        for place, text in enumerate(texts, start=1)
    ]


class NamingCaptioner:
    """Gives every photo the same caption."""

    captioner_id = "naming"

    async def caption(self, photo: bytes, count: Count = uncounted) -> str:
        return "a red thing"


def stores_in(work: Path) -> SharedStores:
    return SharedStores(work, lambda: HashingTokenEncoder(dimensions=384), ColourImageEncoder, LearnedRanking.shipped)


def parts_on(
    stores: SharedStores, model: ChatModel | None = None, *, retrieval_only: bool = False, window: int = 10_000
) -> Parts:
    return Parts(stores, model, retrieval_only, lambda chat_model: NamingCaptioner(), offline_rules, window)


def parts_of(model: ChatModel | None = None, **options: Any) -> Callable[[Path], Parts]:
    return lambda work: parts_on(stores_in(work), model, **options)


def model_of(server: ChatServer, name: str = "openai:small") -> ProviderChatModel:
    return ProviderChatModel(name, base_url=server.base_url, api_key="key", backoff=0.0)


def rows_of(out: Path) -> list[QuestionRecord]:
    return read_rows(out / "questions.jsonl", QuestionRecord)
