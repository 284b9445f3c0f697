"""Composes contexts in the layout of MemoryAgentBench from data that can be had: its own data set is on a hub alone.

They follow the published recipe, as far as it is known, and are named as their own (`own_…`): no figure on them is one on the
published data.
"""
