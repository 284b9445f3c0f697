"""Memory systems of other authors, each run from its package in an environment and a process of its own."""
