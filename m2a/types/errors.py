"""The root of the errors whose message a user reads."""


class UserError(Exception):
    """The message is a sentence for the user: what went wrong and what to do."""
