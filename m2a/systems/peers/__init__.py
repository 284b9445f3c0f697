"""Memory systems of others, run from their packages in an environment and a process of their own."""
