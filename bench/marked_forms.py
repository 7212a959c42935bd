"""Forms with boxes and lines to sign, drawn by seed with several tools, and what their fields are."""

from __future__ import annotations

import io
import random
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
from PIL import Image, ImageDraw, ImageFilter, ImageFont

STYLES = ("square", "round", "brackets", "underscores", "wingdings")
TICKS = ("x", "tick", "filled", "hand", "faint")
LAYOUTS = ("row", "row_left", "below", "columns", "list", "list_left", "stacked")
PAGE = (595.0, 842.0)

#: Name, description and the question or statement that the form prints, in four languages.
QUESTIONS: dict[str, list[tuple[str, str, str]]] = {
    "en": [
        ("smoker", "Whether the applicant smokes.", "Do you smoke?"),
        ("us_citizen", "Whether the applicant is a citizen of the United States.", "Are you a US citizen?"),
        ("diabetes", "Whether the patient has diabetes.", "Diabetes"),
        ("has_driving_licence", "Whether the person has a driving licence.", "Do you hold a valid driving licence?"),
        ("previously_employed", "Previously employed by this company.", "Have you been employed here before?"),
        ("criminal_record", "Whether there is a criminal record.", "Criminal record"),
        ("newsletter", "Whether the person wants the newsletter.", "Please send me the monthly newsletter"),
        ("terms_accepted", "Whether the terms and conditions are accepted.", "I accept the terms and conditions"),
        ("allergies", "Whether the patient has any allergies.", "Do you have any known allergies?"),
        ("pets", "Whether pets live in the household.", "Are there pets in the household?"),
        ("pregnant", "Whether the patient is pregnant.", "Are you pregnant?"),
        ("insured", "Whether the vehicle is insured.", "Is the vehicle insured?"),
        ("overtime", "Whether overtime was worked.", "Overtime worked this week"),
        ("deposit_paid", "Whether the deposit has been paid.", "Deposit paid"),
        ("keys_returned", "Whether all keys were returned.", "All keys returned"),
        ("witness_present", "Whether a witness was present.", "Was a witness present?"),
    ],
    "de": [
        ("raucher", "Ob die Person raucht.", "Rauchen Sie?"),
        ("schwerbehindert", "Ob eine Schwerbehinderung vorliegt.", "Liegt eine Schwerbehinderung vor?"),
        ("kirchensteuer", "Ob Kirchensteuer gezahlt wird.", "Kirchensteuerpflichtig"),
        ("haustiere", "Ob Haustiere gehalten werden.", "Halten Sie Haustiere?"),
        ("datenschutz", "Ob der Datenschutzerklärung zugestimmt wurde.", "Ich stimme der Datenschutzerklärung zu"),
        ("vorversicherung", "Ob eine Vorversicherung bestand.", "Bestand eine Vorversicherung?"),
        ("probezeit", "Ob eine Probezeit vereinbart ist.", "Probezeit vereinbart"),
        ("nebenjob", "Ob ein Nebenjob ausgeübt wird.", "Üben Sie einen Nebenjob aus?"),
    ],
    "fr": [
        ("fumeur", "Si la personne est fumeur.", "Êtes-vous fumeur ?"),
        ("marie", "Si la personne est mariée.", "Êtes-vous marié(e) ?"),
        ("permis_conduire", "Si la personne a un permis de conduire.", "Avez-vous un permis de conduire ?"),
        ("allocations", "Si la personne perçoit des allocations.", "Percevez-vous des allocations familiales ?"),
        ("proprietaire", "Si la personne est propriétaire.", "Propriétaire de son logement"),
        ("etudiant", "Si la personne est étudiante.", "Étudiant"),
    ],
    "es": [
        ("fumador", "Si la persona fuma.", "¿Es usted fumador?"),
        ("vehiculo_propio", "Si tiene vehículo propio.", "¿Dispone de vehículo propio?"),
        ("alergias", "Si tiene alergias.", "¿Tiene alergias conocidas?"),
        ("jubilado", "Si la persona está jubilada.", "Jubilado"),
        ("antecedentes", "Si tiene antecedentes penales.", "¿Tiene antecedentes penales?"),
    ],
}
_ANSWERS = {"en": ("Yes", "No"), "de": ("Ja", "Nein"), "fr": ("Oui", "Non"), "es": ("Sí", "No")}
_CHOICES: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
    "en": [
        ("marital_status", "Marital status", ("single", "married", "divorced", "widowed")),
        ("payment", "Method of payment", ("cash", "cheque", "bank transfer", "credit card")),
        ("contract", "Type of contract", ("permanent", "temporary", "internship")),
        ("delivery", "Delivery", ("standard", "express", "collection")),
    ],
    "de": [
        ("familienstand", "Familienstand", ("ledig", "verheiratet", "geschieden", "verwitwet")),
        ("zahlweise", "Zahlweise", ("monatlich", "vierteljährlich", "jährlich")),
    ],
    "fr": [("civilite", "Situation familiale", ("célibataire", "marié", "divorcé", "veuf"))],
    "es": [("estado_civil", "Estado civil", ("soltero", "casado", "divorciado", "viudo"))],
}
#: Name, printed question and options of a list of which several may be ticked.
_LISTS: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
    "en": [
        ("symptoms", "Symptoms", ("fever", "cough", "headache", "nausea", "fatigue")),
        ("services", "Services wanted", ("cleaning", "catering", "transport", "security")),
    ],
    "de": [("sprachen", "Sprachkenntnisse", ("Deutsch", "Englisch", "Spanisch", "Türkisch"))],
    "fr": [("loisirs", "Loisirs", ("lecture", "musique", "natation", "randonnée"))],
    "es": [("servicios", "Servicios", ("limpieza", "jardinería", "vigilancia", "transporte"))],
}
_SIGNED = {
    "en": ("Signature", "Date"), "de": ("Unterschrift", "Datum"), "fr": ("Signature", "Date"), "es": ("Firma", "Fecha"),
}  # fmt: skip
_SIGNED_FIELD = {
    "en": ("signed", "Whether the form is signed (signature)."),
    "de": ("unterschrieben", "Ob die Unterschrift vorhanden ist."),
    "fr": ("signe", "Si la signature est présente."),
    "es": ("firmado", "Si tiene firma."),
}
_TITLES = {"en": "Application form", "de": "Antrag", "fr": "Formulaire de demande", "es": "Formulario de solicitud"}


