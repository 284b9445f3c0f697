"""The web page: events of a turn go in, panels come out. No memory logic lives here."""
