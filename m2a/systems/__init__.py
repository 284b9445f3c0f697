"""All memory systems that can be evaluated, behind one protocol (`system.py`)."""
