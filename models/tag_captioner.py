"""Captions from image tags, without a language model."""

import asyncio
from io import BytesIO

from PIL import Image

from models.captioner import Count, guess, uncounted
from models.efficientnet import EfficientNet

_MINIMUM_PROBABILITY = 0.2


class TagCaptioner:
    """Makes captions such as "perhaps a golden retriever" or "perhaps a beagle or a basset hound"; "" if nothing is likely."""

    def __init__(self, network: EfficientNet) -> None:
        self.captioner_id = f"tags:{network.network_id}"
        self._network = network

    async def caption(self, photo: bytes, count: Count = uncounted) -> str:
        return await asyncio.to_thread(self._caption, photo)

    def _caption(self, photo: bytes) -> str:
        with Image.open(BytesIO(photo)) as image:
            tags = self._network.tags(image, _MINIMUM_PROBABILITY)
        return guess(tag.phrase for tag in tags[:2])
