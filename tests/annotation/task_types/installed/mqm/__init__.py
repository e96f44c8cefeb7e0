"""Errors with category and severity, as docs/adding-a-task-type.md declares them; a text without errors has 0.

Source of the weights: Freitag et al. 2021, §3.2 (MQM): a major error counts 5, a minor one 1.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from analysis.description import Factor, Point, ReportSection, Scale, Score, Term
from annotation.task_types.base import Answers, FixedPages, Page, RatingData, Shown, Text
from annotation.task_types.items import Column, ItemData, ItemFacts, Json
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.questions import Question, ShownIf

MOST_ERRORS = 3
FOUND = Scale("found", "interval", tuple(Point(float(n)) for n in range(MOST_ERRORS + 1)))
SEVERITY = Scale("severity", "ordinal", (Point(5.0, "Major"), Point(1.0, "Minor")))
CATEGORY = Scale("category", "nominal", (Point(1.0, "accuracy"), Point(2.0, "fluency")))


class Mqm(FixedPages):
    name = "mqm"
    title = "Errors in translations"
    summary = "Which errors does a translation have, and how bad are they?"
    group = "Judging texts"

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("id", "the translation's id", example="t1"),
            Column("text", "the translation", example="A short text."),
            Column("system", "what wrote it", False, example="human"),
        )

    def texts(self, config: Json) -> Sequence[Text]:
        return (
            Text("instructions", "Instructions", "Count the errors. Then describe each of them.", lines=3),
            Text("title", "Title of the page", "Find the errors"),
            Text("found", "Number of errors", "How many errors are there?"),
            Text("category", "Category of an error", "What kind of error is it?"),
            Text("severity", "Severity of an error", "How bad is it?"),
        )

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        return [ScaleQuestion("found", texts["found"], "found", FOUND), *self.about_error(1, texts)]

    def about_error(self, number: int, texts: Mapping[str, str]) -> Sequence[Question]:
        needed_if = ShownIf("found", tuple(float(n) for n in range(number, MOST_ERRORS + 1)))
        return [
            ChoiceQuestion(
                f"category-{number}", texts["category"], "category", CATEGORY, target=f"{number}", shown_if=needed_if
            ),
            ScaleQuestion(
                f"severity-{number}", texts["severity"], "severity", SEVERITY, target=f"{number}", shown_if=needed_if
            ),
        ]

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """The target of a severity is the error's number and its category, such as ``1/accuracy``."""
        rows = super().ratings(shown, pages, answers)
        label = {
            (row.step, row.target): next(point.label for point in CATEGORY.points if point.value == row.value)
            for row in rows
            if row.question == "category"
        }
        return [
            replace(row, target=f"{row.target}/{label[row.step, row.target]}") if row.question == "severity" else row
            for row in rows
        ]

    def scores(self, config: Json) -> Sequence[Score]:
        terms, most = (Term("severity"),), MOST_ERRORS * SEVERITY.high
        return (Score("errors", "Weighted errors", -1, low=0, high=most, over="sum", absent=True, terms=terms),)

    def factors(self, config: Json) -> Sequence[Factor]:
        return (Factor("system"), Factor("category", "part"))

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (ReportSection("item_scores"),)

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        return {"items": rng.sample(range(len(items)), len(items))}

    def pages(self, shown: Shown) -> Sequence[Page]:
        first = ScaleQuestion("found", shown.texts["found"], "found", FOUND)
        errors = [question for n in range(MOST_ERRORS) for question in self.about_error(n + 1, shown.texts)]
        pages = []
        for number, index in enumerate(shown.order["items"], start=1):
            context = {"text": shown.items[index].payload["text"]}
            name = f"text-{number}"
            pages.append(Page(name, shown.texts["title"], "mqm/text.html", [first, *errors], context, index))
        return pages

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(texts=[[payload["text"]]])


TYPES = (Mqm,)
