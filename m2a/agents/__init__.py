"""The ChatAgent and the MemoryManager, and the policies that decide their steps: a language model, or the offline rules."""
