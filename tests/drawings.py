"""Drawings of a dog and of a teapot, each in several views, for tests without the photo data set."""

from pathlib import Path

from PIL import Image, ImageDraw


def draw_dog(path: Path, view: int) -> Path:
    """A brown dog on grass; each view is shifted, turned and lit a little differently."""
    picture = Image.new("RGB", (480, 360), (150 + 6 * view, 200, 225 - 5 * view))
    draw = ImageDraw.Draw(picture)
    left = 20 * view
    draw.rectangle((0, 260, 480, 360), fill=(110 + 8 * view, 160, 80))
    draw.ellipse((130 + left, 160, 300 + left, 330), fill="#b07a42")
    draw.ellipse((140 + left, 60, 290 + left, 200), fill="#b07a42")
    draw.ellipse((115 + left, 70, 165 + left, 180), fill="#7a4e26")
    draw.ellipse((265 + left, 70, 315 + left, 180), fill="#7a4e26")
    draw.ellipse((175 + left, 125, 255 + left, 200), fill="#ead2b0")
    draw.ellipse((178 + left, 105, 196 + left, 125), fill="#211a17")
    draw.ellipse((236 + left, 105, 254 + left, 125), fill="#211a17")
    draw.ellipse((200 + left, 135, 232 + left, 158), fill="#211a17")
    picture.rotate(2 * view, fillcolor=(150, 190, 160)).save(path)
    return path


def draw_teapot(path: Path, view: int) -> Path:
    """A blue teapot on a table, seen from two places."""
    picture = Image.new("RGB", (480, 360), (238, 232, 220 - 8 * view))
    draw = ImageDraw.Draw(picture)
    left = 25 * view
    draw.rectangle((0, 270, 480, 360), fill="#8a6a48")
    draw.ellipse((110 + left, 110, 310 + left, 290), fill="#3560a8")
    draw.polygon(((295 + left, 220), (390 + left, 120), (405 + left, 135), (310 + left, 260)), fill="#3560a8")
    draw.arc((50 + left, 140, 150 + left, 260), 70, 290, fill="#2a4d88", width=18)
    draw.ellipse((160 + left, 92, 260 + left, 130), fill="#2a4d88")
    draw.ellipse((197 + left, 70, 223 + left, 98), fill="#2a4d88")
    picture.save(path)
    return path
