"""Composes contexts in the layout of MemoryAgentBench from other data sets, because its own data is only on a hub.

They follow the published recipe, as far as it is known. Their names begin with `own_`, because figures on them cannot be compared
with figures on the published data.
"""