@dataclass(slots=True)
class Form:
    """A drawn form: the file's name and bytes, its schema, and the value of each field."""

    name: str
    data: bytes
    schema: dict[str, Any]
    truth: dict[str, Any]
    scanned: bool
    layouts: dict[str, str]


@dataclass(slots=True)
class _Drawing:
    """What a page shows: texts (x, y of the baseline, size, text), boxes (x, y of the middle, ticked), lines, ink."""

    texts: list[tuple[float, float, float, str]] = field(default_factory=list)
    boxes: list[tuple[float, float, bool]] = field(default_factory=list)
    lines: list[tuple[float, float, float]] = field(default_factory=list)
    ink: list[list[tuple[float, float]]] = field(default_factory=list)
    side: float = 10.0
    gap: float = 4.0


@cache
def _font(size: float, name: str = "DejaVuSans") -> ImageFont.FreeTypeFont:
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(folder / f"{name}.ttf"), size)


def _width(text: str, size: float) -> float:
    return float(_font(100.0).getlength(text)) * size / 100.0


def form(seed: int, several: bool = False, tool: str = "") -> Form:
    """The form of this seed: everything about it is drawn by chance, but for a tool that is given.

    With `several` it has a list of options, any number of them ticked; all else stays as it is without.
    """
    chance = random.Random(seed)
    language = chance.choice(("en", "en", "en", "de", "fr", "es"))
    drawn = chance.choice(("reportlab", "acroform", "reportlab", "scan", "scan", "scan_pil", "scan_pil"))
    tool = tool or drawn
    style = chance.choice(STYLES)
    if tool == "acroform":
        style = "square"
    if tool.startswith("scan") and style == "wingdings":
        style = "square"
    tick = chance.choice(TICKS)
    if style in ("brackets", "underscores") or tool == "acroform":
        tick = "x"
    elif tool == "reportlab" and tick in ("hand", "faint"):
        tick = "tick"
    drawing = _Drawing(side=chance.uniform(8.0, 14.0), gap=chance.uniform(3.5, 8.0))
    size = chance.uniform(8.5, 11.5)
    schema: dict[str, Any] = {"title": "form", "type": "object", "properties": {}, "required": []}
    truth: dict[str, Any] = {}
    layouts: dict[str, str] = {}
    drawing.texts.append((60, 60, 16, _TITLES[language]))
    number, day = chance.randrange(10_000, 99_999), chance.randrange(1, 28)
    drawing.texts.append((60, 85, size, f"No. {number}    Date: {day}.03.2025"))
    y = 120.0
    layout = chance.choice(LAYOUTS)
    questions = chance.sample(QUESTIONS[language], min(len(QUESTIONS[language]), chance.randrange(4, 8)))
    yes_x = chance.uniform(300, 380)
    if layout == "columns":
        for number, word in enumerate(_ANSWERS[language]):
            drawing.texts.append((yes_x + 60 * number - _width(word, size) / 2, y, size, word))
        y += 22
    for name, description, printed in questions:
        state = chance.choices((True, False, None), (0.45, 0.45, 0.1))[0]
        y = _question(drawing, chance, printed, _ANSWERS[language], state, layout, y, size, yes_x)
        if layout.startswith("list") and state is None:
            state = False
        schema["properties"][name] = {"type": ["boolean", "null"], "description": description}
        truth[name], layouts[name] = state, layout
        y += chance.uniform(4, 14)
    if chance.random() < 0.6:
        name, printed, options = chance.choice(_CHOICES[language])
        chosen = chance.choice((*options, None)) if chance.random() < 0.9 else None
        y = _choice(drawing, chance, printed, options, [chosen], y + 10, size)
        schema["properties"][name] = {"enum": [*options, None], "description": printed}
        truth[name], layouts[name] = chosen, "choice"
    if several:
        own = random.Random(-1 - seed)
        name, printed, options = own.choice(_LISTS[language])
        ticked = [option for option in options if own.random() < 0.4]
        y = _choice(drawing, own, printed, options, ticked, y + 10, size)
        schema["properties"][name] = {"type": "array", "items": {"enum": [*options]}, "description": printed}
        truth[name], layouts[name] = ticked, "several"
    signature = chance.choice(("ink", "empty", "typed", "none", "ink", "empty"))
    if signature != "none":
        _sign(drawing, chance, _SIGNED[language], signature, min(y + 70, 790), size)
        name, description = _SIGNED_FIELD[language]
        schema["properties"][name] = {"type": ["boolean", "null"], "description": description}
        truth[name], layouts[name] = signature != "empty", "signature"
    schema["required"] = list(schema["properties"])
    data, suffix = _DRAWN[tool](drawing, style, tick, chance)
    return Form(f"form_{seed}.{suffix}", data, schema, truth, tool.startswith("scan"), layouts)


