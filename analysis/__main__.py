"""``python -m analysis COMMAND``: statistics from files, without a server.

Exit status: 0 success, 1 output that could not be written, 2 unusable input or options.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from analysis.commands.options import Parser
from analysis.input_errors import InputError

#: By name of the command, its module in `analysis.commands` and its line in the list of commands. Only the module of
#: the command that runs is imported: all of them together take seconds.
COMMANDS: dict[str, tuple[str, str]] = {
    "agreement": ("agreement", "Agreement between raters, from a file with one rating per row."),
    "compare": ("compare", "Levels of a factor, such as systems: means, differences, effects, ranks."),
    "preference": ("preference", "Systems compared: scores, strengths and ranks."),
    "detection": ("detection", "Human or machine: accuracy, precision, recall, d′, comparison with chance."),
    "diversity": ("diversity", "Diversity of every set of a file, as new columns metric_NAME."),
    "nuggets": (
        "diversity",
        "Sets on which a metric cannot tell two classes apart: as many of both from each group of similar scores.",
    ),
    "contest": ("evaluation", "A score against two classes: ρ and best-threshold accuracy (OCA)."),
    "dectest": ("evaluation", "A score against a diversity parameter: ρ and r."),
    "ranking": ("evaluation", "Which of two sets is more diverse: ρ and sign accuracy."),
    "report": ("report", "The report of a study, from a bundle."),
    "writing": ("writing", "Choices of suggestions, edits, and texts of a writing study."),
    "variability": (
        "variability",
        "How far texts for the same context differ, and how well models’ texts fit people’s.",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. SystemExit: invalid options."""
    parser = Parser(
        prog="python -m analysis",
        description="The statistics on files, without a server. “python -m analysis COMMAND --help” describes each "
        "command. Exit status: 1 if output cannot be written, 2 if input or options cannot be used.",
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    words = list(sys.argv[1:] if argv is None else argv)
    used_module, _ = COMMANDS.get(next((word for word in words if not word.startswith("-")), ""), ("", ""))
    if used_module:
        import_module(f"analysis.commands.{used_module}").add_parser(subparsers)
    for name, (_, line) in COMMANDS.items():
        if name not in subparsers.choices:
            subparsers.add_parser(name, help=line)
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
