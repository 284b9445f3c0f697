"""Runs memory systems on benchmarks: runner, metrics, judges, report."""
