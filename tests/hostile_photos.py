"""A seeded corpus of hostile, broken and odd photos. `python -m tests.hostile_photos FOLDER` writes it out to look at."""

import io
import random
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageCms, ImageDraw, PngImagePlugin
from PIL.TiffImagePlugin import IFDRational

# None of these may ever occur in the stored bytes. Coordinates are EXIF rationals, in either byte order.
MARKERS = (
    b"M2A-MARKER",
    b"<script>",
    b"SECRET-PLACE",
    "M2A-MARKER".encode("utf-16-le"),
    "M2A-MARKER".encode("utf-16-be"),
    struct.pack("<II", 5_212_345, 100_003),
    struct.pack(">II", 5_212_345, 100_003),
)
_TEXT = "M2A-MARKER SECRET-PLACE <script>alert(1)</script>"
_MARK = _TEXT.encode()


@dataclass(frozen=True, slots=True)
class HostilePhoto:
    """`expected` is the outcome: `refused`, `stored`, or `either` if it depends on the bytes that were changed."""

    name: str
    group: str
    expected: str
    data: bytes


def corpus(seed: int = 20261) -> Iterator[HostilePhoto]:
    """300 files, the same for the same seed."""
    rng = random.Random(seed)
    for group in (_truncated, _flipped, _bombs, _disguises, _odd, _planted, _malformed):
        yield from group(rng)


def encode(image: Image.Image, image_format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, image_format, **options)
    return buffer.getvalue()


