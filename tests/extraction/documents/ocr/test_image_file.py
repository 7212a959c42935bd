"""Image files become pages with pictures; hostile ones are refused before they are decoded."""

import base64
import io
import random
import struct
import time
import zlib
from contextlib import suppress
from email.message import EmailMessage
from typing import Any

import pytest
from PIL import Image
from tests.support import parsed_files

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.limits import MAX_DECODED
from cinnabar.extraction.documents.ingest import ParserSettings, parse
from cinnabar.extraction.documents.ocr import pictures
from cinnabar.extraction.documents.ocr.pictures import decode_picture

# 64 x 48 white pixels.
HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAX1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAACJpbG9j"
    "AAAAAERAAAEAAQAAAAABoQABAAAAAAAAABMAAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAAAA5waXRtAAAAAAABAAAA/Wlw"
    "cnAAAADdaXBjbwAAAHZodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AA"
    "AAMAkAAAAwAAAwAeoCCBBZbq5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAA"
    "QAAAAEAAAAAoY2xhcAAAAEAAAAABAAAAMAAAAAEAAAAAAAAAAv////AAAAACAAAAEHBpeGkAAAAAAwgICAAAABhpcG1hAAAAAAAAAAEAAQWB"
    "AgMFhAAAABttZGF0AAAADygBrwQY+AOjnTerSoIXDA=="
)


def encoded(kind: str, size: tuple[int, int] = (620, 877), mode: str = "RGB", **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, "white").save(out, kind, **options)
    return out.getvalue()


def code_of(data: bytes, name: str) -> str:
    return parsed_files.code_of(parse, data, name)


def sizes(document: Document) -> list[tuple[int, int, int]]:
    return [(part.page, round(part.width), round(part.height)) for part in document.parts]


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("GIF", "image/gif"),
        ("BMP", "image/bmp"),
        ("WEBP", "image/webp"),
        ("TIFF", "image/tiff"),
    ],
)
def test_an_image_is_a_page_of_the_size_of_paper_whatever_its_name(kind: str, media_type: str) -> None:
    data = encoded(kind)
    for name in (f"a.{kind.lower()}", "a.dat", "a.txt"):
        found = parse(data, name)
        assert found.media_type == media_type
        # Without a resolution the longer side is that of A4.
        (page, width, height), *more = sizes(found)
        assert not more and page == 1 and (width, height) in ((595, 842), (465, 658))  # BMP says 96
        (picture,) = found.pictures
        assert picture.data == data and picture.part == 0
        assert found.facts["document.pages"].value == 1


def test_the_resolution_of_a_file_counts_if_it_is_likely() -> None:
    assert sizes(parse(encoded("PNG", (600, 300), dpi=(300, 300)), "a.png")) == [(1, 144, 72)]
    assert parse(encoded("PNG", (600, 300), dpi=(300, 300)), "a.png").pictures[0].scale == pytest.approx(300 / 72, 0.01)
    assert sizes(parse(encoded("PNG", (6000, 3000), dpi=(1, 1)), "a.png")) == [(1, 1440, 720)]
    assert sizes(parse(encoded("PNG", (60, 30)), "a.png")) == [(1, 60, 30)]


def test_a_photograph_that_is_stored_on_its_side_has_the_size_that_is_seen() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    for kind in ("JPEG", "PNG", "WEBP", "TIFF"):
        data = encoded(kind, (300, 100), dpi=(72, 72), exif=exif)
        ((_, wide, high),) = sizes(parse(data, "a.jpg"))
        assert high == 3 * wide
        pixels, scale, damaged = decode_picture(data)
        assert pixels.shape == (300, 100, 3) and (scale, damaged) == (1.0, False)


def tiff(frames: list[Image.Image], **options: Any) -> bytes:
    out = io.BytesIO()
    frames[0].save(out, "TIFF", save_all=True, append_images=frames[1:], **options)
    return out.getvalue()


