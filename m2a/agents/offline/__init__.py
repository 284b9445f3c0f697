"""The assistant without a language model: rules that look up, quote, count, keep and correct."""

from m2a.agents.offline.policy import OfflineRules

__all__ = ["OfflineRules"]
