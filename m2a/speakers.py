"""The names of speakers in messages, and of whoever changes the memory in its history."""

USER = "You"
ASSISTANT = "M2A"
THE_USER = "the user"
