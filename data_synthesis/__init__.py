"""Dataset synthesis: photo-grounded sessions woven into LoCoMo's conversations (M2A, section 4.4 and appendix C).

Concept groups (`sources`, `groups`) get their place and dates first (`placement`), are written by a generator and
woven in (`interpolation`); `pipeline` is the run, and `validation` checks any folder that it has made.
"""
