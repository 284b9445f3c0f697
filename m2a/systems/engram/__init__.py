"""ENGRAM (arXiv 2511.12960): each message is routed to typed stores, and a question is answered from the nearest of each type."""