def _question(
    drawing: _Drawing, chance: random.Random, printed: str, answers: tuple[str, str], state: bool | None, layout: str,
    y: float, size: float, yes_x: float,
) -> float:  # fmt: skip
    """Draws a question with its boxes, and returns the height below it."""
    side, gap = drawing.side, drawing.gap
    both = chance.random() < 0.5
    ticked = (state is True or (state is None and both), state is False or (state is None and both))
    middle = y - 0.35 * size
    if layout in ("list", "list_left"):
        if layout == "list":
            drawing.boxes.append((60 + side / 2, middle, ticked[0] and state is True))
            drawing.texts.append((60 + side + gap, y, size, printed))
        else:
            drawing.texts.append((60, y, size, printed))
            drawing.boxes.append((60 + _width(printed, size) + gap + side / 2, middle, ticked[0] and state is True))
        return y + 1.9 * size
    if layout == "columns":
        drawing.texts.append((60, y, size, printed))
        for number in range(2):
            drawing.boxes.append((yes_x + 60 * number, middle, ticked[number]))
        return y + 1.9 * size
    drawing.texts.append((60, y, size, printed))
    x = yes_x
    if layout in ("below", "stacked"):
        x, y = 80.0, y + 1.7 * size
    for number, word in enumerate(answers):
        middle = y - 0.35 * size
        if layout == "row_left":
            drawing.texts.append((x, y, size, word))
            x += _width(word, size) + gap
            drawing.boxes.append((x + side / 2, middle, ticked[number]))
            x += side + 24
        else:
            drawing.boxes.append((x + side / 2, middle, ticked[number]))
            drawing.texts.append((x + side + gap, y, size, word))
            x += side + gap + _width(word, size) + 24
        if layout == "stacked":
            x, y = 80.0, y + (1.7 * size if number == 0 else 0)
    return y + 1.9 * size


