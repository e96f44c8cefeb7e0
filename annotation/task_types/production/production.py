"""How differently do people answer or continue the same text? Many writers, one or more responses each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django import forms

from analysis.description import ReportSection
from annotation.languages import gettext as _
from annotation.task_types.base import Answers, FixedPages, OutputData, Page, Shown, Text
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, SourceRow
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import Question
from annotation.task_types.settings import ConfigForm, Sizes, record_edits_field
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.sources import sample_text
from annotation.task_types.wording import TASK_WORDS, recording_texts
from common.text_length import normalised
from common.words import counted

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow

MOST_RESPONSES = 20
MOST_WORDS = 500
#: Simulated workers try this many times to write something new.
TRIES = 20
ENGLISH = "English"
ANYTHING = "There is no right or wrong: write what comes to mind."
#: As `TASK_WORDS`, with what a text should be like. Translation and simplification are two of the paper's four tasks
#: (section 4); ``{language}`` is what workers translate into.
WORDS: Mapping[str, Mapping[str, str]] = {
    **{
        task: {**words, "aim": ANYTHING, "fit": f"should fit the {words['context']}."}
        for task, words in TASK_WORDS.items()
    },
    "translation": {
        "heading": "Text to translate",
        "context": "text",
        "response": "translation into {language}",
        "responses": "translations into {language}",
        "label": "translation",
        "aim": "Keep its meaning, and write it as people would say it. Do not use a translation program.",
        "fit": "should mean the same as the text.",
    },
    "simplification": {
        "heading": "Text to simplify",
        "context": "text",
        "response": "simpler version",
        "responses": "simpler versions",
        "label": "version",
        "aim": "Make it as easy to understand as you can, and keep its meaning. You may replace words, split "
        "sentences and leave out what is not needed.",
        "fit": "should be easier to understand than the text, and mean the same.",
    },
}


class ProductionConfig(ConfigForm):
    """What to write, how often, and how much."""

    generation_task = forms.ChoiceField(
        label="What workers write",
        choices=[
            ("story", "Story completion: an ending of a story"),
            ("response", "Response generation: a reply to a comment"),
            ("prompt", "Prompt completion: a continuation of a few words"),
            ("translation", "Translation: the same text in another language"),
            ("simplification", "Simplification: a version that is easier to understand"),
        ],
        initial="response",
        help_text="Gives the context and the responses their names on the page.",
    )
    translate_into = forms.CharField(
        label="Language to translate into",
        max_length=60,
        required=False,
        initial=ENGLISH,
        help_text="Only for translations: its name as workers read it.",
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
        config: dict[str, Any] = super().clean() or self.cleaned_data
        least, most = config.get("least_words"), config.get("most_words")
        if least and most and least > most:
            self.add_error("least_words", f"This is more than the maximum, {most}. Lower it.")
        return config


class Production(FixedPages):
    """One page for each context, with a box for each response."""

    name = "production"
    group_rank = 1
    title = "Responses by many writers"
    summary = "Many workers each write one or more responses to the same contexts."
    source = "Giulianelli et al. 2023, §3–5"
    balance = "The order of the contexts was random for every worker."
    group = "Writing"
    own_work = True
    config_form = ProductionConfig
    # Five replies to each context, by different people.
    suggested = Sizes(items_per_hit=1, ratings_per_item=5, hits_per_worker=None)
    sample_form = ConfigForm
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

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        """A context with its samples in columns ``text:DECODER:NUMBER``, which workers never see: the report compares
        them with people's texts. The model is part of the name where several models wrote."""
        models = {sample.model for sample in samples}
        written = [sample for sample in samples if sample_text(sample.text)]
        if not written:
            return [], len(samples)
        cells = {"sample_id": written[0].context_id, "context": written[0].context}
        numbers: Counter[str] = Counter()
        for sample in written:
            name = sample.decoder if len(models) == 1 else f"{sample.model} {sample.decoder}"
            numbers[name] += 1
            cells[f"text:{name}:{numbers[name]}"] = sample_text(sample.text)
        return [SourceRow(cells, tuple(sample.id for sample in written))], len(samples) - len(written)

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (ReportSection("variability"),)

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the contexts."""
        return {"items": rng.sample(range(len(items)), len(items))}

    def pages(self, shown: Shown) -> Sequence[Page]:
        boxes = _boxes(shown.config, shown.texts)
        pages = []
        for number, index in enumerate(shown.order["items"], start=1):
            context = {
                "place": number,
                "places": len(shown.items),
                "heading": shown.texts["heading"],
                "context_text": shown.items[index].payload["context"],
                "explain": shown.texts["explain"],
            }
            pages.append(
                Page(f"context-{number}", shown.texts["title"], "production/write.html", boxes, context, index)
            )
        return pages

    def check(self, shown: Shown, page: Page, page_answers: Answers, before: Sequence[Answers]) -> Mapping[str, str]:
        """The responses to one context must differ."""
        label_of_text: dict[str, str] = {}
        errors: dict[str, str] = {}
        for question in page.questions:
            text = str(page_answers[question.key])
            first_label = label_of_text.setdefault(normalised(text) or text.strip(), question.label)
            if first_label != question.label:
                errors[question.key] = _("This is the same as %(text)s. Please write something else.") % {
                    "text": f"“{first_label}”"
                }
        return errors

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        return _boxes(config, texts)[:1]

    def texts(self, config: Json) -> Sequence[Text]:
        words, count = WORDS[config["generation_task"]], config["responses"]
        language = config.get("translate_into") or ENGLISH
        response, responses = (words[name].replace("{language}", language) for name in ("response", "responses"))
        context, short_name = words["context"], words.get("label", response)
        several = count > 1
        what = f"{count} different {responses}" if several else f"your own {response}"
        limit = _limit(config["least_words"], config["most_words"])
        instructions = f"Read the {context}, then write {what}. {words['aim']}"
        label = f"{short_name.capitalize()} {{n}}" if several else f"Your {short_name}"
        return [
            Text("instructions", "Instructions", f"{instructions} {limit}".strip(), lines=6),
            Text("title", "Title of the page", f"Write {what}"),
            Text("heading", "Heading of the context", words["heading"]),
            Text(
                "explain",
                "Explanation above the boxes",
                f"{'Each of them' if several else 'It'} {words['fit']} {limit}".strip(),
                lines=3,
            ),
            Text("label", "Label of a box; {n} is its number", label),
            *recording_texts(config),
        ]

    # --- what becomes of it ---

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Each response and, where a worker writes several, all of them as a set."""
        outputs = []
        for page, page_answers in zip(pages, answers, strict=True):
            context, texts = (
                str(page.context["context_text"]),
                [str(page_answers[question.key]) for question in page.questions],
            )
            outputs += [OutputData("text", context, [text], None, page.item) for text in texts]
            if len(texts) > 1:
                outputs.append(OutputData("set", context, texts, None, page.item))
        return outputs

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        form: dict[str, str] = {}
        item = shown.items[page.item or 0].external_id
        for number, question in enumerate(page.questions, start=1):
            assert isinstance(question, TextQuestion)  # noqa: S101 - the boxes of this page
            tried = (question.text_by(worker, worker.rng(item, number, attempt)) for attempt in range(TRIES))
            written = {normalised(text) for text in form.values()}
            text = next((candidate for candidate in tried if normalised(candidate) not in written), "")
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
            target=str(number) if config["responses"] > 1 else "",
            min_words=config["least_words"],
            max_words=config["most_words"],
        )
        for number in range(1, config["responses"] + 1)
    ]
