"""What the recipes of the reader and of our own model share: the sets that decide between them, and their commands."""

from __future__ import annotations

import argparse
import random
import signal
from collections.abc import Mapping
from pathlib import Path

from training.recipe import load_recipe

#: Sets that train the shipped weights but none of these, drawn once by seed: they decide between recipes.
WITHHELD = tuple(sorted(random.Random(35).sample(sorted(load_recipe().sets), 8)))


def command(description: str | None, settings: Mapping[str, float]) -> argparse.Namespace:
    """Returns the command that was given: `prepare` DATA RUN, `train` RUN with these `settings`, or `export` RUN OUT.

    settings: the defaults of the numbers that `train` takes, by their names. A training that is ended writes its
    checkpoint, in the background too, where a shell has its children ignore the keyboard.
    """
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, places in (("prepare", ("data", "run")), ("train", ("run",)), ("export", ("run", "out"))):
        one = commands.add_parser(name)
        for place in places:
            one.add_argument(place, type=Path)
        if name == "train":
            for setting, usual in settings.items():
                one.add_argument(f"--{setting}", type=type(usual), default=usual)
    return parser.parse_args()
