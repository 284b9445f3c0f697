"""The base class of errors whose messages are shown to users."""


class UserError(Exception):
    """An error whose message tells the user what went wrong and what to do."""
