"""Writes sessions and questions without a language model: a plan of facts first, then words for it, then questions."""

from data_synthesis.grammar.generator import GrammarGenerator

__all__ = ["GrammarGenerator"]
