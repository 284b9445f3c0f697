"""Every memory system that can be evaluated, behind one protocol (`system.py`)."""
