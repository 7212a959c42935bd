"""Writes a run's report as one HTML page with inline drawings and no script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from cinnabar.extraction.ingest.codes import ADVICE, CODES
from cinnabar.extraction.storage.records import EMPTY
from cinnabar.extraction.watching.drift import LEVEL
from cinnabar.extraction.watching.pages import page, shown
from cinnabar.extraction.watching.run_data import BINS, MOST_FIELDS, Example, RunData
from cinnabar.schemas.wording import counted

#: Turns a path into HTML, with a link if its file is there.
Link = Callable[[str], str]
_STAGES = {
    "parse": "parse the files",
    "fill": "fill the forms (the model)",
    "judge": "cut, merge, find evidence, judge",
    "store": "store",
}
_WIDTH, _LABELS, _ROW = 720, 250, 24
# The most differences from earlier runs that are told.
_MOST_DRIFT = 40


def report_page(data: RunData, link: Link) -> str:
    """Returns the report of a run."""
    title = f"{data.schema_name}: {counted(data.read, 'document')} read"
    parts = [
        "<main>",
        f"<h1>{shown(title)}</h1>",
        f'<p class="soft">Run <code>{shown(data.run_id)}</code>, started {data.started:%Y-%m-%d %H:%M:%S} UTC,'
        f" model <code>{shown(data.model)}</code>{_options(data.options)}</p>",
        _tiles(data),
        _findings(data),
        _stages(data),
        _confidence(data),
        _quarantine(data, link),
        _unsure(data, link),
        _kinds(data),
        _fields(data),
        "</main>",
    ]
    return page(f"{title} · Cinnabar", "\n".join(filter(None, parts)))


def _options(options: Mapping[str, object]) -> str:
    return "".join(f", {shown(name)} {shown(value)}" for name, value in options.items())


def _tiles(data: RunData) -> str:
    seconds = data.seconds
    told = [
        ("written", f"{data.outcomes.get('written', 0):,}"),
        ("in quarantine", f"{data.outcomes.get('quarantined', 0):,}"),
        ("skipped", f"{data.outcomes.get('skipped', 0):,}"),
        ("seconds", "did not end" if seconds is None else f"{seconds:,.1f}"),
        ("documents/s", f"{data.read / seconds:,.1f}" if seconds and data.read else "–"),
    ]
    tiles = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in told)
    skips = ", ".join(f"{shown(code)} {count:,}" for code, count in data.skips.items())
    empty = f"<p>{counted(data.empty, 'written record')} without any value (flag <code>{EMPTY}</code>).</p>"
    said = (f'<p class="soft">Skipped: {skips}</p>' if skips else "") + (empty if data.empty else "")
    return f'<dl class="tiles">{tiles}</dl>{said}'


def _findings(data: RunData) -> str:
    runs, documents = data.before
    if not runs:
        said = '<p class="finding calm">There is no earlier run of this schema to compare with.</p>'
    elif not data.comparisons:
        said = '<p class="finding calm">No document was read, so there is nothing to compare with earlier runs.</p>'
    else:
        moved = data.drift
        against = f"{counted(runs, 'earlier run')} with {counted(documents, 'document')}"
        said = "".join(f'<p class="finding">{shown(sentences)}</p>' for sentences in moved[:_MOST_DRIFT])
        if len(moved) > _MOST_DRIFT:
            said += f"<p>… and {len(moved) - _MOST_DRIFT} more.</p>"
        if not moved:
            said = f'<p class="finding calm">Nothing moved beyond chance against {against}.</p>'
        small = len(data.shifts) - len(moved)
        said += (
            f'<p class="soft">{counted(data.comparisons, "comparison")} with {against}, by documents: exact and'
            f" chi-squared tests, corrected for their number (Holm), told below p&nbsp;=&nbsp;{LEVEL:g}"
            f"{f'; {small} more are certain but small' if small else ''}.</p>"
        )
    return f"<h2>Compared with earlier runs</h2>{said}"


def _stages(data: RunData) -> str:
    stages = {name: data.stages[name] for name in _STAGES if name in data.stages}
    if not stages:
        return "<h2>Seconds by stage</h2><p>They were not measured, or the run did not end.</p>"
    bars = [(_STAGES[name], seconds, f"{seconds:,.2f} s") for name, seconds in stages.items()]
    inner = [
        (name.partition("/")[2], seconds, f"{seconds:,.2f} s")
        for name, seconds in data.stages.items()
        if "/" in name and seconds > 0
    ]
    more = ""
    if inner:
        drawn = _bars("Seconds of the model's own steps", inner)
        more = f"<details><summary>Within the model</summary><figure>{drawn}</figure></details>"
    return (
        f"<h2>Seconds by stage</h2><figure>{_bars('Seconds by stage', bars)}<figcaption>Files are parsed, and batches"
        " stored, while the model works, so the stages overlap. The seconds of several engines add up; those of"
        " parsers on other machines are not measured.</figcaption></figure>" + more
    )


def _bars(label: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """Returns horizontal bars, each with its name and its value in words."""
    most = max((value for _, value, _ in rows), default=0.0) or 1.0
    room = _WIDTH - _LABELS - 90
    drawn = []
    for at, (name, value, told) in enumerate(rows):
        top, width = at * _ROW, max(1.0, room * value / most)
        drawn.append(
            f'<text x="{_LABELS - 10}" y="{top + 16}" text-anchor="end">{shown(name)}</text>'
            f'<rect class="b" x="{_LABELS}" y="{top + 4}" width="{width:.1f}" height="16" rx="2"/>'
            f'<text class="faint" x="{_LABELS + width + 6:.1f}" y="{top + 16}">{shown(told)}</text>'
        )
    words = "; ".join(f"{name}: {told}" for name, _, told in rows)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {len(rows) * _ROW}" width="{_WIDTH}" role="img"'
        f' aria-label="{shown(f"{label}. {words}")}">{"".join(drawn)}</svg>'
    )


def _confidence(data: RunData) -> str:
    if not sum(data.bins):
        return ""
    high, step = 150, (_WIDTH - 20) / BINS
    most = max(data.bins)
    drawn = []
    for at, count in enumerate(data.bins):
        left, tall = 10 + at * step, high * count / most
        drawn.append(
            f'<rect class="b" x="{left + 3:.1f}" y="{20 + high - tall:.1f}" width="{step - 6:.1f}"'
            f' height="{tall:.1f}" rx="2"/>'
            f'<text class="faint" x="{left + step / 2:.1f}" y="{15 + high - tall:.1f}" text-anchor="middle">'
            f"{count:,}</text>"
            f'<text class="faint" x="{left + step / 2:.1f}" y="{high + 38}" text-anchor="middle">'
            f"{at / BINS:.1f}–{(at + 1) / BINS:.1f}</text>"
        )
    words = "; ".join(f"{at / BINS:.1f} to {(at + 1) / BINS:.1f}: {count:,}" for at, count in enumerate(data.bins))
    svg = (
        f'<svg viewBox="0 0 {_WIDTH} {high + 46}" width="{_WIDTH}" role="img" aria-label="'
        f'{shown(f"Values by confidence. {words}")}"><line class="axis" x1="10" x2="{_WIDTH - 10}" y1="{20 + high}"'
        f' y2="{20 + high}"/>{"".join(drawn)}</svg>'
    )
    return (
        f"<h2>Confidence</h2><figure>{svg}<figcaption>The {counted(sum(data.bins), 'value')} of this run by"
        f" confidence.</figcaption></figure>{_corrections(data)}"
    )


def _corrections(data: RunData) -> str:
    """Returns the table of confidence against what people changed."""
    if not sum(data.reviewed):
        return '<p class="soft">No person has reviewed values of this run, so its confidence is not checked yet.</p>'
    rows = [
        (
            f"{at / BINS:.1f}–{(at + 1) / BINS:.1f}",
            _n(data.bins[at]),
            _n(data.reviewed[at]),
            _n(data.corrected[at]),
            _n(f"{100 * data.corrected[at] / data.reviewed[at]:.0f}%") if data.reviewed[at] else _n("–"),
            _n(f"{100 * (1 - (at + 0.5) / BINS):.0f}%"),
        )
        for at in range(BINS)
    ]
    heads = ("confidence", "values", "reviewed", "corrected", "share corrected", "share expected")
    return _table(
        "What people changed, by confidence. An honest confidence of .8 means that a fifth is wrong; values that were"
        " chosen for review because they look doubtful may be worse.",
        heads,
        rows,
        numbers=range(1, 6),
    )


def _quarantine(data: RunData, link: Link) -> str:
    if not data.reasons:
        return ""
    rows = []
    for reason in data.reasons:
        meaning = _REASONS.get(reason.code) or CODES.get(reason.code, "")
        advice = ADVICE.get(reason.code, "")
        examples = "<br>".join(_example(one, link) for one in reason.examples)
        what = f"<code>{shown(reason.code)}</code><br><span class='soft'>{shown(meaning)} {shown(advice)}</span>"
        rows.append((what, _n(reason.documents), examples))
    about = "Documents in quarantine by reason, with some of them"
    table = _table(about, ("reason", "documents", "examples"), rows, (1,))
    return (
        f"<h2>Quarantine</h2>{table}<p class='soft'>All of them: <code>cinnabar quarantine list --out DIR</code></p>"
    )


_REASONS = {
    "missing": "The document lacks a value that the schema demands.",
    "invalid": "The record breaks a rule of the schema.",
    "low_confidence": "A value is less sure than --min-confidence.",
    "check": "The record fails a check of its schema.",
    "unavailable": "A server did not answer.",
    "too_slow": "The model worked on it for longer than --max-seconds.",
    "internal_error": "The program failed on this document; that is a defect of the program.",
}


def _example(one: Example, link: Link) -> str:
    detail = f": {shown(one.detail)}" if one.detail else ""
    digest = f" <code>{shown(one.document[:12])}</code>" if one.document else ""
    return f"{link(one.path)}{digest}{detail}"


def _unsure(data: RunData, link: Link) -> str:
    if not data.unsure:
        return ""
    rows = [
        (link(one.path), f"<code>{shown(one.document[:12])}</code>", _n(f"{one.confidence:.2f}")) for one in data.unsure
    ]
    table = _table("Written records with the least confidence", ("document", "digest", "confidence"), rows, (2,))
    return (
        f"<h2>Look at these first</h2>{table}<p class='soft'>Values and evidence: <code>cinnabar show DIGEST --out DIR"
        "</code></p>"
    )


def _kinds(data: RunData) -> str:
    if not data.kinds:
        return ""
    now, before = (sum(pair[at] for pair in data.kinds.values()) for at in (0, 1))
    rows = [
        (shown(kind), _n(pair[0]), _n(_percent(pair[0], now)), _n(_percent(pair[1], before)))
        for kind, pair in [*data.kinds.items()][:20]
    ]
    heads = ("type", "documents", "share", "share in earlier runs")
    return f"<h2>Types of documents</h2>{_table('Documents read, by media type', heads, rows, (1, 2, 3))}"


def _fields(data: RunData) -> str:
    if not data.fields:
        return ""
    rows = []
    for one in data.fields:
        now, before = one.confidence
        rows.append(
            (
                f"<code>{shown(one.field or '/')}</code>",
                _n(_percent(one.now[1] - one.now[0], one.now[1])),
                _n(_percent(one.before[1] - one.before[0], one.before[1])),
                _n("–" if now is None else f"{now:.2f}"),
                _n("–" if before is None else f"{before:.2f}"),
            )
        )
    heads = ("field", "empty", "empty in earlier runs", "confidence", "confidence in earlier runs")
    about = "Share of documents without a value, and the mean confidence of values"
    table = _table(about, heads, rows, range(1, 5))
    more = f"<p class='soft'>The first {MOST_FIELDS} fields.</p>" if len(data.fields) == MOST_FIELDS else ""
    return f"<h2>Fields</h2>{table}{more}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "–"


def _n(value: int | str) -> str:
    return f"{value:,}" if isinstance(value, int) else shown(value)


def _table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()
) -> str:
    """Returns a table of cells that are HTML already; those of the columns `numbers` stand on the right."""
    right = {*numbers}

    def cells(tag: str, row: Sequence[str], scope: str = "") -> str:
        marks = (' class="n"' if at in right else "" for at in range(len(row)))
        return "".join(f"<{tag}{mark}{scope}>{cell}</{tag}>" for mark, cell in zip(marks, row, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = cells("th", [shown(one) for one in heads], ' scope="col"')
    return (
        f'<div class="wide" tabindex="0" role="group" aria-label="{shown(caption)}"><table>'
        f"<caption>{shown(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