def test_each_page_of_a_tiff_has_its_own_picture() -> None:
    frames = [Image.new(mode, (40 + 10 * n, 30), "white") for n, mode in enumerate(["1", "L", "RGB", "P"])]
    found = parse(tiff(frames, dpi=(72, 72)), "a.tif")
    assert sizes(found) == [(1, 40, 30), (2, 50, 30), (3, 60, 30), (4, 70, 30)]
    shown = [Image.open(io.BytesIO(picture.data)) for picture in found.pictures]
    assert [(one.format, one.size) for one in shown] == [("PNG", (40 + 10 * n, 30)) for n in range(4)]


def test_a_fax_gets_square_pixels() -> None:
    data = tiff([Image.new("1", (1728, 1100), 1)], dpi=(204, 98))
    found = parse(data, "a.tif")
    assert sizes(found) == [(1, 610, 808)]
    assert Image.open(io.BytesIO(found.pictures[0].data)).size == (1728, 2290)


@pytest.mark.slow
def test_a_thousand_frames_take_seconds_and_more_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiff([Image.new("1", (32, 32), n % 2) for n in range(1000)])
    begun = time.process_time()
    found = parse(data, "a.tif")
    assert len(found.parts) == len(found.pictures) == 1000 and found.flags == ()
    assert time.process_time() - begun < 10
    monkeypatch.setattr(pictures, "MAX_FRAMES", 10)
    found = parse(data, "a.tif")
    assert len(found.pictures) == 10 and found.flags == ("truncated",)
    monkeypatch.setattr(pictures, "FRAMES_SECONDS", 0.0)
    assert len(parse(data, "a.tif").pictures) == 1


