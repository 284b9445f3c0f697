"""Reads MemoryAgentBench (Hu et al., 2025): long contexts in chunks, each with many questions.

A file is a list of rows `{context, questions, answers, metadata{source, …}}`, as JSON or JSON lines; the published parquet
files are read if pyarrow is installed. Each row becomes a dialogue in which every chunk is one message of the user. The context
is not changed, not even its line breaks. The metadata of rows made by `compose` name the facts that lead to each answer. Films
to recommend are given as ids; their titles are read from the authors' `entity2id.json` beside the data. Recommendations without
that file have no score, and neither do summaries without the key points that they should cover.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from m2a.benchmarks.dialogue import Benchmark, BenchmarkError, Dialogue, Measure, Question, Session, Turn, read_rows

CHARACTERS_PER_TOKEN = 4.2  # in the published FactConsolidation contexts: the 6K one has 26,157 characters
OWN = "own_"
"""The prefix of the source of rows that were composed here and are not published data."""

WITH_CONFLICT, WITHOUT_CONFLICT = "with a conflict", "without a conflict"

_NEWEST_HOLDS = (
    "The facts that you were given are numbered. Where two of them contradict each other, the one with the larger number is "
    "newer, and it alone holds, whatever else you know of the world. Answer from these facts alone, with the name or the words "
    "asked for and nothing else."
)
_LABEL = (
    "The examples that you were given map texts to numeric labels. Label this text as they do. Answer with “label: ” and the "
    "number, and nothing else."
)
_FILMS = (
    "Recommend 20 films to the user of this conversation, by what you were given: a numbered list, one title a line, the best "
    "first, and nothing else."
)
_SUMMARY = "Write the summary that is asked for, from what you were given, in whole sentences and nothing else."
_SHORT = "Answer from what you were given, with the words asked for and nothing else."


@dataclass(frozen=True, slots=True)
class Subset:
    """A sub-dataset as published: what it tests, the tokens of a chunk, how it is scored, and how to answer."""

    competency: str
    chunk_tokens: int
    measure: Measure
    instructions: str = ""


# By the beginning of a row's source. LongMemEval's answers are judged by its own rules, and summaries by a judge's counts.
SUBSETS: Mapping[str, Subset] = {
    "ruler_qa": Subset("accurate retrieval", 512, "contains", _SHORT),
    "longmemeval_s": Subset("accurate retrieval", 512, "", _SHORT),
    "eventqa": Subset("accurate retrieval", 4096, "contains all", _SHORT),
    "icl_": Subset("test-time learning", 4096, "label", _LABEL),
    "recsys_redial": Subset("test-time learning", 4096, "recall@5", _FILMS),
    "infbench_sum": Subset("long-range understanding", 4096, "summary", _SUMMARY),
    "detective_qa": Subset("long-range understanding", 4096, "exact"),
    "factconsolidation": Subset("selective forgetting", 512, "contains", _NEWEST_HOLDS),
}
COMPETENCIES = tuple(dict.fromkeys(subset.competency for subset in SUBSETS.values()))

_STARTED_AT = datetime(2025, 1, 1, tzinfo=UTC)  # the data has no times, so there is one chunk per minute
_NUMBERED = re.compile(r"^(\d+)\. (.+?)\.?$", re.MULTILINE)
_WORD = re.compile(r"\w+")


def read_memoryagentbench(path: Path) -> Benchmark:
    """Returns a dialogue for each context of a file, or of all files in a folder, ordered by name.

    Rows with the same context, such as the single-hop and multi-hop questions about the same facts, are one dialogue, so that a
    system takes it in once.

    Questions of FactConsolidation have evidence, and a stratum that says whether there is a conflict. Both come from the row's
    metadata, or for questions of one fact from the facts themselves. Raises `BenchmarkError` with the place of the first fault.
    """
    rows = [(place, row) for file in _files_of(path) for place, row in _rows(file)]
    titles = _titles(path if path.is_dir() else path.parent)
    counts: dict[str, int] = {}
    by_context: dict[Sequence[Session], Dialogue] = {}
    for place, row in rows:
        source = _source(row, place)
        counts[source] = counts.get(source, 0) + 1
        dialogue = _dialogue(row, f"{source}#{counts[source]}", source, place, titles)
        first = by_context.setdefault(dialogue.sessions, dialogue)
        if first is not dialogue:
            by_context[dialogue.sessions] = replace(first, questions=(*first.questions, *dialogue.questions))
    dialogues = tuple(by_context.values())
    categories = dict.fromkeys(question.category for dialogue in dialogues for question in dialogue.questions)
    return Benchmark("memoryagentbench", dialogues, tuple(categories))


def competency_of(category: str) -> str | None:
    """Returns the competency that a sub-dataset tests, or None for a category of another benchmark."""
    subset = subset_of(category)
    return None if subset is None else subset.competency


def subset_of(source: str) -> Subset | None:
    return next((subset for name, subset in SUBSETS.items() if source.removeprefix(OWN).startswith(name)), None)


def chunks_of(context: str, tokens: int) -> list[str]:
    """Returns the context in chunks of at most about this many tokens, cut between lines, and in a long line between sentences.

    The chunks joined are the context again. A sentence is never cut, even if it is longer.
    """
    limit = int(tokens * CHARACTERS_PER_TOKEN)
    chunks: list[str] = []
    for piece in _pieces(context, limit):
        if chunks and (len(chunks[-1]) + len(piece) <= limit or not piece.strip()):
            chunks[-1] += piece
        else:
            chunks.append(piece)
    return chunks


def _pieces(context: str, limit: int) -> Iterator[str]:
    for line in context.splitlines(keepends=True):
        if len(line) <= limit:
            yield line
        else:
            yield from re.findall(r".+?(?:[.!?]['\"”’)]*\s+|\Z)", line, re.DOTALL)


def _files_of(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted(
        file for suffix in ("json", "jsonl", "parquet") for file in path.rglob(f"*.{suffix}") if _holds_rows(file)
    )
    if not files:
        raise BenchmarkError(
            f"{path} holds no MemoryAgentBench file. Name a JSON, JSON-lines or parquet file, or a folder with them."
        )
    return files


def _holds_rows(file: Path) -> bool:
    if file.suffix == ".parquet":
        return True
    with file.open("rb") as stream:
        return b'"context"' in stream.read(2000)


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = _read_parquet(file) if file.suffix == ".parquet" else read_rows(file, "MemoryAgentBench", "rows")
    for number, row in enumerate(rows, start=1):
        place = f"{file}: row {number}"
        if not isinstance(row, dict):
            raise BenchmarkError(f"{place} is not an object.")
        yield place, row


def _read_parquet(file: Path) -> list[dict[str, Any]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise BenchmarkError(
            f"{file} needs pyarrow: install it with `.venv/bin/pip install pyarrow`, or give the rows as JSON."
        ) from error
    try:
        rows: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
    except ValueError as error:
        raise BenchmarkError(f"{file} is not a parquet file: {error}. Download it again.") from error
    return rows


def _source(row: Mapping[str, Any], place: str) -> str:
    metadata = row.get("metadata")
    source = metadata.get("source") if isinstance(metadata, dict) else None
    if not isinstance(source, str) or subset_of(source) is None:
        raise BenchmarkError(f"{place}: metadata.source is {source!r}; it must begin with one of {', '.join(SUBSETS)}.")
    if not isinstance(row.get("context"), str) or not row["context"].strip():
        raise BenchmarkError(f"{place}: 'context' is missing, or is not a text.")
    questions, answers = row.get("questions"), row.get("answers")
    if not isinstance(questions, list) or not isinstance(answers, list) or len(questions) != len(answers):
        raise BenchmarkError(f"{place}: 'questions' and 'answers' must be lists of the same length.")
    return source


def _titles(folder: Path) -> Mapping[str, str]:
    """Returns the titles of films by id, from the authors' file if the folder has it."""
    file = folder / "entity2id.json"
    if not file.is_file():
        return {}
    try:
        ids = json.loads(file.read_text(encoding="utf-8"))
        return {str(number): _title(name) for name, number in ids.items()}
    except (ValueError, AttributeError) as error:
        raise BenchmarkError(f"{file} is not a JSON object of names and ids: {error}. Download it again.") from error


