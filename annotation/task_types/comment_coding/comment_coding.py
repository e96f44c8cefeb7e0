"""A page per comment: which labels apply? Members of the study answer separately, then settle their differences."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from analysis.description import ReportSection
from annotation.task_types.base import Answers, FixedPages, Page, Shown, Text
from annotation.task_types.comment_coding.comment_draw import draw_comments
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, SourceOutput, SourceRow
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.questions import Option, Question
from annotation.task_types.settings import Cell, ConfigForm, Sizes, TableField
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.sources import output_name

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
NULL = "Null"
#: The labels of Clark 2021, app. C.3: name in the data, category, wording, description.
PUBLISHED = (
    ("grammar", "Form", "Grammar", "Spelling, punctuation or sentence structure."),
    ("detail", "Form", "Level of detail", "How specific or general the text is."),
    ("genre", "Form", "Genre", "Whether the text reads like its genre, such as a story or a recipe."),
    ("repetition", "Content", "Repetition", "Whether words or ideas are repeated."),
    ("factuality", "Content", "Factuality", "Whether what the text claims is true."),
    ("consistency", "Content", "Consistency", "Whether the text contradicts itself or its beginning."),
    ("common_sense", "Content", "Common sense", "Whether what happens is possible in the real world."),
    ("coherence", "Content", "Coherence", "Whether the parts fit together and have a point."),
    (
        "intent",
        "Machine capabilities",
        "Writer’s intent",
        "What the writer meant or felt, and whether a machine could.",
    ),
    ("miscellaneous", NULL, "Miscellaneous", "A reason that no other label covers."),
    ("vague", NULL, "Vague or no reason", "The comment gives no reason or is unclear."),
)


class LabelsField(TableField):
    """Records of ``label``, its name in the data; ``category``; ``name``, what coders read; and ``description``."""

    def __init__(self, **kwargs: Any) -> None:
        cells = [
            Cell("label", "Name in the data", max_length=40),
            Cell("category", "Category", max_length=60),
            Cell("name", "Label", max_length=100),
            Cell("description", "Description", required=False, max_length=300),
        ]
        super().__init__(cells=cells, least=1, most=40, **kwargs)

    def clean(self, value: Any) -> list[Any]:
        rows = super().clean(value)
        names = [row["label"] for row in rows]
        for number, name in enumerate(names, start=1):
            if not _NAME.fullmatch(name):
                what = f"Entry {number}, label: “{name}” must begin with a letter and hold only a–z, 0–9 and _."
                raise ValidationError(what, code="name")
            if name in names[: number - 1]:
                raise ValidationError(f"Entry {number}, label: “{name}” is in the list twice.", code="twice")
        return rows


class CodingConfig(ConfigForm):
    """What coders choose from, what they see, and which comments they get."""

    labels = LabelsField(
        label="Labels",
        initial=[dict(zip(("label", "category", "name", "description"), label, strict=True)) for label in PUBLISHED],
        help_text="Coders choose one or more for each comment. Labels of a category appear together.",
    )
    null_category = forms.CharField(
        label="Category of comments that say nothing",
        initial=NULL,
        max_length=60,
        required=False,
        help_text="Comments whose labels are all of this category are left out of the shares. Empty: none is left out.",
    )
    show_text = forms.BooleanField(
        label="Show the text that a comment is about",
        initial=True,
        required=False,
        help_text="With the answer that its author gave there, if the item has them.",
    )
    authors_per_domain = forms.IntegerField(
        label="Authors per domain",
        min_value=1,
        max_value=10_000,
        initial=50,
        help_text="For items from another study: so many authors are drawn from each domain, with one comment each.",
    )
    draw_seed = forms.IntegerField(
        label="Seed of the draw",
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        help_text="The same seed draws the same comments from the same study.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        null_category, labels = cleaned.get("null_category"), cleaned.get("labels")
        if null_category and labels and null_category not in categories({"labels": labels}):
            known_categories = ", ".join(categories({"labels": labels}))
            what = f"No label has the category “{null_category}”. Write one of {known_categories}, or leave this empty."
            self.add_error("null_category", ValidationError(what, code="category"))
        return cleaned


def categories(config: Json) -> dict[str, list[str]]:
    """The names of the labels by category, both in the order of their first entry."""
    names_by_category: dict[str, list[str]] = {}
    for row in config["labels"]:
        names_by_category.setdefault(row["category"], []).append(row["label"])
    return names_by_category


LABELS = "labels"
#: For simulated coders, a comment has at most this many right labels.
MOST_TRUE = 2

INSTRUCTIONS = """You read comments in which people explain an answer, and say what each comment is about.

