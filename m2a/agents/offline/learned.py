"""The learned decisions of the offline rules, as committed (`python -m tests.bench offline --train`)."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from m2a.agents.offline import acts, correction_features, forget_features, relevance
from m2a.agents.offline.relations import fact_features, value_spans
from m2a.agents.offline.sense import LearnedDecision, as_decisions
from models.text_encoder import TextEncoder

LEARNED = Path(__file__).parent / "learned.json"
LEARNED_RELATIONS = Path(__file__).parent / "relations" / "learned.json"  # `python -m tests.bench facts --train`
# The features of "forgets" are not listed: they are runs of words and depend on the training texts.
_FEATURES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(acts.LEARNED_ACTS, acts.FEATURES),
    "answers": relevance.FEATURES,
    "forgotten": forget_features.FEATURES,
    "takes back": frozenset(),
    "corrects": correction_features.FEATURES,
    "is the value": value_spans.FEATURES,
    "tells what is asked": fact_features.ANSWERING,
    "the same relation": fact_features.SAME_RELATION,
}


def learned(encoder: TextEncoder) -> Mapping[str, LearnedDecision]:
    """Returns the decisions of the committed files, by name.

    Raises `ValueError` for an encoder that they were not trained on, and for weights of other features.
    """
    trained_on, decisions = _committed()
    if encoder.encoder_id.partition("@")[0] != trained_on:
        raise ValueError(f"The offline rules are trained on {trained_on}, not on {encoder.encoder_id!r}.")
    return decisions


@lru_cache(maxsize=1)
def _committed() -> tuple[str, Mapping[str, LearnedDecision]]:
    content: dict[str, Any] = json.loads(LEARNED.read_text(encoding="utf-8"))
    content |= json.loads(LEARNED_RELATIONS.read_text(encoding="utf-8"))
    trained_on = content.pop("encoder")
    decisions = as_decisions(content)
    for name, features in _FEATURES.items():
        if differing := features ^ set(decisions[name].names):
            raise ValueError(f"The weights of {name!r} do not fit its features: {', '.join(sorted(differing))}.")
    return trained_on, decisions
