"""Writes llms.txt and SKILL.md from the documentation, for a release (scripts/release.sh).

llms.txt (llmstxt.org) lists the pages, each with its first sentence. The skill (agentskills.io) has the first commands
of docs/index.md, and a line for each command with its first example.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from cinnabar.apps.cli.lazy_commands import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WHEN = (
    "Turn PDFs, e-mails, office files and scans into records that meet a JSON Schema, with the evidence and confidence "
    "of each value, and query, check and correct the tables. Use it to extract fields or tables from documents."
)
ADVICE = """\
- Write the schema for a reader who has never seen the documents: the model sees names, titles and descriptions.
  `cinnabar schema check FILE` tells where it cannot be enforced.
- A record is valid, but a value may be the wrong one: tell values of a low confidence as doubts, with their evidence.
- What could not be read or lacks a demanded value is in quarantine, with its reason; nothing is lost. Run the same
  command again after a failure.
- Answers for programs: `--json`. Exit status: 0 done, 1 failed, 2 wrong use, 3 too much in quarantine.
- `cinnabar serve FOLDER --mcp stdio --out DIR` gives the same as tools of the Model Context Protocol."""


def first_sentence(text: str) -> str:
    """Returns the first sentence of the first paragraph of prose, without links."""
    parts = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).split("\n\n")
    prose = next(part for part in parts if re.match(r"[A-Z`\[]", part.strip()))
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    return re.split(r"(?<=[.!?])\s(?=[A-Z`\"])", plain)[0]


def pages() -> str:
    """Returns llms.txt."""
    readme = (ROOT / "README.md").read_text("utf-8")
    lines = ["# Cinnabar", "", f"> {first_sentence(readme)}", "", "## Pages", ""]
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text("utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({page.name}): {first_sentence(text)}")
    return "\n".join(lines) + "\n"


def skill() -> str:
    """Returns SKILL.md."""
    started = (DOCS / "index.md").read_text("utf-8")
    first = re.findall(r"^```sh[^\n]*\n(cinnabar extract.*?)^```$", started, re.DOTALL | re.MULTILINE)[0]
    lines = ["---", "name: cinnabar", f"description: {WHEN}", "---", "", "# Cinnabar", ""]
    lines += ["```sh", first.rstrip(), "```", "", ADVICE, "", "| command | what it does | example |", "|---|---|---|"]
    for name, entry in COMMANDS.items():
        written = (ROOT / "apps" / "cli" / f"{entry.place.partition(':')[0]}.py").read_text("utf-8")
        example = re.search(rf"^ +(cinnabar {name}\b.*)$", written, re.MULTILINE)
        lines.append(f"| `{name}` | {entry.help} | `{example[1] if example else f'cinnabar {name} --help'}` |")
    return "\n".join(lines) + "\n"


def main(site: Path, skills: Path) -> None:
    """Writes llms.txt beside the pages of a site, and SKILL.md into the other folder."""
    (site / "llms.txt").write_text(pages(), "utf-8")
    (skills / "SKILL.md").write_text(skill(), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
