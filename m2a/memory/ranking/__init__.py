"""`fusion = "best"`: what the paths found is put in order by a small learned ranker, which needs numpy alone."""
