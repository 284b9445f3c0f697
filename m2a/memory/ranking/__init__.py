"""`fusion = "best"`: a small learned ranker, which only needs numpy, orders the records that the paths found."""
