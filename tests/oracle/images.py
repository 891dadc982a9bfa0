"""Writes transforms.txt, images.txt and the small files in images/: what torchvision and PIL make
of images.

    /usr/bin/python3 tests/oracle/images.py        # Debian 12: python3-torchvision

The byte of channel c at (y, x) of an H x W image is (7x + 13y + 31c + 5 (xy mod 17) +
9 ((xx + 3y) mod 11)) mod 256. Bytes are summed up by their FNV-1a hash of 64 bits, in the order
(H,W,C), or (C,H,W) where they are floats.
"""

import io
import os
import struct
import zlib

import numpy
import PIL
from PIL import Image, ImageOps
import torchvision
from torchvision.transforms import functional as F
from torchvision.transforms import InterpolationMode, RandomResizedCrop

FOLDER = os.path.dirname(os.path.abspath(__file__))
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

RESIZES = [(12, 16, 6, 8), (12, 16, 7, 5), (37, 23, 16, 16), (16, 16, 37, 23), (9, 40, 9, 13),
           (40, 9, 13, 9), (5, 5, 5, 5), (100, 3, 2, 2), (1, 1, 4, 4), (2, 300, 3, 3),
           (375, 500, 256, 341), (499, 320, 64, 41)]
CROPS = [(30, 40, 3, 5, 20, 30, 16), (30, 40, 0, 0, 30, 40, 24), (50, 20, 49, 19, 1, 1, 4)]
ROTATIONS = [(8, 8, 13.7), (9, 12, -30), (12, 9, 30), (7, 7, 90), (8, 8, 180), (8, 6, 90),
             (31, 45, 45.5), (32, 32, 359.99), (20, 30, 0), (33, 50, -77.125)]
PADDED = [(8, 8, 2, 0, 0), (8, 8, 2, 4, 3), (10, 12, 3, 6, 7)]
EVALUATED = [(30, 40, 21), (41, 30, 24), (64, 64, 28), (20, 21, 32), (375, 500, 56)]
FALLBACKS = [(10, 1000), (1000, 10), (21, 20)]


def formula(height, width, channels=3):
    y, x, c = numpy.ogrid[:height, :width, :channels]
    values = 7 * x + 13 * y + 31 * c + 5 * (x * y % 17) + 9 * ((x * x + 3 * y) % 11)
    bytes_ = (values % 256).astype(numpy.uint8)
    return Image.fromarray(bytes_[:, :, 0] if channels == 1 else bytes_)


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def of_image(image):
    first = " ".join(str(b) for b in image.tobytes()[:6])
    return f"{image.height} {image.width} | {fnv(image.tobytes())} | {first}"


def of_tensor(tensor):
    data = tensor.contiguous().numpy().tobytes()
    first = " ".join(f"{v:.9g}" for v in tensor.flatten()[:3].tolist())
    return f"{tensor.shape[1]} {tensor.shape[2]} | {fnv(data)} | {first}"


