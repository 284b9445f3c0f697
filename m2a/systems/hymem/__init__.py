"""HyMem (preprint of February 2026): summaries over raw event units; a light look first, a deep one where that is not enough."""
