"""``python -m analysis COMMAND``: statistics from files, without a server.

Exit status: 0 success, 1 output that could not be written, 2 unusable input or options.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from analysis.commands.options import Parser
from analysis.input_errors import InputError


class Command(NamedTuple):
    """A command, its module in `analysis.commands`, and its line in the list of commands."""

    name: str
    module: str
    line: str


#: Only the module of the command that runs is imported: all of them together take seconds.
COMMANDS = (
    Command("plan", "plan", "Before a study: power, width of intervals, workers, hours and cost of designs."),
    Command("report", "report", "The report of a study, from a bundle."),
    Command("compare", "compare", "Levels of a factor, such as systems: means, differences, effects, ranks."),
    Command("looks", "looks", "Levels compared while ratings still arrive: figures that hold however often you look."),
    Command("plan-looks", "plan_looks", "What a rule for stopping early would save and risk, by simulation."),
    Command("agreement", "agreement", "Agreement between raters, from a file with one rating per row."),
    Command("raters", "raters", "Each rater by models: how often right or guessing, how severe, how consistent."),
    Command("preference", "preference", "Systems compared: scores, strengths and ranks."),
    Command("plan-judges", "plan_judges", "How many ratings by people a judge saves for the same certainty."),
    Command("judges", "judges", "A judge, such as a language model, beside people; estimates that use both."),
    Command("spans", "spans", "Marks in texts: agreement (F1, α, γ), and scores by system, worker and text."),
    Command("detection", "detection", "Human or machine: accuracy, precision, recall, d′, comparison with chance."),
    Command("diversity", "diversity", "Diversity of every set of a file, as new columns metric_NAME."),
    Command(
        "nuggets",
        "diversity",
        "Sets on which a metric cannot tell two classes apart: as many of both from each group of similar scores.",
    ),
    Command("contest", "evaluation", "A score against two classes: ρ and best-threshold accuracy (OCA)."),
    Command("dectest", "evaluation", "A score against a diversity parameter: ρ and r."),
    Command("ranking", "evaluation", "Which of two sets is more diverse: ρ and sign accuracy."),
    Command(
        "references",
        "references",
        "Texts compared with references: mover’s similarities, ROUGE-L, BLEU, and how they follow people’s scores.",
    ),
    Command("writing", "writing", "Choices of suggestions, edits, and texts of a writing study."),
    Command(
        "variability",
        "variability",
        "How far texts for the same context differ, and how well models’ texts fit people’s.",
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. SystemExit: invalid options."""
    parser = Parser(
        prog="python -m analysis",
        description="The statistics on files, without a server. “python -m analysis COMMAND --help” describes each "
        "command. Exit status: 1 if output cannot be written, 2 if input or options cannot be used.",
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    words = list(sys.argv[1:] if argv is None else argv)
    first_word = next((word for word in words if not word.startswith("-")), "")
    for used in COMMANDS:
        if used.name == first_word:
            import_module(f"analysis.commands.{used.module}").add_parser(subparsers)
    for command in COMMANDS:
        if command.name not in subparsers.choices:
            subparsers.add_parser(command.name, help=command.line)
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