def picture(rng: random.Random, width: int = 240, height: int = 180, mode: str = "RGB") -> Image.Image:
    """A drawing with soft and hard edges, which exercises a decoder."""
    image = Image.radial_gradient("L").resize((width, height)).convert("RGB")
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = rng.randrange(width), rng.randrange(height)
        draw.ellipse((x, y, x + width // 5, y + height // 5), fill=tuple(rng.randrange(256) for _ in range(3)))
    return image.convert(mode)


def chunk(kind: bytes, data: bytes) -> bytes:
    """One PNG chunk."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, scanlines: bytes, *, depth: int = 8, colour: int = 2, extra: bytes = b"") -> bytes:
    """A PNG assembled by hand, consistent or not; `scanlines` are already compressed."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", scanlines) + chunk(b"IEND", b"")


def segment(marker: int, data: bytes) -> bytes:
    """One JPEG segment."""
    return struct.pack(">HH", marker, len(data) + 2) + data


def after_start(jpeg: bytes, *segments: bytes) -> bytes:
    return jpeg[:2] + b"".join(segments) + jpeg[2:]


def riff(kind: bytes, data: bytes) -> bytes:
    """One WebP chunk."""
    return kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def webp(*chunks: bytes) -> bytes:
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _webp_canvas(flags: int, width: int, height: int) -> bytes:
    return riff(
        b"VP8X", bytes([flags, 0, 0, 0]) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    )


def _good_files(rng: random.Random) -> dict[str, bytes]:
    image = picture(rng)
    return {
        "baseline.jpg": encode(image, "JPEG"),
        "progressive.jpg": encode(image, "JPEG", progressive=True),
        "rgb.png": encode(image, "PNG"),
        "palette.png": encode(image.quantize(64), "PNG"),
        "lossy.webp": encode(image, "WEBP"),
        "lossless.webp": encode(image, "WEBP", lossless=True),
        "picture.gif": encode(image.quantize(128), "GIF"),
    }


def _truncated(rng: random.Random) -> Iterator[HostilePhoto]:
    for name, data in _good_files(rng).items():
        for cut in (1, 30, *(len(data) * part // 10 for part in (1, 5, 9)), len(data) - 40):
            yield HostilePhoto(f"truncated-{cut}-{name}", "truncated", "refused", data[:cut])


def _flipped(rng: random.Random) -> Iterator[HostilePhoto]:
    for name, data in _good_files(rng).items():
        for trial in range(4):
            broken = bytearray(data)
            for _ in range(1 + trial):
                broken[rng.randrange(len(broken) if trial % 2 else min(len(broken), 200))] ^= 1 << rng.randrange(8)
            yield HostilePhoto(f"flipped-{trial}-{name}", "bit flips", "either", bytes(broken))


@cache
def zeros(count: int) -> bytes:
    """Returns compressed zeros: `count`, rounded down to whole megabytes."""
    compressor = zlib.compressobj(9)
    block = bytes(1 << 20)
    parts = [compressor.compress(block) for _ in range(count >> 20)]
    return b"".join(parts) + compressor.flush()


def _bombs(rng: random.Random) -> Iterator[HostilePhoto]:
    # 9,000² at one bit a pixel: 9 kB that become 81 million pixels.
    one_bit = zeros(9_000 * 1_126)
    pixels = zlib.compress(bytes(1000))
    jpeg, gif = encode(picture(rng), "JPEG"), encode(picture(rng).quantize(8), "GIF")
    start = jpeg.index(b"\xff\xc0")

    def jpeg_of(width: int, height: int) -> bytes:
        return jpeg[: start + 5] + struct.pack(">HH", height, width) + jpeg[start + 9 :]

    flat = encode(Image.new("RGB", (16_383, 16_383 // 8)), "WEBP", lossless=True)
    bombs = {
        "9000x9000.png": png(9_000, 9_000, one_bit, depth=1, colour=0),
        "9000x9000-palette.png": png(
            9_000, 9_000, one_bit, depth=1, colour=3, extra=chunk(b"PLTE", bytes(6)) + chunk(b"tRNS", bytes(2))
        ),
        "6400x6400.png": png(6_400, 6_400, one_bit, depth=1, colour=0),
        "billion.png": png(2**31 - 1, 2**31 - 1, pixels),
        "65535x65535.png": png(65_535, 65_535, pixels),
        "12001x1.png": encode(Image.new("RGB", (12_001, 1)), "PNG"),
        "1x12001.png": encode(Image.new("RGB", (1, 12_001)), "PNG"),
        "1x20000.jpg": encode(Image.new("RGB", (1, 20_000)), "JPEG"),
        "12000x12000.jpg": jpeg_of(12_000, 12_000),
        "65500x65500.jpg": jpeg_of(65_500, 65_500),
        "65535x1.jpg": jpeg_of(65_535, 1),
        "65535x65535.gif": gif[:6] + b"\xff\xff\xff\xff" + gif[10:],
        "30000x2000.gif": gif[:6] + struct.pack("<HH", 30_000, 2_000) + gif[10:],
        "7000x7000.gif": gif[:6] + struct.pack("<HH", 7_000, 7_000) + gif[10:],
        "16383-wide.webp": flat,
        "canvas-16384x16384.webp": webp(_webp_canvas(0, 16_384, 16_384), flat[12:]),
        "canvas-16777216x16777216.webp": webp(_webp_canvas(2, 1 << 24, 1 << 24), flat[12:]),
        "canvas-10000x10000.webp": webp(_webp_canvas(2, 10_000, 10_000), flat[12:]),
        "too-many-bytes.jpg": jpeg + bytes(10_000_001 - len(jpeg)),
        "too-many-bytes.png": b"\x89PNG\r\n\x1a\n" + bytes(11_000_000),
    }
    frame = gif.index(b"\x2c")
    huge_frame = gif[: frame + 5] + struct.pack("<HH", 60_000, 60_000) + gif[frame + 9 :]
    bombs["frame-60000x60000.gif"] = huge_frame
    for name, data in bombs.items():
        yield HostilePhoto(f"bomb-{name}", "bombs", "refused", data)

    # These are small pictures; the bombs are in chunks that need not be read.
    image = encode(picture(rng), "PNG")
    bomb = zeros(200 << 20)
    header, rest = image[:33], image[33:]
    for kind, data in {
        "zTXt": b"Comment\0\0" + bomb,
        "iTXt": b"Comment\0\1\0\0\0" + bomb,
        "iCCP": b"profile\0\0" + bomb,
    }.items():
        yield HostilePhoto(f"bomb-{kind}.png", "bombs", "either", header + chunk(kind.encode(), data) + rest)
    many = b"".join(chunk(b"tEXt", b"Key%d\0" % number + _MARK) for number in range(20_000))
    yield HostilePhoto("bomb-20000-texts.png", "bombs", "either", header + many + rest)
    yield HostilePhoto("bomb-long-idat.png", "bombs", "either", png(64, 64, zeros(400 << 20)))
    scan = encode(Image.new("L", (3_000, 3_000)), "JPEG", progressive=True)
    last = scan.rindex(b"\xff\xda")
    yield HostilePhoto("bomb-2000-scans.jpg", "bombs", "either", scan[:-2] + scan[last:-2] * 2_000 + scan[-2:])
    frames = [Image.new("P", (2_000, 2_000), colour) for colour in range(64)]
    many_frames = encode(frames[0], "GIF", save_all=True, append_images=frames[1:])
    yield HostilePhoto("bomb-frames.gif", "bombs", "stored", many_frames)


def _disguises(rng: random.Random) -> Iterator[HostilePhoto]:
    html = b"<!DOCTYPE html><html><body>" + _MARK + b"</body></html>"
    svg = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">' + _MARK + b"</svg>"
    script = b"/*" + _MARK + b"*/ = 1;"
    archive = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"a" + _MARK
    archive += b"PK\x05\x06" + bytes(18)
    pdf = b"%PDF-1.7\n" + _MARK + b"\n%%EOF"
    image = picture(rng)
    good = {name: data for name, data in _good_files(rng).items() if name in _CARRIERS}
    for tail_name, tail in {"html": html, "js": script, "zip": archive, "pdf": pdf, "svg": svg}.items():
        for name, data in good.items():
            yield HostilePhoto(f"{tail_name}-behind-{name}", "polyglots", "stored", data + tail)
        for name in ("baseline.jpg", "rgb.png"):
            yield HostilePhoto(f"{tail_name}-before-{name}", "polyglots", "refused", tail + good[name])
    yield HostilePhoto("gif-is-script.gif", "polyglots", "either", b"GIF89a" + script + good["picture.gif"])
    comment = after_start(good["baseline.jpg"], segment(0xFFFE, html))
    yield HostilePhoto("html-in-comment.jpg", "polyglots", "stored", comment)
    others = {
        "drawing.svg.png": svg,
        "page.png": html,
        "spaces-page.jpg": b"\xef\xbb\xbf  \n" + html,
        "xml-entity.png": b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg>&a;</svg>',
        "document.jpg": pdf,
        "archive.png": archive,
        "text.jpg": _MARK,
        "empty.jpg": b"",
        "one-byte.jpg": b"\xff",
        "zeros.jpg": bytes(5_000),
        "noise.jpg": rng.randbytes(5_000),
        "postscript.png": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) run\n",
        "program.jpg": b"\x7fELF\2\1\1" + bytes(200),
        "shell.jpg": b"#!/bin/sh\nrm -rf /\n",
        "video.jpg": b"\0\0\0\x18ftypisom\0\0\2\0isommp41" + bytes(100),
        "photo.heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(200),
        "sequence.heic": b"\0\0\0\x1cftypmsf1\0\0\0\0msf1hevciso8" + bytes(200),
        "avif-by-brand.heic": b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf" + bytes(200),
        "wave.webp": b"RIFF\x24\0\0\0WAVEfmt " + bytes(40),
        "jxl.jpg": b"\xff\x0a" + rng.randbytes(100),
    }
    for name, data in others.items():
        yield HostilePhoto(f"disguise-{name}", "disguises", "refused", data)
    for other in ("TIFF", "BMP", "PPM", "ICO", "TGA", "PCX", "SGI", "JPEG2000", "AVIF", "EPS", "IM", "DDS"):
        yield HostilePhoto(f"disguise-{other}.jpg", "disguises", "refused", encode(image, other))


_CARRIERS = ("baseline.jpg", "rgb.png", "lossy.webp", "picture.gif")


def _odd(rng: random.Random) -> Iterator[HostilePhoto]:
    image = picture(rng)
    alpha = image.convert("RGBA")
    alpha.putalpha(Image.linear_gradient("L").resize(image.size))
    palette = image.quantize(16)
    deep = Image.linear_gradient("L").convert("I").point(lambda value: value * 257).convert("I;16")
    wheel = [picture(rng) for _ in range(3)]
    turned = Image.Exif()
    files: dict[str, bytes] = {
        "cmyk.jpg": encode(image.convert("CMYK"), "JPEG"),
        "grey.jpg": encode(image.convert("L"), "JPEG"),
        "cmyk-progressive.jpg": encode(image.convert("CMYK"), "JPEG", progressive=True),
        "i16.png": encode(deep, "PNG"),
        "grey.png": encode(image.convert("L"), "PNG"),
        "grey-alpha.png": encode(alpha.convert("LA"), "PNG"),
        "1-bit.png": encode(image.convert("1"), "PNG"),
        "palette.png": encode(palette, "PNG"),
        "palette-transparent.png": encode(palette, "PNG", transparency=3),
        "palette-alphas.png": encode(palette, "PNG", transparency=bytes(range(0, 256, 16))),
        "rgb-transparent.png": encode(image, "PNG", transparency=(255, 0, 0)),
        "grey-transparent.png": encode(image.convert("L"), "PNG", transparency=10),
        "1-bit-transparent.png": encode(image.convert("1"), "PNG", transparency=0),
        "alpha.png": encode(alpha, "PNG"),
        "alpha.webp": encode(alpha, "WEBP"),
        "alpha-lossless.webp": encode(alpha, "WEBP", lossless=True),
        "grey.gif": encode(image.convert("L"), "GIF"),
        "transparent.gif": encode(palette, "GIF", transparency=2),
        "interlaced.gif": encode(palette, "GIF", interlace=1),
        "animated.gif": encode(wheel[0], "GIF", save_all=True, append_images=wheel[1:]),
        "animated.webp": encode(wheel[0], "WEBP", save_all=True, append_images=wheel[1:]),
        "animated.png": encode(wheel[0], "PNG", save_all=True, append_images=wheel[1:]),
        "animated-default.png": encode(wheel[0], "PNG", save_all=True, append_images=wheel[1:], default_image=True),
        "two-photos.mpo.jpg": encode(wheel[0], "MPO", save_all=True, append_images=wheel[1:]),
        "16-bit-rgb.png": png(8, 8, zlib.compress((b"\0" + bytes(range(48))) * 8), depth=16),
        "16-bit-rgba.png": png(8, 8, zlib.compress((b"\0" + bytes(range(64))) * 8), depth=16, colour=6),
        "16-bit-grey-alpha.png": png(8, 8, zlib.compress((b"\0" + bytes(range(32))) * 8), depth=16, colour=4),
        "2-bit.png": png(8, 8, zlib.compress(b"\0\x1b\xe4" * 8), depth=2, colour=0),
        "1-line-12000.jpg": encode(Image.new("RGB", (12_000, 1), "red"), "JPEG"),
        "1-column-12000.png": encode(Image.new("RGB", (1, 12_000), "red"), "PNG"),
    }
    for image_format in ("JPEG", "PNG", "WEBP", "GIF"):
        files[f"1x1.{image_format}"] = encode(Image.new("RGB", (1, 1), "green"), image_format)
        files[f"5000x40.{image_format}"] = encode(Image.new("RGB", (5_000, 40), "blue"), image_format)
    for orientation in range(9):
        turned[0x0112] = orientation
        files[f"turned-{orientation}.jpg"] = encode(image, "JPEG", exif=turned.tobytes())
    turned[0x0112] = 6
    files["turned.png"] = encode(image, "PNG", exif=turned.tobytes())
    files["turned.webp"] = encode(image, "WEBP", exif=turned.tobytes())
    for name, data in files.items():
        yield HostilePhoto(f"odd-{name}", "odd modes and sizes", "stored", data)
    for name, data in {
        "0x0.png": png(0, 0, zlib.compress(b"")),
        "0x9.png": png(0, 9, zlib.compress(bytes(9))),
        "9x0.png": png(9, 0, zlib.compress(b"")),
        "0x0.gif": b"GIF89a" + bytes(7) + b"\x2c" + bytes(9) + b"\2\1\0\0\x3b",
        "no-frame.gif": b"GIF89a\x09\0\x09\0\0\0\0\x3b",
        "no-data.png": b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 2, 0, 0, 0)),
        "no-scan.jpg": b"\xff\xd8\xff\xd9",
        "depth-3.png": png(8, 8, zlib.compress(bytes(200)), depth=3),
        "colour-5.png": png(8, 8, zlib.compress(bytes(200)), colour=5),
    }.items():
        yield HostilePhoto(f"odd-{name}", "odd modes and sizes", "refused", data)


def _exif(order: str = "<") -> bytes:
    exif = Image.Exif()
    exif.endian = order
    exif[0x010E] = exif[0x013B] = exif[0x8298] = _TEXT
    exif[0x9C9B] = (_TEXT + "\0").encode("utf-16-le")
    place = (IFDRational(5_212_345, 100_003),) * 3
    exif.get_ifd(0x8825).update({1: "N", 2: place, 3: "E", 4: place, 27: b"ASCII\0\0\0" + _MARK})
    exif.get_ifd(0x8769).update({0x9286: b"ASCII\0\0\0" + _MARK, 0x927C: _MARK, 0xA430: _TEXT})
    return exif.tobytes()


def _with_thumbnail(image: Image.Image) -> bytes:
    """EXIF with a second directory: a thumbnail that carries a comment."""
    small = image.resize((80, 60))
    thumbnail = encode(small, "JPEG", comment=_MARK)
    directory = struct.pack("<H", 2)
    directory += struct.pack("<HHII", 0x0201, 4, 1, 8 + 2 + 4 + 2 + 24 + 4)
    directory += struct.pack("<HHII", 0x0202, 4, 1, len(thumbnail)) + struct.pack("<I", 0)
    return b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<HI", 0, 14) + directory + thumbnail


def _planted(rng: random.Random) -> Iterator[HostilePhoto]:
    image = picture(rng)
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF>' + _MARK + b"</rdf:RDF></x:xmpmeta>"
    iptc = b"Photoshop 3.0\x008BIM\x04\x04\0\0" + struct.pack(">I", len(_MARK) + 5)
    iptc += b"\x1c\x02\x78" + struct.pack(">H", len(_MARK)) + _MARK
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    colours = profile.replace(b"sRGB built", b"M2A-MARKER", 1) + _MARK
    colours = struct.pack(">I", len(colours)) + colours[4:24] + bytes(12) + colours[36:]  # without the time of day
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", _TEXT)
    text.add_text("Location", _TEXT, zip=True)
    text.add_itxt("Title", _TEXT, lang="en", tkey=_TEXT)
    text.add_itxt("XML:com.adobe.xmp", xmp.decode(), zip=True)
    text.add(b"prVt", _MARK)
    frames = [picture(rng), picture(rng)]
    jpeg = encode(image, "JPEG")
    second = encode(frames[1], "JPEG", exif=_exif(), comment=_MARK)
    plain_webp = encode(image, "WEBP")[12:]
    everything = {"exif": _exif(), "xmp": xmp, "comment": _MARK, "icc_profile": colours}
    makers: dict[str, Callable[[], bytes]] = {
        "exif.jpg": lambda: encode(image, "JPEG", exif=_exif()),
        "exif-big-endian.jpg": lambda: encode(image, "JPEG", exif=_exif(">")),
        "exif.png": lambda: encode(image, "PNG", exif=_exif()),
        "exif.webp": lambda: encode(image, "WEBP", exif=_exif()),
        "exif-lossless.webp": lambda: encode(image, "WEBP", exif=_exif(), lossless=True),
        "exif-twice.jpg": lambda: after_start(encode(image, "JPEG", exif=_exif()), segment(0xFFE1, _exif(">"))),
        "exif-thumbnail.jpg": lambda: encode(image, "JPEG", exif=_with_thumbnail(image)),
        "exif-broken.jpg": lambda: after_start(jpeg, segment(0xFFE1, _exif()[:80] + _MARK)),
        "exif-loop.jpg": lambda: after_start(
            jpeg, segment(0xFFE1, b"Exif\0\0II*\0\x08\0\0\0\0\0" + struct.pack("<I", 8) + _MARK)
        ),
        "xmp.jpg": lambda: encode(image, "JPEG", xmp=xmp),
        "xmp.png": lambda: encode(image, "PNG", pnginfo=text),
        "xmp.webp": lambda: encode(image, "WEBP", xmp=xmp),
        "xmp-extended.jpg": lambda: after_start(
            jpeg, segment(0xFFE1, b"http://ns.adobe.com/xmp/extension/\0" + bytes(40) + xmp)
        ),
        "iptc.jpg": lambda: after_start(jpeg, segment(0xFFED, iptc)),
        "comment.jpg": lambda: encode(image, "JPEG", comment=_MARK),
        "comments.jpg": lambda: after_start(jpeg, *(segment(0xFFFE, _MARK) for _ in range(50))),
        "comment.gif": lambda: encode(image.quantize(64), "GIF", comment=_MARK),
        "xmp.gif": lambda: _gif_extension(encode(image.quantize(64), "GIF"), b"XMP DataXMP", xmp),
        "application.gif": lambda: _gif_extension(encode(image.quantize(64), "GIF"), b"M2A-MARKER1", _MARK),
        "icc.jpg": lambda: encode(image, "JPEG", icc_profile=colours),
        "icc.png": lambda: encode(image, "PNG", icc_profile=colours),
        "icc.webp": lambda: encode(image, "WEBP", icc_profile=colours),
        "icc-broken.jpg": lambda: encode(image, "JPEG", icc_profile=_MARK * 9),
        "icc-for-grey.jpg": lambda: encode(image.convert("L"), "JPEG", icc_profile=colours),
        "icc-for-cmyk.jpg": lambda: encode(image.convert("CMYK"), "JPEG", icc_profile=colours),
        "icc-alpha.png": lambda: encode(image.convert("RGBA"), "PNG", icc_profile=colours),
        "text-behind-data.png": lambda: encode(image, "PNG")[:-12] + chunk(b"tEXt", b"Comment\0" + _MARK) + _END,
        "unknown-chunk.png": lambda: encode(image, "PNG")[:-12] + chunk(b"aaAa", _MARK) + _END,
        "unknown-chunk.webp": lambda: webp(_webp_canvas(0, *image.size), plain_webp, riff(b"M2AM", _MARK)),
        "unknown-segments.jpg": lambda: after_start(
            jpeg, *(segment(0xFFE0 + n, _MARK) for n in range(2, 16) if n != 14)
        ),
        "jfif-thumbnail.jpg": lambda: (
            jpeg[:2] + segment(0xFFE0, b"JFIF\0\1\1\0\0\1\0\1\4\4" + _MARK[:48].ljust(48, b"M")) + jpeg[20:]
        ),
        "mpo-second.jpg": lambda: encode(frames[0], "MPO", save_all=True, append_images=frames[1:], exif=_exif()),
        "second-behind.jpg": lambda: jpeg + second,
        "motion-photo.jpg": lambda: jpeg + b"\0\0\0\x18ftypmp42" + _MARK * 50,
        "everything.jpg": lambda: encode(image, "JPEG", **everything),
        "everything.png": lambda: encode(image, "PNG", pnginfo=text, exif=_exif(), icc_profile=colours),
        "everything.webp": lambda: encode(image, "WEBP", **everything),
        "everything-progressive.jpg": lambda: encode(image, "JPEG", progressive=True, **everything),
        "everything-animated.webp": lambda: encode(
            frames[0], "WEBP", save_all=True, append_images=frames[1:], **everything
        ),
        "everything-animated.png": lambda: encode(
            frames[0], "PNG", save_all=True, append_images=frames[1:], pnginfo=text, exif=_exif()
        ),
        "everything-grey.png": lambda: encode(image.convert("L"), "PNG", pnginfo=text, exif=_exif()),
        "everything-palette.png": lambda: encode(image.quantize(16), "PNG", pnginfo=text, exif=_exif()),
    }
    for name, make in makers.items():
        yield HostilePhoto(f"planted-{name}", "planted metadata", "stored", make())
    palette_text = image.quantize(64)
    palette_text.putpalette((_MARK * 16)[: 64 * 3])
    yield HostilePhoto("planted-palette.png", "planted metadata", "stored", encode(palette_text, "PNG"))
    yield HostilePhoto("planted-palette.gif", "planted metadata", "stored", encode(palette_text, "GIF"))


_END = chunk(b"IEND", b"")


def _gif_extension(gif: bytes, name: bytes, data: bytes) -> bytes:
    colours = 13 + (3 * 2 ** ((gif[10] & 7) + 1) if gif[10] & 0x80 else 0)
    blocks = b"".join(bytes([len(part)]) + part for part in (data[i : i + 255] for i in range(0, len(data), 255)))
    return gif[:colours] + b"\x21\xff\x0b" + name + blocks + b"\0" + gif[colours:]


def _malformed(rng: random.Random) -> Iterator[HostilePhoto]:
    image = picture(rng)
    jpeg, png_file, gif = encode(image, "JPEG"), encode(image, "PNG"), encode(image.quantize(32), "GIF")
    webp_file = encode(image, "WEBP")
    scan = jpeg.index(b"\xff\xda")
    raw = zlib.compress(bytes(3 * 64 + 1) * 64)
    files = {
        "wrong-crc.png": png_file[:29] + b"\0\0\0\0" + png_file[33:],
        "chunk-4gb.png": png_file[:33] + b"\xff\xff\xff\xffIDAT" + png_file[41:],
        "chunk-negative.png": png_file[:33] + b"\x80\0\0\0tEXt" + png_file[41:],
        "not-zlib.png": png(64, 64, rng.randbytes(4_000)),
        "short-data.png": png(64, 64, raw[: len(raw) // 2]),
        "bad-filter.png": png(64, 64, zlib.compress(b"\x09" * (3 * 64 + 1) * 64)),
        "palette-missing.png": png(64, 64, raw, colour=3),
        "palette-index.png": png(64, 64, zlib.compress(b"\0" + b"\xff" * 64), colour=3, extra=chunk(b"PLTE", bytes(3))),
        "two-headers.png": png_file[:33] + png_file[8:],
        "apng-lies.png": png_file[:33] + chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0)) + png_file[33:],
        "apng-outside.png": png_file[:33]
        + chunk(b"acTL", struct.pack(">II", 1, 0))
        + chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 9_000, 9_000, 500, 500, 1, 1, 0, 0))
        + png_file[33:],
        "no-tables.jpg": jpeg[:2] + jpeg[scan:],
        "no-quantization.jpg": jpeg.replace(b"\xff\xdb", b"\xff\xec"),
        "no-huffman.jpg": jpeg.replace(b"\xff\xc4", b"\xff\xec"),
        "arithmetic.jpg": jpeg.replace(b"\xff\xc0", b"\xff\xc9"),
        "lossless.jpg": jpeg.replace(b"\xff\xc0", b"\xff\xc3"),
        "12-bit.jpg": jpeg.replace(b"\xff\xc0\x00\x11\x08", b"\xff\xc0\x00\x11\x0c"),
        "0-components.jpg": jpeg.replace(b"\xff\xc0\x00\x11", b"\xff\xc0\x00\x08"),
        "segment-length-0.jpg": after_start(jpeg, b"\xff\xe2\0\0"),
        "segment-length-1.jpg": after_start(jpeg, b"\xff\xe1\0\1"),
        "segment-too-long.jpg": after_start(jpeg, b"\xff\xe1\xff\xff"),
        "mpf-lies.jpg": after_start(jpeg, segment(0xFFE2, b"MPF\0" + rng.randbytes(60))),
        "icc-missing-part.jpg": after_start(jpeg, segment(0xFFE2, b"ICC_PROFILE\0\3\7" + rng.randbytes(60))),
        "noise-scan.jpg": jpeg[: scan + 14] + rng.randbytes(2_000) + b"\xff\xd9",
        "lzw-code.gif": gif[:-200] + bytes([12]) + rng.randbytes(199),
        "frame-outside.gif": gif.replace(b"\x2c\0\0\0\0", b"\x2c\xff\x7f\xff\x7f", 1),
        "endless-extension.gif": gif[:13] + b"\x21\xfe" + b"\xff" * 3_000,
        "riff-short.webp": webp_file[:4] + b"\x10\0\0\0" + webp_file[8:],
        "riff-long.webp": webp_file[:4] + b"\xff\xff\xff\x7f" + webp_file[8:],
        "vp8-4gb.webp": webp_file[:16] + b"\xff\xff\xff\xff" + webp_file[20:],
        "vp8l-noise.webp": webp(riff(b"VP8L", b"\x2f" + struct.pack("<I", 99 | 99 << 14) + rng.randbytes(500))),
        "huffman-noise.webp": webp(
            riff(b"VP8L", b"\x2f" + struct.pack("<I", 4_000 | 4_000 << 14) + rng.randbytes(9_000))
        ),
        "canvas-lies.webp": webp(_webp_canvas(0, 50, 50), webp_file[12:]),
        "only-canvas.webp": webp(_webp_canvas(2, 100, 100)),
        "animation-empty.webp": webp(_webp_canvas(2, 100, 100), riff(b"ANIM", bytes(6))),
        "frame-outside.webp": webp(
            _webp_canvas(2, 100, 100), riff(b"ANIM", bytes(6)), riff(b"ANMF", b"\xff" * 16 + webp_file[12:])
        ),
    }
    for name, data in files.items():
        yield HostilePhoto(f"malformed-{name}", "malformed", "either", data)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for photo in corpus():
        (target / photo.name).write_bytes(photo.data)
