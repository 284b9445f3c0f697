"""M2A: a personal assistant that sees your photos and remembers. `from m2a import Assistant` opens one."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from m2a.assistant import Assistant

__all__ = ["Assistant"]


def __getattr__(name: str) -> Any:
    """Imports `Assistant` on first use, so that importing a value type stays cheap."""
    if name == "Assistant":
        from m2a.assistant import Assistant

        return Assistant
    raise AttributeError(f"module 'm2a' has no attribute {name!r}")