def _choice(
    drawing: _Drawing, chance: random.Random, printed: str, options: tuple[str, ...], chosen: Collection[str | None],
    y: float, size: float,
) -> float:  # fmt: skip
    side, gap, x = drawing.side, drawing.gap, 60.0
    drawing.texts.append((60, y, size, f"{printed}:"))
    row = chance.random() < 0.5
    if row:
        x += _width(f"{printed}:", size) + 20
    else:
        y += 1.8 * size
    for option in options:
        drawing.boxes.append((x + side / 2, y - 0.35 * size, option in chosen))
        drawing.texts.append((x + side + gap, y, size, option))
        if row:
            x += side + gap + _width(option, size) + 18
        else:
            y += 1.8 * size
    return y + 1.8 * size


def _sign(drawing: _Drawing, chance: random.Random, words: tuple[str, str], kind: str, y: float, size: float) -> None:
    signature, date = words
    x = chance.choice((60.0, 320.0))
    long = chance.uniform(130, 220)
    other = 320.0 if x == 60.0 else 60.0
    if chance.random() < 0.6:
        drawing.texts.append((x + 4, y + 1.3 * size, size * 0.85, signature))
        start = x
        if chance.random() < 0.6:
            drawing.lines.append((other, other + 120, y))
            drawing.texts.append((other + 4, y + 1.3 * size, size * 0.85, date))
    else:
        drawing.texts.append((x, y, size, f"{signature}:"))
        start = x + _width(f"{signature}:", size) + 5
        long = min(long, 585 - start - 15)
    drawing.lines.append((start, start + long, y))
    if kind == "typed":
        drawing.texts.append((start + 10, y - 3, size, "/s/ Maria Keller"))
    elif kind == "ink":
        drawing.ink += _scribble(chance, start + 12, y - 6, chance.uniform(0.5, 0.9) * (long - 20))


def _scribble(chance: random.Random, x: float, y: float, long: float) -> list[list[tuple[float, float]]]:
    """The strokes of a signature."""
    points, at, phase = [], 0.0, chance.uniform(0, 6)
    while at < long:
        high = chance.uniform(3, 11)
        points.append((x + at, y - high * (0.5 + 0.5 * np.sin(phase))))
        at += chance.uniform(1.5, 5)
        phase += chance.uniform(1.5, 3.2)
    return [points, [(x - 4, y + 3), (x + long, y - 1 - chance.uniform(0, 4))]]


def _strokes(x: float, y: float, side: float, tick: str, chance: random.Random) -> list[list[tuple[float, float]]]:
    """The strokes of a tick around the middle of a box."""
    half = side / 2
    if tick == "x":
        in_ = 0.72 * half
        return [[(x - in_, y - in_), (x + in_, y + in_)], [(x - in_, y + in_), (x + in_, y - in_)]]
    if tick in ("tick", "faint"):
        return [[(x - 0.6 * half, y), (x - 0.1 * half, y + 0.6 * half), (x + 0.7 * half, y - 0.7 * half)]]
    # A hand goes beyond the box.
    def off() -> float:
        return chance.uniform(-0.25, 0.25) * side

    if chance.random() < 0.5:
        low, high = (x + off() / 2, y + half + off()), (x + 1.4 * half + off(), y - 1.5 * half + off())
        return [[(x - half + off(), y + off()), low, high]]
    return [
        [(x - 1.2 * half + off(), y - 1.2 * half + off()), (x + 1.2 * half + off(), y + 1.2 * half + off())],
        [(x - 1.2 * half + off(), y + 1.2 * half + off()), (x + 1.2 * half + off(), y - 1.2 * half + off())],
    ]


def _typed(style: str, ticked: bool) -> str:
    if style == "brackets":
        return "[x]" if ticked else "[ ]"
    return "_X_" if ticked else "___"


def _reportlab(drawing: _Drawing, style: str, tick: str, chance: random.Random) -> tuple[bytes, str]:
    from reportlab.pdfgen import canvas

    out = io.BytesIO()
    sheet = canvas.Canvas(out, pagesize=PAGE)
    _draw(sheet, drawing, style, tick, chance)
    sheet.save()
    return out.getvalue(), "pdf"


