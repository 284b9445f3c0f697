"""The program of the decoder's child process: re-encodes one untrusted photo as a JPEG with a thumbnail.

It reads the photo from standard input, writes one reply to standard output and exits, so nothing that a photo does to it lasts
longer than that photo. `PhotoDecoder` starts this file by its path, outside the package. It imports no other part of M2A, and
imports Pillow only when it runs.

A reply is `M2AP`, four bytes of length, that much JSON, and the bytes it announces:
`{"photo": n, "thumbnail": m}`, or `{"refused": reason, "width": w, "height": h}`.
"""

import importlib
import io
import json
import struct
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image, Transpose

MAX_BYTES = 10_000_000
MAX_PIXELS = 40_000_000
MAX_SIDE = 12_000
STORED_SIDE = 4_096
THUMBNAIL_SIDE = 320
MAX_MEMORY = 1 << 30
MAX_CPU_SECONDS = 5
MAGIC = b"M2AP"

_LATE_MODULES = (
    "copy",
    "PIL.ImageCms",
    "PIL.ImageColor",
    "PIL.ImagePalette",
    "PIL.MpoImagePlugin",
    "PIL.TiffImagePlugin",
    "PIL.WebPImagePlugin",
)

# Longest side and JPEG quality, tried in turn until the photo fits into MAX_BYTES.
_STORED_FORMS = ((STORED_SIDE, 90), (STORED_SIDE, 75), (STORED_SIDE * 3 // 4, 75), (STORED_SIDE // 2, 75))
_MAX_ICC_BYTES = 4_000_000
_HEIF_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1"}


class Refused(Exception):
    """The photo is refused. `reason` is a key of `photo_decoder.SENTENCES`."""

    def __init__(self, reason: str, width: int = 0, height: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.width, self.height = reason, width, height


def format_of(data: bytes) -> str | None:
    """Returns JPEG, PNG, WEBP, GIF or HEIF according to the first bytes, or None for any other format."""
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WEBP"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if _HEIF_BRANDS & brands_of(data) and not {b"avif", b"avis"} & brands_of(data):
        return "HEIF"
    return None


def brands_of(data: bytes) -> set[bytes]:
    """Returns the brands in the first box of an ISO media file (HEIC, AVIF, MP4)."""
    if data[4:8] != b"ftyp":
        return set()
    end = min(int.from_bytes(data[:4], "big"), 256)
    return {data[8:12], *(data[start : start + 4] for start in range(16, end - 3, 4))}


def decode(data: bytes, image_format: str) -> "Image":
    """Returns the photo upright, in sRGB, on white, in its original size and without metadata. Raises `Refused`."""
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=[image_format]) as image:
        width, height = image.size
        if min(width, height) < 1:
            raise Refused("damaged")
        if max(width, height) > MAX_SIDE:
            raise Refused("side", width, height)
        if width * height > MAX_PIXELS:
            raise Refused("pixels", width, height)
        image.load()
        turn = None if image_format == "HEIF" else _turn(image)  # libheif has already turned it
        upright = _to_rgb(image)
    return upright if turn is None else upright.transpose(turn)


def to_jpeg(image: "Image", quality: int) -> bytes:
    """Encodes an image deterministically: with one version of Pillow, the same pixels give the same bytes."""
    image.info.clear()  # otherwise Pillow writes a comment that it finds here
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, subsampling=0)
    return buffer.getvalue()


def thumbnail_of(image: "Image") -> bytes:
    """Returns a JPEG with sides of at most THUMBNAIL_SIDE."""
    small = image.copy()
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    return to_jpeg(small, 80)


def _turn(image: "Image") -> "Transpose | None":
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    try:
        return turns.get(image.getexif().get(0x0112, 1))
    except Exception:  # Pillow parses EXIF lazily, and broken EXIF can raise any error
        return None


def _to_rgb(image: "Image") -> "Image":
    from PIL import Image

    profile = image.info.get("icc_profile")
    if image.mode.startswith(("I", "F")):  # 16 bits a pixel: keep the upper eight
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
        image.info.pop("transparency", None)
    elif image.has_transparency_data:
        image = image.convert("RGBA")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode not in ("L", "RGB", "CMYK"):
        image = image.convert("RGB")
    if profile:
        image = _to_srgb(image, profile)
    if image.mode == "RGBA":
        paper = Image.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A"))
        return paper
    return image.convert("RGB")


def _to_srgb(image: "Image", profile: bytes) -> "Image":
    """Converts to sRGB by the colour profile; returns the image unchanged if the profile is broken or does not fit."""
    from PIL import ImageCms

    if len(profile) > _MAX_ICC_BYTES:
        return image
    try:
        target = ImageCms.createProfile("sRGB")
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        mode = "RGBA" if image.mode == "RGBA" else "RGB"
        return ImageCms.profileToProfile(image, source, target, outputMode=mode) or image
    except (ImageCms.PyCMSError, ValueError, OSError):
        return image


def _stored_form(image: "Image") -> bytes:
    for side, quality in _STORED_FORMS:
        image.thumbnail((side, side))
        photo = to_jpeg(image, quality)
        if len(photo) <= MAX_BYTES:
            return photo
    raise Refused("complex")


def _reply(header: dict[str, object], *bodies: bytes) -> None:
    text = json.dumps(header).encode()
    sys.stdout.buffer.write(b"".join((MAGIC, struct.pack(">I", len(text)), text, *bodies)))
    sys.stdout.buffer.flush()


def _limit_resources() -> None:
    """Limits memory and time, and forbids opening files and sockets and writing core dumps. macOS lacks some limits."""
    try:
        import resource
    except ImportError:
        return
    limits = {
        "RLIMIT_AS": MAX_MEMORY,
        "RLIMIT_CPU": MAX_CPU_SECONDS,
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NOFILE": 3,  # standard input, output and error
    }
    for name, value in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (AttributeError, ValueError, OSError):
            continue


def _prepare(image_format: str) -> None:
    """Imports everything that decoding needs, including what Pillow imports late, while files can still be opened."""
    for name in _LATE_MODULES:
        importlib.import_module(name)
    from PIL import Image

    Image.preinit()
    Image.MAX_IMAGE_PIXELS = MAX_SIDE**2  # a backstop; `decode` checks first and reports the size
    if image_format == "HEIF":
        try:
            pillow_heif = importlib.import_module("pillow_heif")
        except ImportError as error:
            raise Refused("heic") from error
        pillow_heif.register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)
    warnings.simplefilter("error")
    # Many phones write EXIF, MPO or APNG data that Pillow warns about; none of it is kept.
    warnings.filterwarnings("ignore", module=r"PIL\.(Tiff|Jpeg|Png)ImagePlugin")


def _prepare_or_refuse(image_format: str) -> None:
    try:
        _prepare(image_format)
    except Refused:
        raise
    except Exception as error:  # any error here comes from the installation, not from the photo
        raise Refused("broken") from error


def main() -> None:
    data = sys.stdin.buffer.read(MAX_BYTES)
    try:
        image_format = format_of(data)
        if image_format is None:
            raise Refused("damaged")
        _prepare_or_refuse(image_format)
        _limit_resources()
        image = decode(data, image_format)
        del data
        photo = _stored_form(image)
        thumbnail = thumbnail_of(image)
    except Refused as refusal:
        _reply({"refused": refusal.reason, "width": refusal.width, "height": refusal.height})
    except MemoryError:
        _reply({"refused": "memory"})
    except Exception as error:  # on broken bytes, decoders raise any error: struct.error, IndexError, …
        bomb = type(error).__name__.startswith("DecompressionBomb")
        _reply({"refused": "memory" if bomb else "damaged"})
    else:
        _reply({"photo": len(photo), "thumbnail": len(thumbnail)}, photo, thumbnail)


if __name__ == "__main__":
    main()
