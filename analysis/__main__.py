"""``python -m analysis COMMAND``: statistics from files, without a server.

Exit status: 0 success, 1 output that could not be written, 2 unusable input or options.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from analysis.commands import (
    agreement,
    compare,
    detection,
    diversity,
    evaluation,
    preference,
    report,
    variability,
    writing,
)
from analysis.commands.options import Parser
from analysis.tables import InputError

COMMANDS = (agreement, compare, preference, detection, diversity, evaluation, report, writing, variability)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. SystemExit: invalid options."""
    parser = Parser(
        prog="python -m analysis",
        description="The statistics on files, without a server. “python -m analysis COMMAND --help” describes each "
        "command. Exit status: 1 if output cannot be written, 2 if input or options cannot be used.",
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    for module in COMMANDS:
        module.add_parser(subparsers)
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in subparsers.choices:
        subparsers.choices[words[0]].refuse_misspelled(words[1:])
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        subparsers.choices[arguments.command].refuse_unknown(unknown)
    try:
        status = int(arguments.run(arguments))
        sys.stdout.flush()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader, such as `head`, has stopped reading.
        _drop_output()
        return 1
    except OSError as error:
        print(f"error: {error.filename or 'standard output'}: {error.strerror or error}", file=sys.stderr)
        _drop_output()
        return 1
    return status


def _drop_output() -> None:
    """Make sure that Python's last flush of standard output does not fail a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
