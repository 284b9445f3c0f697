"""The forms of GAM's memorizer and researcher."""

from pydantic import Field

from m2a.systems.model_steps import Form

MAX_QUERIES = 5


class Memo(Form):
    """Keep the memo of the session, and the header of its page."""

    memo: str = Field(min_length=1, description="One paragraph with everything of the session that may matter later.")
    header: str = Field(
        description="One or two sentences of what came before, which a reader of the session alone would need; empty where "
        "nothing came before."
    )


class Plan(Form):
    """Say what has to be known, and how to look for it."""

    info_needs: tuple[str, ...] = Field(description="What has to be known to answer, each by itself.")
    keywords: tuple[str, ...] = Field(default=(), description="Names and words that stand in the pages as they are.")
    vector_queries: tuple[str, ...] = Field(
        default=(), description="Short sentences that say what is wanted, with the names."
    )
    page_ids: tuple[int, ...] = Field(
        default=(), description="Pages that the memory shows to be the right ones; no guesses."
    )


class Integration(Form):
    """Keep all that is known so far that helps to answer."""

    content: str = Field(description="The facts, in words that stand by themselves; empty where there are none.")
    sources: tuple[int, ...] = Field(default=(), description="The pages that the facts come from.")


class Reflection(Form):
    """Say whether what is known is enough to answer, and what else to look for."""

    enough: bool
    new_requests: tuple[str, ...] = Field(
        default=(),
        description="Where it is not enough: what is missing, as questions that a search can answer, at most five.",
    )


class Extracts(Form):
    """Copy the passages that the facts come from."""

    passages: tuple[str, ...] = Field(description="Each copied word for word from a page.")
