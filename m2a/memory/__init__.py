"""One owner's two-layer memory: the raw message log, the semantic entries over it, photos, and their index."""