def transforms():
    bilinear = InterpolationMode.BILINEAR
    for h, w, to_h, to_w in RESIZES:
        yield f"resize {h} {w} {to_h} {to_w}", of_image(F.resize(formula(h, w), [to_h, to_w]))
    for h, w, top, left, box_h, box_w, size in CROPS:
        image = F.resized_crop(formula(h, w), top, left, box_h, box_w, [size, size], bilinear)
        yield f"resized_crop {h} {w} {top} {left} {box_h} {box_w} {size}", of_image(image)
    for h, w, angle in ROTATIONS:
        yield f"rotate {h} {w} {angle:g}", of_image(F.rotate(formula(h, w), angle))
    for h, w, padding, top, left in PADDED:
        image = F.crop(F.pad(formula(h, w), padding), top, left, h, w)
        yield f"padded_crop {h} {w} {padding} {top} {left}", of_image(image)
    yield "hflip 6 7", of_image(F.hflip(formula(6, 7)))
    for h, w, size in EVALUATED:
        image = F.center_crop(F.resize(formula(h, w), size * 256 // 224), size)
        tensor = F.normalize(F.to_tensor(image), *IMAGENET)
        yield f"evaluated {h} {w} {size}", of_tensor(tensor)
    for h, w in FALLBACKS:
        box = RandomResizedCrop.get_params(formula(h, w), [5.0, 5.0], [0.75, 4 / 3])
        yield f"fallback {h} {w}", " ".join(str(n) for n in box)


def with_orientation(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def jpegs():
    colour = formula(13, 19)
    yield "colour.jpg", colour, {"quality": 80}
    yield "full.jpg", colour, {"quality": 90, "subsampling": 0}
    yield "halved.jpg", colour, {"quality": 70, "subsampling": 1}
    yield "progressive.jpg", colour, {"quality": 60, "progressive": True}
    yield "grey.jpg", formula(9, 10, 1), {"quality": 75}
    yield "cmyk.jpg", colour.convert("CMYK"), {"quality": 85}
    for orientation in range(1, 9):
        yield f"turned{orientation}.jpg", formula(9, 14), {"exif": with_orientation(orientation)}


def pngs():
    colour = formula(11, 9)
    alpha = colour.copy()
    alpha.putalpha(formula(11, 9, 1))
    grey_alpha = formula(11, 9, 1)
    grey_alpha.putalpha(formula(11, 9, 1).rotate(180))
    palette = colour.quantize(13)
    yield "colour.png", colour, {}
    yield "alpha.png", alpha, {}
    yield "grey.png", formula(11, 9, 1), {}
    yield "grey_alpha.png", grey_alpha, {}
    yield "bits.png", formula(11, 9, 1).convert("1"), {}
    yield "palette.png", palette, {}
    yield "clear_palette.png", palette, {"transparency": 3}
    yield "turned.png", colour, {"exif": with_orientation(6)}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(
        ">I", zlib.crc32(kind + data))


def raw_png(width, height, depth, colour_type, interlaced, rows):
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) +
            chunk(b"IEND", b""))


def deep_png():
    """16 bits a channel: of each value the upper byte is the formula's."""
    rows = b""
    for row in numpy.asarray(formula(6, 5)):
        rows += b"\0" + b"".join(bytes([byte, 255 - byte]) for byte in row.flatten())
    return raw_png(5, 6, 16, 2, 0, rows)


def interlaced_png():
    """Adam7."""
    pixels, rows = numpy.asarray(formula(11, 9)), b""
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
              (1, 0, 2, 1)]
    for y, x, down, right in passes:
        for row in pixels[y::down, x::right]:
            rows += b"\0" + row.tobytes() if row.size else b""
    return raw_png(9, 11, 8, 2, 1, rows)


def write_images():
    os.makedirs(os.path.join(FOLDER, "images"), exist_ok=True)
    files = {"deep.png": deep_png(), "interlaced.png": interlaced_png()}
    for kind, images in (("JPEG", jpegs()), ("PNG", pngs())):
        for name, image, options in images:
            buffer = io.BytesIO()
            image.save(buffer, kind, **options)
            files[name] = buffer.getvalue()
    for name, data in sorted(files.items()):
        with open(os.path.join(FOLDER, "images", name), "wb") as file:
            file.write(data)
        image = Image.open(io.BytesIO(data))
        yield name, of_image(ImageOps.exif_transpose(image).convert("RGB"))


def main():
    versions = f"torchvision {torchvision.__version__}, PIL {PIL.__version__}"
    with open(os.path.join(FOLDER, "transforms.txt"), "w") as file:
        print(f"# made by tests/oracle/images.py with {versions}", file=file)
        print("# transform: height width, and its own | height width | hash | first values",
              file=file)
        for words, result in transforms():
            print(f"{words} | {result}", file=file)
    with open(os.path.join(FOLDER, "images.txt"), "w") as file:
        print(f"# made by tests/oracle/images.py with {versions}", file=file)
        print("# file | height width | hash | first values", file=file)
        for name, result in write_images():
            print(f"{name} | {result}", file=file)


main()