def _title(name: str) -> str:
    """Returns the title in an address such as `<http://dbpedia.org/resource/Heat_(1995_film)>`."""
    return re.sub(r" \(.*\)$", "", name.strip("<>").rpartition("/")[2].replace("_", " "))


def _dialogue(row: Mapping[str, Any], dialogue_id: str, source: str, place: str, titles: Mapping[str, str]) -> Dialogue:
    subset = subset_of(source)
    assert subset is not None
    chunks = chunks_of(row["context"], subset.chunk_tokens)
    turns = tuple(
        Turn(f"C:{number}", "user", "user", chunk, _STARTED_AT + timedelta(minutes=number))
        for number, chunk in enumerate(chunks, start=1)
    )
    facts = _Facts(chunks) if source.removeprefix(OWN).startswith("factconsolidation") else None
    hops = _hops(row["metadata"], len(row["questions"]))
    keypoints = tuple(map(str, row["metadata"].get("keypoints") or ())) if subset.measure == "summary" else ()
    questions = []
    for number, (text, answers) in enumerate(zip(row["questions"], row["answers"], strict=True)):
        accepted = [answers] if isinstance(answers, str) else answers
        if not isinstance(text, str) or not isinstance(accepted, list) or not accepted:
            raise BenchmarkError(f"{place}: question {number + 1} is not a text, or has no answer: {answers!r:.80}.")
        accepted = [str(answer) for answer in accepted]
        has_titles = subset.measure == "recall@5" and all(film_id in titles for film_id in accepted)
        can_be_scored = {"recall@5": has_titles, "summary": bool(keypoints)}.get(subset.measure, True)
        accepted = [titles[film_id] for film_id in accepted] if has_titles else accepted
        serials = hops[number] if hops else facts.newest(text, accepted) if facts and "_sh_" in source else ()
        evidence = facts.chunks_with(serials) if facts else ()
        questions.append(
            Question(
                question_id=f"{dialogue_id}/{number + 1}",
                text=text,
                category=source,
                answer=accepted[0],
                accepted=tuple(accepted[1:]),
                evidence=tuple(dict.fromkeys(turns[chunk].reference for chunk in evidence)),
                measure=subset.measure if can_be_scored else "",
                stratum=_stratum(facts, serials, accepted),
                hops=max(1, len(serials)),
                instructions=subset.instructions,
                keypoints=keypoints,
            )
        )
    return Dialogue(dialogue_id, (Session("C", _STARTED_AT, turns),), tuple(questions), _filler(row["metadata"]))


