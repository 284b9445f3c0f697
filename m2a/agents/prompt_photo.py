"""Photos as they go into a prompt: a model looks at no more pixels than this, and each step of a turn sends them again."""

import io

LONGEST_SIDE = 1024


def for_prompt(data: bytes) -> bytes:
    """A stored JPEG with at most LONGEST_SIDE pixels a side; one that has no more stays as it is."""
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
        if max(image.size) <= LONGEST_SIDE:
            return data
        image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # decodes fewer pixels, and never fewer than that
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        small = io.BytesIO()
        image.save(small, "JPEG", quality=85)
    return small.getvalue()