- Choose every label that applies. A comment can have several.
- A label applies if the comment mentions that aspect, whether it praises or criticises it.
- Judge what the comment says, not whether it is right.
- If a comment gives no reason, or one that no label covers, choose a label of the last group.

Work alone: do not discuss comments with the other coder before both of you have finished. You settle differences \
together afterwards."""


class CommentCoding(FixedPages):
    """Members of the study label comments, and settle their differences in the console."""

    name = "comment_coding"
    title = "Coding of comments"
    summary = "What do people’s explanations mention? Members of the study give labels and settle differences."
    source = "Clark 2021, app. C.3"
    balance = "The order of the comments was random for every coder."
    group = "Coding"
    config_form = CodingConfig
    item_settings = ("authors_per_domain", "draw_seed")
    takes_outputs = ("comment",)
    draws_outputs = True
    for_members = True
    adjudicates = LABELS
    # Two coders, who code everything; the size of a hit is not published.
    suggested = Sizes(items_per_hit=10, ratings_per_item=2, hits_per_worker=None)

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("comment_id", "the comment’s id", example="c1"),
            Column("comment", "the comment to code", example="It says the same thing three times."),
            Column("domain", "what kind of text the comment is about, such as story", False, example="story"),
            Column("answer", "what the comment explains", False, example="Definitely machine-generated"),
            Column("text", "the text that the comment is about", False, example="The hat was a hat and a hat."),
        )

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(texts=[[payload["comment"]]])

    def texts(self, config: Json) -> Sequence[Text]:
        texts = [
            Text("instructions", "Instructions", INSTRUCTIONS, lines=12),
            Text("title", "Title of the page", "What is this comment about?"),
            Text("question", "Question", "Which labels apply?"),
        ]
        if config["show_text"]:
            texts += [
                Text("answer", "Heading of the answer that the comment explains", "The comment explains this answer"),
                Text("about", "Heading of the text that the comment is about", "The text that it is about"),
            ]
        return texts

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        order = list(categories(config))
        rows = sorted(config["labels"], key=lambda row: order.index(row["category"]))
        options = tuple(Option(row["label"], row["name"], row["description"], row["category"]) for row in rows)
        return [ChoicesQuestion(LABELS, texts["question"], LABELS, options=options, least=1)]

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the comments, different for each coder."""
        return {"items": rng.sample(range(len(items)), len(items))}

    def pages(self, shown: Shown) -> Sequence[Page]:
        questions = self.questions(shown.config, shown.texts)
        pages = []
        for number, index in enumerate(shown.order["items"], start=1):
            payload = shown.items[index].payload
            context: Json = {"comment": payload["comment"], "place": number, "places": len(shown.items)}
            if shown.config["show_text"]:
                headings = {"answer_heading": shown.texts["answer"], "about_heading": shown.texts["about"]}
                context |= headings | {"answer": payload["answer"], "text": payload["text"]}
            title = shown.texts["title"]
            pages.append(Page(f"comment-{number}", title, "comment_coding/comment.html", questions, context, index))
        return pages

    # --- the report and the sources ---

    def sections(self, config: Json) -> Sequence[ReportSection]:
        names_by_category = categories(config)
        null_labels = names_by_category.pop(config["null_category"], [])
        return (
            ReportSection("coding", {"topic": LABELS, "null_labels": null_labels, "categories": names_by_category}),
        )

    def choose_outputs(self, outputs: Sequence[SourceOutput], config: Json) -> Sequence[SourceOutput]:
        return draw_comments(outputs, authors=config["authors_per_domain"], seed=config["draw_seed"])

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        """One item per comment, with the text that it is about: the source's columns prompt and text."""
        return [
            SourceRow(
                {
                    "comment_id": output_name(output),
                    "comment": output.texts[0],
                    "domain": output.cells.get("domain", ""),
                    "answer": output.context,
                    "text": " ".join(filter(None, (output.cells.get("prompt", ""), output.cells.get("text", "")))),
                },
                (output.id,),
            )
            for output in outputs
        ]

    # --- simulated coders ---

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        """One or two labels are right for a comment, for all coders. Each coder makes some mistakes of their own.

        A careless coder guesses.
        """
        question = page.questions[0]
        assert isinstance(question, ChoicesQuestion)  # noqa: S101 - see `questions`
        name = shown.items[page.item or 0].external_id
        keys = [option.key for option in question.options]
        truth = random.Random(f"{name}/{LABELS}")
        right = set(truth.sample(keys, min(len(keys), truth.randint(1, MOST_TRUE))))
        rng = worker.rng(name, LABELS)
        chosen = [key for key in keys if (key in right) == (rng.random() < 0.5 + worker.ability / 2)]
        return question.typed(chosen or [rng.choice(sorted(right))])
