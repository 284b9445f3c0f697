"""Which errors are sentences for a user. Ours are: each says what is wrong and what to do; no other error does."""


def sentence_of(error: BaseException) -> str | None:
    """What the user is told of an error of ours; None for any other, which belongs in the log."""
    return str(error) if type(error).__module__.startswith(("m2a.", "models.")) else None
