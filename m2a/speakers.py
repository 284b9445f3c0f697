"""The names of the speakers in messages, and of the user in the history of the memory."""

USER = "You"
ASSISTANT = "M2A"
THE_USER = "the user"
