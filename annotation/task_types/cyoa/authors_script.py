"""The table that the evaluation script of the Choose Your Own Adventure authors reads (Clark 2021, ch. 4).

One story per row, the first column its number from 0. The script compares two models, called *model* and *baseline*,
over five rounds, and expects every cell to have a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from annotation.task_types.extra_exports import ExtraExport, SubmissionRows
from annotation.task_types.items import Json

if TYPE_CHECKING:
    from analysis.writing.story_lines import Line

MODELS, ROUNDS, QUESTIONS = 2, 5, 5
#: Every second turn has suggestions: a line is written alone, then one from suggestions.
EVERY = 2
COLUMNS = (
    *(
        f"{name}{round}"
        for name in ("modelLines", "baselineLines", "userLines", "userEdits", "isModelAccepted")
        for round in range(1, ROUNDS + 1)
    ),
    "isModelAccepted",
    *(f"Q{number}" for number in range(1, QUESTIONS + 1)),
)


def fits(config: Json) -> bool:
    """Whether writers choose five times between two suggesters and rate five statements."""
    sizes = len(set(config["suggesters"])), config["rounds"], len(config["statements"])
    return sizes == (MODELS, ROUNDS, QUESTIONS)


def script_rows(config: Json, submissions: Iterable[SubmissionRows]) -> Iterator[Sequence[str]]:
    """The complete stories: both models suggested a text in every round, and every statement has an answer."""
    from analysis.writing.story_lines import Offered, story_lines  # loads pandas

    number = 0
    for submission in submissions:
        turns: dict[str, dict[int, str]] = {}
        answers: dict[str, dict[str, float]] = {}
        for rating in submission.ratings:
            if rating.question == "turn" and rating.target.isdecimal():
                turns.setdefault(rating.item, {})[int(rating.target)] = rating.text
            elif rating.value is not None:
                answers.setdefault(rating.item, {})[rating.question] = rating.value
        for item, texts in turns.items():
            offers = [
                Offered(offer.round, offer.side, offer.number, offer.suggester, offer.text, offer.chosen)
                for offer in submission.offers
                if offer.item == item
            ]
            row = _row(story_lines(texts, offers, every=EVERY), answers.get(item, {}), config)
            if row is not None:
                yield [str(number), *row]
                number += 1


def _row(lines: Sequence[Line], answers: Mapping[str, float], config: Json) -> list[str] | None:
    """The cells of a story, or None if one of them would be empty. Texts are on one line: the script reads line by
    line."""
    model, baseline = dict.fromkeys(config["suggesters"])
    cells: dict[str, str] = {}
    for line in lines:
        text = " ".join(line.text.split())
        if not line.round:
            cells[f"userLines{(line.turn + 1) // EVERY}"] = text
        elif line.author in (model, baseline):
            name = "modelLines" if line.author == model else "baselineLines"
            cells[f"{name}{line.round}"] = text
            if line.chosen:
                cells[f"userEdits{line.round}"] = " ".join(line.submitted.split())
                cells[f"isModelAccepted{line.round}"] = "true" if line.author == model else "false"
    accepted = [cells.get(f"isModelAccepted{round}", "") for round in range(1, ROUNDS + 1)]
    cells["isModelAccepted"] = "".join(f",{is_model}" for is_model in accepted)
    for number, statement in enumerate(config["statements"], start=1):
        if statement["topic"] in answers:
            cells[f"Q{number}"] = f"{answers[statement['topic']]:g}"
    row = [cells.get(name, "") for name in COLUMNS]
    return row if all(row) else None


AUTHORS_SCRIPT = ExtraExport(
    name="cyoa-script",
    columns=("", *COLUMNS),
    fits=fits,
    refusal="The authors’ script compares two suggesters over five rounds, with five statements at the end. This study "
    "has another design. Export “turns” and use “python -m analysis writing”.",
    rows=script_rows,
)