def bomb(width: int, height: int) -> bytes:
    """A PNG that says that it has so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 1_000_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def test_too_many_pixels_are_refused_before_they_are_decoded() -> None:
    assert code_of(bomb(60_000, 60_000), "a.png") == "unpacked"
    assert code_of(bomb(MAX_DECODED + 1, 1), "a.png") == "unpacked"
    with pytest.raises(ValueError, match="100000000 are decoded"):
        decode_picture(bomb(60_000, 60_000))


def test_a_cut_off_image_is_shown_and_its_rest_is_grey() -> None:
    noise = Image.effect_noise((400, 400), 60).convert("RGB")
    out = io.BytesIO()
    noise.save(out, "JPEG")
    half = out.getvalue()[: len(out.getvalue()) // 2]
    assert len(parse(half, "a.jpg").pictures) == 1
    noise.save(png := io.BytesIO(), "PNG")
    assert len(parse(png.getvalue()[:100_000], "a.png").pictures) == 1
    assert decode_picture(png.getvalue()[:100_000])[2]
    pixels, _, damaged = decode_picture(half)
    assert damaged and pixels.shape == (400, 400, 3)
    assert not decode_picture(out.getvalue())[2]


# A worker ignores Pillow's warnings.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"])
def test_a_header_without_an_image_is_broken(kind: str) -> None:
    data = encoded(kind)
    assert code_of(data[:20] + b"\0" * 40, "a.bin") in ("broken", "unsupported", "unpacked", "image_only")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("data", "name", "advice"),
    [
        (b"<html><p>Not found</p></html>", "a.png", "its content is text"),
        (bytes(range(200)), "liar.png", "its content is of another kind or damaged"),
        (encoded("PNG")[:20] + b"\0" * 40, "a.png", "the PNG image is damaged"),
        (encoded("WEBP")[:40], "a.webp", "the WEBP image is damaged"),
        (encoded("TIFF")[:20], "a.jpg", "the TIFF image is damaged"),
    ],
)
def test_the_error_of_an_image_tells_what_came_and_what_to_do(data: bytes, name: str, advice: str) -> None:
    with pytest.raises(DocumentError) as error:
        parse(data, name)
    assert error.value.code == "broken"
    assert advice in error.value.detail and "get another copy" in error.value.detail


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_images_are_read_or_refused_with_a_code() -> None:
    draw = random.Random(4)
    sound = [encoded(kind, (60, 40)) for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")]
    sound.append(tiff([Image.new("L", (60, 40), n) for n in range(3)], compression="tiff_lzw"))
    codes = set()
    for number in range(210):
        data = bytearray(sound[number % len(sound)])
        for _ in range(draw.randrange(1, 8)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        if number % 3 == 0:
            del data[draw.randrange(len(data)) :]
        try:
            document = parse(bytes(data), "a.png")
        except DocumentError as error:
            codes.add(error.code)
            continue
        for picture in document.pictures:
            with suppress(OSError, ValueError, SyntaxError):
                assert decode_picture(picture.data)[0].shape[2] == 3
    assert "broken" in codes and codes <= {"broken", "unpacked", "empty", "image_only", "unsupported"}


def test_a_damaged_first_page_of_a_tiff_leaves_the_others() -> None:
    data = tiff([Image.effect_noise((60, 40), 60) for _ in range(3)], compression="tiff_deflate")
    first = data.index(b"\x78")
    found = parse(data[:first] + b"\0" * 40 + data[first + 40 :], "a.tif")
    assert [part.page for part in found.parts] == [2, 3] and found.flags == ("broken_pages",)


def test_an_image_without_room_for_a_letter_is_no_document() -> None:
    assert code_of(encoded("PNG", (1, 1)), "a.png") == "image_only"
    assert code_of(encoded("GIF", (3000, 4)), "a.gif") == "image_only"
    mail = EmailMessage()
    mail["From"] = "a@b.example"
    mail.set_content("Hello there")
    mail.add_attachment(encoded("GIF", (1, 1)), "image", "gif", filename="pixel.gif")
    found = parse(mail.as_bytes(), "a.eml")
    assert found.flags == () and not found.pictures


def test_an_image_in_a_mail_is_a_page_of_its_attachment() -> None:
    mail = EmailMessage()
    mail["From"] = "a@b.example"
    mail.set_content("See the receipt")
    mail.add_attachment(encoded("PNG"), "image", "png", filename="receipt.png")
    found = parse(mail.as_bytes(), "a.eml")
    (picture,) = found.pictures
    page = found.parts[picture.part]
    assert page.kind == "page" and found.parts[page.parent].name == "receipt.png"
    assert "document.pages" not in found.facts


def test_without_ocr_an_image_is_still_only_an_image() -> None:
    assert len(parse(encoded("PNG"), "a.png", ParserSettings(ocr="never")).pictures) == 1


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_pixels_of_every_kind_become_colours_on_white(mode: str) -> None:
    kind = "TIFF" if mode in ("CMYK", "I;16", "I", "F") else "PNG"
    out = io.BytesIO()
    image = Image.new(mode, (20, 10), (0, 0, 0, 0) if mode == "RGBA" else 0)
    image.save(out, kind)
    pixels, _, _ = decode_picture(out.getvalue())
    assert pixels.shape == (10, 20, 3)
    assert pixels.max() == (255 if mode in ("RGBA", "LA", "CMYK") else 0)


def test_large_images_are_decoded_smaller() -> None:
    pixels, scale, _ = decode_picture(encoded("JPEG", (9600, 6400)))
    assert pixels.shape == (3200, 4800, 3) and scale == 0.5
    # A strip keeps its width.
    pixels, scale, _ = decode_picture(encoded("PNG", (400, 20_000), "L"))
    assert pixels.shape == (20_000, 400, 3) and scale == 1.0


def test_heic_is_read_where_its_decoder_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "find_spec", lambda _: None)
    with pytest.raises(DocumentError) as error:
        parse(HEIC, "a.heic")
    assert error.value.code == "unsupported" and "cinnabar-extract[heic]" in error.value.detail
    monkeypatch.undo()
    pytest.importorskip("pi_heif")
    found = parse(HEIC, "a.jpg")
    assert found.media_type == "image/heic" and len(found.pictures) == 1
    assert decode_picture(found.pictures[0].data)[0].shape[:2] == (48, 64)
