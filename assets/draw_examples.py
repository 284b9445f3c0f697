"""Draws the pictures of `assets/`: the examples to click and the icon. Run it to draw them again."""

from pathlib import Path

from PIL import Image, ImageDraw

HERE = Path(__file__).parent
SCALE = 4


def dog() -> Image.Image:
    """Bobo with his red ball, on a lawn."""
    picture = Image.new("RGB", (480 * SCALE, 360 * SCALE), "#cfe3ee")
    draw = _Scaled(picture)
    draw.ellipse((60, 30, 150, 70), "#ffffff")
    draw.ellipse((110, 22, 220, 72), "#ffffff")
    draw.ellipse((-120, 220, 620, 620), "#9cbf7c")
    draw.ellipse((280, 140, 320, 240), "#a5703f")  # tail
    draw.ellipse((150, 170, 310, 320), "#c08a52")  # body
    draw.ellipse((190, 215, 270, 320), "#ead2b0")  # chest
    draw.ellipse((160, 290, 215, 325), "#ead2b0")  # paws
    draw.ellipse((245, 290, 300, 325), "#ead2b0")
    draw.ellipse((155, 70, 305, 210), "#c08a52")  # head
    draw.ellipse((130, 75, 182, 185), "#8a5a30")  # ears
    draw.ellipse((278, 75, 330, 185), "#8a5a30")
    draw.ellipse((188, 130, 272, 208), "#ead2b0")  # muzzle
    draw.ellipse((190, 112, 208, 132), "#2a2320")  # eyes
    draw.ellipse((252, 112, 270, 132), "#2a2320")
    draw.ellipse((194, 115, 200, 121), "#ffffff")
    draw.ellipse((256, 115, 262, 121), "#ffffff")
    draw.ellipse((214, 140, 246, 162), "#2a2320")  # nose
    draw.arc((205, 150, 230, 185), 20, 160, "#2a2320", 4)
    draw.arc((230, 150, 255, 185), 20, 160, "#2a2320", 4)
    draw.ellipse((340, 255, 405, 320), "#c8402f")  # ball
    draw.arc((325, 240, 390, 305), 5, 80, "#f2b8a8", 5)
    return picture.resize((480, 360), Image.Resampling.LANCZOS)


def icon() -> Image.Image:
    """Two overlapping leaves of an album."""
    picture = Image.new("RGBA", (64 * SCALE, 64 * SCALE), (0, 0, 0, 0))
    draw = _Scaled(picture)
    draw.rounded((2, 2, 62, 62), 16, "#2b6a5c")
    draw.rounded((14, 16, 42, 44), 6, "#9fcabd")
    draw.rounded((22, 22, 50, 50), 6, "#faf8f4")
    draw.ellipse((30, 30, 42, 42), "#2b6a5c")
    return picture.resize((64, 64), Image.Resampling.LANCZOS)


class _Scaled:
    """Draws in units of the finished picture."""

    def __init__(self, picture: Image.Image) -> None:
        self._draw = ImageDraw.Draw(picture)

    def ellipse(self, box: tuple[int, int, int, int], fill: str) -> None:
        self._draw.ellipse([SCALE * one for one in box], fill=fill)

    def arc(self, box: tuple[int, int, int, int], start: int, end: int, fill: str, width: int) -> None:
        self._draw.arc([SCALE * one for one in box], start, end, fill=fill, width=width * SCALE)

    def rounded(self, box: tuple[int, int, int, int], radius: int, fill: str) -> None:
        self._draw.rounded_rectangle([SCALE * one for one in box], radius * SCALE, fill=fill)


if __name__ == "__main__":
    (HERE / "examples").mkdir(exist_ok=True)
    dog().save(HERE / "examples" / "dog.png", optimize=True)
    icon().save(HERE / "favicon.png", optimize=True)