def _draw(sheet: Any, drawing: _Drawing, style: str, tick: str, chance: random.Random) -> None:
    _register()
    width = chance.uniform(0.5, 1.2)
    for x, y, size, text in drawing.texts:
        sheet.setFont("Sans", size)
        sheet.drawString(x, PAGE[1] - y, text)
    for x, y, ticked in drawing.boxes:
        up, side = PAGE[1] - y, drawing.side
        sheet.setLineWidth(width)
        if style in ("brackets", "underscores"):
            sheet.setFont("Sans", 9)
            sheet.drawCentredString(x - 1, up - 3, _typed(style, ticked))
            continue
        if style == "wingdings":
            sheet.setFont("Wingdings", 1.25 * side)
            sheet.drawCentredString(x, up - 0.45 * side, "\uf0fe" if ticked else "\uf0a8")
            continue
        if style == "round":
            sheet.circle(x, up, side / 2)
        else:
            sheet.rect(x - side / 2, up - side / 2, side, side)
        if ticked and tick == "filled":
            if style == "round":
                sheet.circle(x, up, side / 4, fill=1)
            else:
                sheet.rect(x - side / 2, up - side / 2, side, side, fill=1)
        elif ticked and tick == "x" and chance.random() < 0.3:
            sheet.setFont("Sans", side)
            sheet.drawCentredString(x, up - 0.36 * side, "X")
        elif ticked:
            _lines(sheet, _strokes(x, y, side, tick, chance))
    sheet.setLineWidth(0.6)
    for x0, x1, y in drawing.lines:
        sheet.line(x0, PAGE[1] - y, x1, PAGE[1] - y)
    sheet.setLineWidth(1.1)
    _lines(sheet, drawing.ink)


def _lines(sheet: Any, strokes: list[list[tuple[float, float]]]) -> None:
    for points in strokes:
        path = sheet.beginPath()
        path.moveTo(points[0][0], PAGE[1] - points[0][1])
        for x, y in points[1:]:
            path.lineTo(x, PAGE[1] - y)
        sheet.drawPath(path)


@cache
def _register() -> None:
    """Registers a font with letters, and one with boxes at the places that Wingdings has them at, in its name."""
    import matplotlib
    from fontTools.ttLib import TTFont as Font
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    pdfmetrics.registerFont(TTFont("Sans", str(path)))
    font = Font(str(path))
    glyphs = font.getBestCmap()
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap = {0xF0A8: glyphs[0x2610], 0xF0FE: glyphs[0x2612], 0x20: glyphs[0x20]}
    for record in font["name"].names:
        if record.nameID in (1, 4, 6):
            record.string = "Wingdings-Regular" if record.nameID == 6 else "Wingdings"
    changed = io.BytesIO()
    font.save(changed)
    changed.seek(0)
    pdfmetrics.registerFont(TTFont("Wingdings", changed))


def _acroform(drawing: _Drawing, style: str, tick: str, chance: random.Random) -> tuple[bytes, str]:
    """A form of buttons that was flattened: their pictures are part of the page, and no field is left."""
    import pypdf
    from reportlab.pdfgen import canvas

    boxes, drawing.boxes = drawing.boxes, []
    out = io.BytesIO()
    sheet = canvas.Canvas(out, pagesize=PAGE)
    kind, side = chance.choice(("check", "cross", "circle", "star", "diamond")), drawing.side
    for number, (x, y, ticked) in enumerate(boxes):
        sheet.acroForm.checkbox(
            name=f"b{number}", x=x - side / 2, y=PAGE[1] - y - side / 2, size=side, checked=ticked, buttonStyle=kind,
            borderWidth=1, fillColor=None,
        )  # fmt: skip
    _draw(sheet, drawing, style, tick, chance)
    sheet.save()
    writer = pypdf.PdfWriter(io.BytesIO(out.getvalue()))
    values = {f"b{number}": "/Yes" if ticked else "/Off" for number, (_, _, ticked) in enumerate(boxes)}
    writer.update_page_form_field_values(writer.pages[0], values, auto_regenerate=False, flatten=True)
    writer.remove_annotations("/Widget")
    merged = io.BytesIO()
    writer.write(merged)
    return merged.getvalue(), "pdf"


def _scan(drawing: _Drawing, style: str, tick: str, chance: random.Random) -> tuple[bytes, str]:
    """A form that was printed, filled in by hand and scanned."""
    boxes, ink = drawing.boxes, drawing.ink
    typed = style in ("brackets", "underscores")
    drawing.boxes = boxes if typed else [(x, y, False) for x, y, _ in boxes]
    drawing.ink = []
    printed, _ = _reportlab(drawing, style, tick, chance)
    dpi = chance.choice((150, 200, 240, 300))
    with pypdfium2.PdfDocument(printed) as document:
        page = document[0].render(scale=dpi / 72).to_pil().convert("L")
    return _worn(page, [] if typed else boxes, ink, drawing.side, style, tick, dpi, chance)


