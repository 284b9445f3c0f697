"""Who speaks in a conversation, as the messages name them, and who changes the memory, as its history does."""

USER = "You"
ASSISTANT = "M2A"
THE_USER = "the user"
