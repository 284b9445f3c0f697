"""The two fits of `m2a tune`: a token head and a linear ranker. Both learn to score answering messages above all others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import normalize, softplus

from m2a.memory.ranking.token_head import TokenHead

DIMENSIONS = 64
_EPOCHS = 4
_BATCH = 32
_NEGATIVES = 100
_RATE = 3e-3
_LONGEST = 72  # tokens of a message that the head is fitted on
_SAMPLE = 7  # every seventh token is used for the principal components, from which the head starts


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue to learn from: token states of unit length of its messages and questions, and the answers to each question."""

    messages: Sequence[np.ndarray]
    questions: Sequence[np.ndarray]
    gold: Sequence[frozenset[int]]


def fit_head(dialogues: Sequence[Dialogue]) -> TokenHead:
    """Returns a head whose late interaction scores answers above a hundred random messages of their dialogue."""
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    projection = torch.nn.Parameter(torch.tensor(_principal_components(dialogues)))
    token_weight = torch.nn.Parameter(torch.zeros(len(projection)))
    sharpness = torch.nn.Parameter(torch.tensor(3.0))
    optimizer = torch.optim.Adam(
        [
            {"params": [projection], "lr": _RATE},
            {"params": [token_weight], "lr": 3 * _RATE},
            {"params": [sharpness], "lr": 0.02},
        ]
    )
    batches = [
        (dialogue, questions)
        for _ in range(_EPOCHS)
        for dialogue in dialogues
        for questions in _batches(random.permutation(len(dialogue.questions)))
    ]
    per_epoch = len(batches) // _EPOCHS
    order = np.concatenate([epoch * per_epoch + random.permutation(per_epoch) for epoch in range(_EPOCHS)])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / len(batches))
    for batch_number in order:
        dialogue, questions = batches[batch_number]
        gold = set().union(*(dialogue.gold[number] for number in questions))
        sampled = random.choice(len(dialogue.messages), min(_NEGATIVES, len(dialogue.messages)), replace=False)
        messages = sorted(gold | set(sampled.tolist()))
        scores = _late_interaction(
            [dialogue.questions[number] for number in questions],
            [dialogue.messages[number][:_LONGEST] for number in messages],
            projection,
            token_weight,
        )
        relevant = torch.tensor([[message in dialogue.gold[number] for message in messages] for number in questions])
        loss = _loss(scores * sharpness.exp(), relevant)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    return TokenHead(projection.detach().numpy(), token_weight.detach().numpy() * _WEIGHT_SCALE)


_WEIGHT_SCALE = 5  # makes the token weights learn as fast as the projection


def fit_ranker(tables: Sequence[np.ndarray], relevant: Sequence[np.ndarray], l2: float) -> np.ndarray:
    """Returns a weight for each column. Each relevant row is compared with all irrelevant rows of its question.

    Minimises the mean over questions of the mean over relevant rows r of log(1 + exp(logsumexp(others) - score(r))), plus
    l2/2 |w|² for columns of unit spread, which is convex. Questions without both relevant and other rows are left out.
    """
    spread = np.concatenate(tables).std(axis=0) + 1e-6
    kept = [(table / spread, gold) for table, gold in zip(tables, relevant, strict=True) if 0 < gold.sum() < len(gold)]
    longest = max(len(table) for table, _ in kept)
    rows = torch.zeros(len(kept), longest, len(spread), dtype=torch.float64)
    is_relevant, is_row = torch.zeros(2, len(kept), longest, dtype=torch.bool)
    for number, (table, gold) in enumerate(kept):
        rows[number, : len(table)] = torch.tensor(table)
        is_relevant[number, : len(table)] = torch.tensor(gold)
        is_row[number, : len(table)] = True
    weights = torch.zeros(len(spread), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = _loss((rows @ weights).masked_fill(~is_row, -1e9), is_relevant) + l2 / 2 * weights @ weights
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return np.asarray(weights.detach().numpy() / spread)


def _loss(scores: torch.Tensor, relevant: torch.Tensor) -> torch.Tensor:
    """Returns the loss, which grows as relevant columns score below the others."""
    others = torch.logsumexp(scores.masked_fill(relevant, -1e9), dim=1, keepdim=True)
    per_question = (softplus(others - scores) * relevant).sum(dim=1) / relevant.sum(dim=1)
    return per_question.mean()


def _late_interaction(
    questions: Sequence[np.ndarray],
    messages: Sequence[np.ndarray],
    projection: torch.Tensor,
    token_weight: torch.Tensor,
) -> torch.Tensor:
    """Returns the score of each message (columns) for each question (rows): the weighted mean of its tokens' best matches."""
    question_tokens = torch.tensor(np.concatenate(questions))
    message_tokens = torch.tensor(np.concatenate(messages)).float()
    lengths = torch.tensor([len(message) for message in messages])
    starts = torch.cumsum(lengths, 0) - lengths
    steps = torch.arange(int(lengths.max()))
    positions = starts[:, None] + torch.minimum(steps, lengths[:, None] - 1)  # repeats the last token as padding
    matches = normalize(question_tokens @ projection, dim=-1) @ normalize(message_tokens @ projection, dim=-1).T
    best = matches[:, positions.reshape(-1)].reshape(len(question_tokens), *positions.shape).amax(dim=2)
    weights = softplus(question_tokens @ token_weight * _WEIGHT_SCALE)
    question_ids = torch.repeat_interleave(torch.arange(len(questions)), torch.tensor(list(map(len, questions))))
    total = torch.zeros(len(questions)).index_add(0, question_ids, weights)
    scores = torch.zeros(len(questions), len(messages)).index_add(0, question_ids, best * weights[:, None])
    return scores / total[:, None]


def _principal_components(dialogues: Sequence[Dialogue]) -> np.ndarray:
    tokens = np.concatenate([message for dialogue in dialogues for message in dialogue.messages])[::_SAMPLE]
    tokens = tokens.astype(np.float32)
    _, vectors = np.linalg.eigh(tokens.T @ tokens)
    return np.asarray(vectors[:, ::-1][:, :DIMENSIONS], dtype=np.float32).copy()


def _batches(numbers: np.ndarray) -> list[list[int]]:
    return [numbers[start : start + _BATCH].tolist() for start in range(0, len(numbers), _BATCH)]
