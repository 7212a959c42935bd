"""Names that are made of a file's name and a fragment (`m.mbox#1`, `p.pdf#pages=1-2`), apart from those of files."""

from __future__ import annotations

import re

#: What follows the `#` of a made name: the number of a mail, the pages of a packet, or the number of a second input.
FRAGMENT = r"(?:[1-9]\d*|pages=[1-9]\d{0,4}-[1-9]\d{0,4}(?:&[^#/]*)?|same=[1-9]\d*)"
_ALIKE, _ESCAPED = re.compile(rf"(?:#|%(?:25)*23){FRAGMENT}\Z"), re.compile(r"%((?:25)*)23")
_SECOND = re.compile(r"#same=[1-9]\d*\Z")


def own_path(path: str) -> str:
    """Returns the path of a file, or of a file in an archive, in a form that no made name has.

    A last part that ends like a made name is written with `%23` for `#`; no other path changes, nor do two become one.
    """
    above, slash, name = path.rpartition("/")
    if not _ALIKE.search(name):
        return path
    return above + slash + _ESCAPED.sub(r"%25\g<1>23", name).replace("#", "%23")


def file_path(path: str) -> str:
    """Returns the path of the file that `own_path` wrote so."""
    above, slash, name = path.rpartition("/")
    if "#" in name or not _ALIKE.search(name):
        return path
    return above + slash + _ESCAPED.sub(lambda found: f"%{found[1][2:]}23" if found[1] else "#", name)


def file_of(path: str) -> str:
    """Returns the path of the file that a document of this path is in, or is a part of."""
    return file_path(re.sub(rf"#{FRAGMENT}\Z", "", path))


def without_number(name: str) -> str:
    """Returns a name without the number of a second input."""
    return _SECOND.sub("", name)
