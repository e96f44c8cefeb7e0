"""``python -m analysis COMMAND``: the statistics on files, without a server. Exit status 2 means unusable input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from analysis.commands import agreement, diversity
from analysis.commands.reading import InputError

COMMANDS = (agreement, diversity)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m analysis",
        description="The statistics on files, without a server. “python -m analysis COMMAND --help” says more about "
        "each. Exit status 2 means that the input cannot be used.",
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_parser(subparsers)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
