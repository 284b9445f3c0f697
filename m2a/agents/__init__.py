"""ChatAgent and MemoryManager, and the two that can decide their steps: a language model, or the offline rules."""
