"""The frame of a self-contained HTML page: nothing in it is fetched, and only its own script and style count."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

# Characters that are not shown, or that turn the text around them.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")

STYLE = """
:root{color-scheme:light dark;--page:#fbfbfa;--card:#fff;--ink:#1b1b1f;--soft:#5b5d66;--line:#d9dae0;--bar:#2f6fb3;
--other:#a9b4c4;--good:#1f7a46;--mid:#8a5a00;--bad:#b3261e;--mark:#ffe58a;--focus:#2f6fb3}
@media (prefers-color-scheme:dark){:root{--page:#15161a;--card:#1d1f25;--ink:#ececf1;--soft:#a6a9b5;--line:#363944;
--bar:#6ea8e6;--other:#566072;--good:#6fcf97;--mid:#e2b04a;--bad:#ff8a80;--mark:#6a5510;--focus:#8ab8ef}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:68rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}h2{font-size:1.1rem;margin:2.25rem 0 .6rem}
p{margin:.4rem 0;max-width:60rem}.soft,caption,figcaption{color:var(--soft)}
code,.mono{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere}
a{color:var(--bar)}:focus-visible{outline:2px solid var(--focus);outline-offset:2px}
table{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--line)}
caption{text-align:left;padding:.2rem 0 .4rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-top:1px solid var(--line);overflow-wrap:anywhere}
thead th{border-top:0;font-weight:600;color:var(--soft);font-size:.85rem}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.75rem;margin:1.25rem 0 0;padding:0}
.tiles div{background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.6rem .8rem}
.tiles dt{color:var(--soft);font-size:.85rem}.tiles dd{margin:0;font-size:1.35rem;font-variant-numeric:tabular-nums}
.finding{border-left:.3rem solid var(--bad);background:var(--card);padding:.5rem .8rem;margin:.5rem 0}
.calm{border-left-color:var(--good)}
figure{margin:0}.wide{overflow-x:auto}svg{max-width:100%;height:auto;display:block}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .faint{fill:var(--soft)}
.b{fill:var(--bar)}.o{fill:var(--other)}.r{fill:var(--bad)}.axis{stroke:var(--line)}
details{margin:.5rem 0}summary{cursor:pointer;color:var(--soft)}
@media print{body{background:#fff}main{max-width:none}}
"""


def shown(text: object) -> str:
    """Returns a text for HTML: escaped, with control and direction characters as visible escapes."""
    plain = _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))
    # A lone surrogate has no bytes in UTF-8.
    plain = "".join(c if unicodedata.category(c) != "Cs" else c.encode("unicode_escape").decode() for c in plain)
    return html.escape(plain, quote=True)


def page(title: str, body: str) -> str:
    """Returns a whole page without a script."""
    return page_start(title, STYLE) + body + page_end()


def page_start(title: str, style: str, script: str = "", images: bool = False) -> str:
    """Returns the beginning of a page, whose policy allows its own style and script by their hashes.

    With `images` it allows pictures within the page; nothing else is ever loaded.
    """
    policy = ["default-src 'none'", f"style-src '{_hash(style)}'", "base-uri 'none'", "form-action 'none'"]
    if script:
        policy.append(f"script-src '{_hash(script)}'")
    if images:
        policy.append("img-src data:")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n<title>{shown(title)}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
    )


def page_end(script: str = "") -> str:
    """Returns the end of a page."""
    return f"{f'<script>{script}</script>' if script else ''}\n</body>\n</html>\n"


def link(path: str, folders: Sequence[Path]) -> str:
    """Returns a path, as a link if its file is there now; a relative path is looked for in these folders."""
    for folder in folders:
        try:
            file = (folder / path).absolute()
            if file.is_file():
                return f'<a href="{html.escape(file.as_uri(), quote=True)}"><bdi>{shown(path)}</bdi></a>'
        except (OSError, ValueError):  # too long a name, or one with a NUL
            continue
    return f"<bdi>{shown(path)}</bdi>"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
