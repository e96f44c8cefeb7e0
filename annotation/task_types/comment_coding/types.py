"""A page per comment: which labels apply? Members of the study answer separately, then settle their differences."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from analysis.description import ReportSection
from annotation.task_types.base import Answers, FixedPages, Page, Shown, Text
from annotation.task_types.comment_coding.config import CodingConfig, categories
from annotation.task_types.comment_coding.drawing import draw_comments
from annotation.task_types.hooks import Sizes
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, SourceOutput, SourceRow
from annotation.task_types.questions import ChoicesQuestion, Option, Question
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.sources import output_name

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
        found = [
            Text("instructions", "Instructions", INSTRUCTIONS, lines=12),
            Text("title", "Title of the page", "What is this comment about?"),
            Text("question", "Question", "Which labels apply?"),
        ]
        if config["show_text"]:
            found += [
                Text("answer", "Heading of the answer that the comment explains", "The comment explains this answer"),
                Text("about", "Heading of the text that the comment is about", "The text that it is about"),
            ]
        return found

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
        asked = self.questions(shown.config, shown.texts)
        pages = []
        for place, index in enumerate(shown.order["items"], start=1):
            payload = shown.items[index].payload
            context: Json = {"comment": payload["comment"], "place": place, "places": len(shown.items)}
            if shown.config["show_text"]:
                headings = {"answer_heading": shown.texts["answer"], "about_heading": shown.texts["about"]}
                context |= headings | {"answer": payload["answer"], "text": payload["text"]}
            title = shown.texts["title"]
            pages.append(Page(f"comment-{place}", title, "comment_coding/comment.html", asked, context, index))
        return pages

    # --- the report and the sources ---

    def sections(self, config: Json) -> Sequence[ReportSection]:
        found = categories(config)
        null = found.pop(config["null_category"], [])
        return (ReportSection("coding", {"topic": LABELS, "null_labels": null, "categories": found}),)

    def choose_outputs(self, outputs: Sequence[SourceOutput], config: Json) -> Sequence[SourceOutput]:
        return draw_comments(outputs, authors=config["authors_per_domain"], seed=config["draw_seed"])

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        """One item per comment, with the text that it is about: the source's columns prompt and text."""
        return [
            SourceRow(
                {
                    "comment_id": output_name(each),
                    "comment": each.texts[0],
                    "domain": each.cells.get("domain", ""),
                    "answer": each.context,
                    "text": " ".join(filter(None, (each.cells.get("prompt", ""), each.cells.get("text", "")))),
                },
                (each.id,),
            )
            for each in outputs
        ]

    # --- simulated coders ---

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        """One or two labels are right for a comment, for all coders. Each coder makes some mistakes of their own.

        A careless coder guesses.
        """
        asked = page.questions[0]
        assert isinstance(asked, ChoicesQuestion)  # noqa: S101 - see `questions`
        name = shown.items[page.item or 0].external_id
        keys = [option.key for option in asked.options]
        truth = random.Random(f"{name}/{LABELS}")
        right = set(truth.sample(keys, min(len(keys), truth.randint(1, MOST_TRUE))))
        rng = worker.rng(name, LABELS)
        chosen = [key for key in keys if (key in right) == (rng.random() < 0.5 + worker.ability / 2)]
        return asked.typed(chosen or [rng.choice(sorted(right))])