def _scan_pil(drawing: _Drawing, style: str, tick: str, chance: random.Random) -> tuple[bytes, str]:
    """A form drawn as pixels."""
    dpi = chance.choice((150, 200, 240, 300))
    scale = dpi / 72
    page = Image.new("L", (round(PAGE[0] * scale), round(PAGE[1] * scale)), 255)
    pen = ImageDraw.Draw(page)
    name = chance.choice(("DejaVuSans", "DejaVuSerif"))
    for x, y, size, text in drawing.texts:
        pen.text((x * scale, y * scale), text, 0, _font(round(size * scale), name), anchor="ls")
    width = max(1, round(chance.uniform(0.5, 1.3) * scale))
    for x, y, ticked in drawing.boxes:
        half = drawing.side / 2
        frame = [(x - half) * scale, (y - half) * scale, (x + half) * scale, (y + half) * scale]
        if style in ("brackets", "underscores"):
            pen.text((x * scale, y * scale), _typed(style, ticked), 0, _font(round(9 * scale), name), anchor="mm")
        elif style == "round":
            pen.ellipse(frame, outline=0, width=width)
        elif chance.random() < 0.5:
            pen.rectangle(frame, outline=0, width=width)
        else:
            pen.rounded_rectangle(frame, 0.15 * drawing.side * scale, outline=0, width=width)
    for x0, x1, y in drawing.lines:
        pen.line([x0 * scale, y * scale, x1 * scale, y * scale], 0, max(1, round(0.6 * scale)))
    boxes = [] if style in ("brackets", "underscores") else drawing.boxes
    return _worn(page, boxes, drawing.ink, drawing.side, style, tick, dpi, chance)


def _worn(
    page: Image.Image, boxes: list[tuple[float, float, bool]], ink: list[list[tuple[float, float]]], side: float,
    style: str, tick: str, dpi: int, chance: random.Random,
) -> tuple[bytes, str]:  # fmt: skip
    """Ticks the boxes with a pen, and wears the page: askew, soft, with grain and specks."""
    scale = dpi / 72
    pen = ImageDraw.Draw(page)
    grey = chance.randrange(120, 165) if tick == "faint" else chance.randrange(0, 90)
    width = max(1, round(chance.uniform(0.8, 1.8) * scale))
    for x, y, ticked in boxes:
        if ticked and tick == "filled":
            half = (0.25 if style == "round" else 0.45) * side * scale
            shape = pen.ellipse if style == "round" else pen.rectangle
            shape([x * scale - half, y * scale - half, x * scale + half, y * scale + half], fill=grey)
        elif ticked:
            for points in _strokes(x, y, side, tick, chance):
                pen.line([(a * scale, b * scale) for a, b in points], grey, width, joint="curve")
    for points in ink:
        pen.line([(a * scale, b * scale) for a, b in points], chance.randrange(0, 80), width, joint="curve")
    for _ in range(chance.randrange(0, 60)):
        x, y, size = chance.random() * page.width, chance.random() * page.height, chance.uniform(0.2, 0.6) * scale
        pen.ellipse([x, y, x + size, y + size], fill=60)
    page = page.rotate(chance.uniform(-3, 3), Image.Resampling.BICUBIC, fillcolor=255)
    page = page.filter(ImageFilter.GaussianBlur(chance.uniform(0, 0.35) * scale / 2))
    grain = np.random.default_rng(chance.randrange(1 << 30)).normal(0, chance.uniform(0, 10), (page.height, page.width))
    worn = np.clip(np.asarray(page, np.float32) * chance.uniform(0.8, 1.0) + chance.uniform(0, 40) + grain, 0, 255)
    out = io.BytesIO()
    image = Image.fromarray(worn.astype(np.uint8))
    if chance.random() < 0.5:
        image.save(out, "JPEG", quality=chance.randrange(50, 90), dpi=(dpi, dpi))
        return out.getvalue(), "jpg"
    image.save(out, "PDF", resolution=dpi, quality=75)
    return out.getvalue(), "pdf"


_DRAWN = {
    "reportlab": _reportlab, "acroform": _acroform, "scan": _scan, "scan_pil": _scan_pil,
}  # fmt: skip
