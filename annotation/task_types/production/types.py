"""How differently do people answer or continue the same text? Many writers, one or more responses each."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from analysis.description import ReportSection
from analysis.quality_control.texts import normalised
from annotation.task_types.base import Answers, FixedPages, OutputData, Page, Shown, Text
from annotation.task_types.hds.words import WORDING
from annotation.task_types.hooks import Sizes
from annotation.task_types.items import Column, ItemData, ItemFacts, Json
from annotation.task_types.questions import Question, TextQuestion
from annotation.task_types.settings import ConfigForm, record_edits_field
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.wording import recording_texts
from common.words import counted

MOST_RESPONSES = 20
MOST_WORDS = 500
#: Simulated workers try this many times to write something new.
TRIES = 20


class ProductionConfig(ConfigForm):
    """What to write, how often, and how much."""

    generation_task = forms.ChoiceField(
        label="What workers write",
        choices=[
            ("story", "Story completion: an ending of a story"),
            ("response", "Response generation: a reply to a comment"),
            ("prompt", "Prompt completion: a continuation of a few words"),
        ],
        initial="response",
        help_text="Gives the context and the responses their names on the page.",
    )
    responses = forms.IntegerField(
        label="Responses per worker and context",
        min_value=1,
        max_value=MOST_RESPONSES,
        initial=1,
        help_text="With several, you can compare how much one writer varies with how much writers differ.",
    )
    least_words = forms.IntegerField(label="Minimum words in a response", min_value=1, max_value=MOST_WORDS, initial=1)
    most_words = forms.IntegerField(
        label="Maximum words in a response",
        min_value=1,
        max_value=MOST_WORDS,
        required=False,
        help_text="Leave it empty for no limit.",
    )
    record_edits = record_edits_field()

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        least, most = given.get("least_words"), given.get("most_words")
        if least and most and least > most:
            self.add_error("least_words", f"This is more than the maximum, {most}. Lower it.")
        return given


class Production(FixedPages):
    """One page for each context, with a box for each response."""

    name = "production"
    place = 1
    title = "Responses by many writers"
    summary = "Many workers each write one or more responses to the same contexts."
    source = "Giulianelli et al. 2023, §3–5"
    group = "Writing"
    own_work = True
    config_form = ProductionConfig
    # Five replies to each context, by different people.
    suggested = Sizes(items_per_hit=1, ratings_per_item=5, hits_per_worker=None)
    output_kinds = ("text", "set")
    least_words = 2

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("sample_id", "the context's id", example="c1"),
            Column("context", "the text that workers answer or continue", example="I lost my keys again."),
        )

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["context"])

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (ReportSection("variability"),)

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the contexts."""
        return {"items": rng.sample(range(len(items)), len(items))}

    def pages(self, shown: Shown) -> Sequence[Page]:
        boxes = _boxes(shown.config, shown.texts)
        found = []
        for place, index in enumerate(shown.order["items"], start=1):
            context = {
                "place": place,
                "places": len(shown.items),
                "heading": shown.texts["heading"],
                "context_text": shown.items[index].payload["context"],
                "explain": shown.texts["explain"],
            }
            found.append(Page(f"context-{place}", shown.texts["title"], "production/write.html", boxes, context, index))
        return found

    def check(self, shown: Shown, page: Page, given: Answers, before: Sequence[Answers]) -> Mapping[str, str]:
        """The responses to one context must differ."""
        seen: dict[str, str] = {}
        errors: dict[str, str] = {}
        for question in page.questions:
            text = str(given[question.key])
            first = seen.setdefault(normalised(text) or text.strip(), question.label)
            if first != question.label:
                errors[question.key] = f"This is the same as “{first}”. Please write something else."
        return errors

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        return _boxes(config, texts)[:1]

    def texts(self, config: Json) -> Sequence[Text]:
        words, count = WORDING[config["generation_task"]], config["responses"]
        one, many, context = words["response"], words["responses"], words["context"]
        several = count > 1
        what = f"{count} different {many}" if several else f"your own {one}"
        limit = _limit(config["least_words"], config["most_words"])
        instructions = f"Read the {context}, then write {what}. There is no right or wrong: write what comes to mind."
        label = f"{one.capitalize()} {{n}}" if several else f"Your {one}"
        return [
            Text("instructions", "Instructions", f"{instructions} {limit}".strip(), lines=6),
            Text("title", "Title of the page", f"Write {what}"),
            Text("heading", "Heading of the context", words["heading"]),
            Text(
                "explain",
                "Explanation above the boxes",
                f"{'Each of them' if several else 'It'} should fit the {context}. {limit}".strip(),
                lines=3,
            ),
            Text("label", "Label of a box; {n} is its number", label),
            *recording_texts(config),
        ]

    # --- what becomes of it ---

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Each response and, where a worker writes several, all of them as a set."""
        found = []
        for page, given in zip(pages, answers, strict=True):
            context, texts = str(page.context["context_text"]), [str(given[each.key]) for each in page.questions]
            found += [OutputData("text", context, [text], None, page.item) for text in texts]
            if len(texts) > 1:
                found.append(OutputData("set", context, texts, None, page.item))
        return found

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        form: dict[str, str] = {}
        item = shown.items[page.item or 0].external_id
        for number, question in enumerate(page.questions, start=1):
            assert isinstance(question, TextQuestion)  # noqa: S101 - the boxes of this page
            tried = (worker.text(question, worker.rng(item, number, at)) for at in range(TRIES))
            seen = {normalised(text) for text in form.values()}
            text = next((each for each in tried if normalised(each) not in seen), "")
            words = [str(number)] * max(1, question.min_words)
            form[question.key] = text or " ".join(words)
        return form


def _limit(least: int, most: int | None) -> str:
    """The limits as a sentence; empty if there are none."""
    if most is not None:
        words = counted(most, "word")
        return f"Use at most {words}." if least <= 1 else f"Use {least} to {words}."
    return f"Use at least {counted(least, 'word')}." if least > 1 else ""


def _boxes(config: Json, texts: Mapping[str, str]) -> list[TextQuestion]:
    return [
        TextQuestion(
            f"response-{number}",
            texts["label"].replace("{n}", str(number)),
            "response",
            about=str(number) if config["responses"] > 1 else "",
            min_words=config["least_words"],
            max_words=config["most_words"],
        )
        for number in range(1, config["responses"] + 1)
    ]