def _filler(metadata: Mapping[str, Any]) -> str:
    facts, filler = metadata.get("facts"), metadata.get("filler_facts")
    return f"{filler:,} of {facts:,} facts" if isinstance(facts, int) and isinstance(filler, int) and filler else ""


def _hops(metadata: Mapping[str, Any], questions: int) -> Sequence[Any]:
    hops = metadata.get("hops")
    return hops if isinstance(hops, list) and len(hops) == questions else ()


def _stratum(facts: "_Facts | None", serials: Sequence[int], answers: Sequence[str]) -> str:
    if facts is None or not serials:
        return ""
    if len(serials) > 1:
        return f"{len(serials)} hops"
    return WITH_CONFLICT if facts.has_conflict(serials[0], answers) else WITHOUT_CONFLICT


class _Facts:
    """The numbered facts of a context, each with its serial number, its text and its chunk."""

    def __init__(self, chunks: Sequence[str]) -> None:
        self._chunks: dict[int, int] = {}
        self._texts: dict[int, str] = {}
        for number, chunk in enumerate(chunks):
            for match in _NUMBERED.finditer(chunk):
                self._chunks[int(match[1])] = number
                self._texts[int(match[1])] = match[2]

    def chunks_with(self, serials: Sequence[int]) -> list[int]:
        return [self._chunks[serial] for serial in serials if serial in self._chunks]

    def newest(self, question: str, answers: Sequence[str]) -> tuple[int, ...]:
        """Returns the newest of the facts that end in an answer and share the most words with the question, if there is one."""
        words = set(_words(question))
        shared = {
            serial: len(words & set(_words(text[: -len(answer)])))
            for serial, text in self._texts.items()
            for answer in answers
            if text.endswith(answer)
        }
        best = max(shared.values(), default=0)
        return (max(serial for serial, count in shared.items() if count == best),) if best else ()

    def has_conflict(self, serial: int, answers: Sequence[str]) -> bool:
        """Returns whether another fact has the same beginning, up to the answer, and another ending."""
        fact = self._texts[serial]
        ending = next((answer for answer in answers if fact.endswith(answer)), None)
        if ending is None:
            return False
        return any(text.startswith(fact[: -len(ending)]) and text != fact for text in self._texts.values())


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
