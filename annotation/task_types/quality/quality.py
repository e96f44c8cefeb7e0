"""Several continuations of one beginning on one page, each with one of five labels."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from django import forms

from analysis.description import Factor, ReportSection, Score
from annotation.task_types.base import (
    Answers,
    Design,
    FixedPages,
    Page,
    PlannedHit,
    RatingData,
    Shown,
    Text,
)
from annotation.task_types.items import (
    ANSWERED_ROLES,
    Column,
    ExamItem,
    ItemData,
    ItemFacts,
    Json,
    Row,
    RowProblem,
    SourceRow,
)
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.labels import check_number, number_in
from annotation.task_types.quality.exam_rule import ExamRule, judge
from annotation.task_types.quality.quality_plan import plan_quality
from annotation.task_types.quality.quality_texts import QUALITY, quality_texts
from annotation.task_types.questions import Question
from annotation.task_types.settings import ConfigForm, Sizes
from annotation.task_types.sources import sample_text
from annotation.task_types.wording import worded

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker
    from generation.runs.samples import SampleRow


class QualityConfig(ConfigForm):
    """How many tasks to plan, how many raters each gets, and what passes the exam."""

    tasks = forms.IntegerField(
        label="Number of tasks",
        min_value=1,
        max_value=100_000,
        required=False,
        help_text="Empty: as many as the ratings per item need. A number: that many, whatever the ratings per item. "
        "The published study has 1,930.",
    )
    raters_per_task = forms.IntegerField(
        label="Raters per task",
        min_value=1,
        max_value=100,
        initial=1,
        help_text="1 puts every rating of a text into another task. Give 5 to measure how well raters agree.",
    )
    exam_most_wrong = forms.IntegerField(
        label="Exam: wrong labels allowed",
        min_value=0,
        max_value=100,
        initial=1,
        help_text="Only for studies whose texts are an exam, with known labels.",
    )
    exam_most_levels = forms.IntegerField(
        label="Exam: levels by which a wrong label may be off", min_value=1, max_value=4, initial=1
    )


TOPIC = "quality"


class Quality(FixedPages):
    """One page: the labels with their examples, then each text after its context, in an order recorded per worker."""

    name = "quality"
    group_rank = 3
    title = "Quality of continuations"
    summary = "Several systems continue one text: how good is each continuation, by five labels?"
    source = "Zhang et al. 2020, §4.1, appendix A"
    balance = "The order of the texts on a page was random for every worker."
    group = "Judging texts"
    config_form = QualityConfig
    # Five texts side by side. 1,930 tasks for 7,200 texts come to 1.34 ratings of each: rounded up.
    suggested = Sizes(items_per_hit=5, ratings_per_item=2, hits_per_worker=None)
    sample_form = ConfigForm

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("sample_id", "the text's id", example="ferry-top_p=0.7-1"),
            Column("context", "the beginning that the text continues", example="The ferry will stop running"),
            Column("text", "the continuation to judge", example="for three weeks in March, the harbour office said."),
            Column("system", "what wrote the text, such as top_p=0.7; never shown to workers", example="top_p=0.7"),
            Column("log_prob", "the text's log-probability under the model", False, check_number),
            Column("log_q", "its log-probability under the system's own distribution", False, check_number),
            Column(
                "role", "main, exam for a text whose label is known, gold, attention or training", False, check_role
            ),
            Column("known_label", "the label of an exam text, 5 (best) to 1", False, check_label),
        )

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[RowProblem]]:
        items, problems = super().read_items(rows, config)
        read: list[ItemData] = []
        for item in items:
            exam = item.payload["role"].strip() == "exam"
            if exam != bool(item.payload["known_label"].strip()):
                what = "This exam text has no known label." if exam else "A text with a known label is an exam text."
                fix = "Enter its label, 5 to 1." if exam else "Write exam into its column role, or remove the label."
                problems.append(RowProblem(item.rows[0], "known_label" if exam else "role", what, fix))
            read.append(replace(item, role="exam") if exam else item)
        if not problems and len({item.role for item in read}) > 1:
            first = next(item for item in read if item.role == "exam")
            what = "The file has exam texts and others. Workers who take the exam must not see the others yet."
            problems.append(RowProblem(first.rows[0], "role", what, "Put the exam into a separate study."))
        return read, problems

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["context"], None, [[payload["text"]]])

    def scores(self, config: Json) -> Sequence[Score]:
        return (Score("quality", "Quality"),)

    def factors(self, config: Json) -> Sequence[Factor]:
        return (Factor("system"),)

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (ReportSection("systems", {"topic": "quality"}),)

    # --- the plan and the exam ---

    def plan(self, items: Sequence[ItemData], design: Design, rng: random.Random) -> list[PlannedHit]:
        return plan_quality(items, design, rng)

    def exam_rule(self, config: Json) -> ExamRule:
        """The rule that decides who passes the exam."""
        return ExamRule.of(config)

    def exam_answers(self, item: ItemData, config: Json) -> Mapping[str, Collection[str]]:
        label = item.payload["known_label"].strip()
        return {TOPIC: [f"{number_in(label):g}"]} if label else {}

    def exam_percent(self, exam: Sequence[ExamItem], config: Json) -> float | None:
        """100 for workers who pass by `exam_rule`; otherwise the percentage of right labels, which is lower."""
        known_labels = {
            exam_item.item.external_id: number_in(exam_item.item.payload["known_label"]) for exam_item in exam
        }
        labels = {
            exam_item.item.external_id: float(exam_item.answers[TOPIC][0])
            for exam_item in exam
            if exam_item.answers.get(TOPIC)
        }
        result = judge(self.exam_rule(config), labels, known_labels)
        if result is None:
            return None
        return 100.0 if result.passed else 100 * result.right / result.n

    # --- the page ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the texts on the page."""
        return {"items": rng.sample(range(len(items)), len(items))}

    def pages(self, shown: Shown) -> Sequence[Page]:
        texts = shown.texts
        scale = worded("quality", QUALITY, texts)
        # The page explains the labels once, above all texts.
        short = replace(scale, points=tuple(replace(point, description="") for point in scale.points))
        rows, questions = [], []
        for number, index in enumerate(shown.order["items"], start=1):
            payload = shown.items[index].payload
            question = ScaleQuestion(f"quality-{number}", texts["question"], "quality", short)
            heading = texts["continuation"].replace("{n}", str(number))
            questions.append(question)
            rows.append(
                {"heading": heading, "before": payload["context"], "text": payload["text"], "question": question}
            )
        context = {
            "rows": rows,
            "cut": texts["cut"],
            "reference_heading": texts["reference.heading"],
            "reference_context": texts["reference.context"],
            "labels": [
                {
                    "key": point.key,
                    "name": point.label,
                    "about": point.description,
                    "example": texts[f"quality.{point.key}.example"],
                }
                for point in scale.points
            ],
        }
        return [Page("rate", texts["title"], "quality/rate.html", questions, context, None)]

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        return [ScaleQuestion("quality", texts["question"], "quality", worded("quality", QUALITY, texts))]

    def texts(self, config: Json) -> Sequence[Text]:
        return quality_texts()

    # --- what becomes of the answers ---

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """The n-th question is about the n-th text of the recorded order."""
        rows = []
        for row in super().ratings(shown, pages, answers):
            number = int(row.key.rpartition("-")[2])
            rows.append(replace(row, item=shown.order["items"][number - 1]))
        return rows

    # --- sources ---

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        """One item per sample that is not empty. The system is the decoder, with its model if there are several."""
        several = len({sample.model for sample in samples}) > 1
        rows = []
        for sample in samples:
            cells = {
                "sample_id": f"{sample.context_id}-{sample.model}-{sample.decoder}-{sample.number}",
                "context": sample.context,
                "text": sample_text(sample.text),
                "system": f"{sample.model}:{sample.decoder}" if several else sample.decoder,
                "log_prob": _number(getattr(sample, "log_p", None)),
                "log_q": _number(getattr(sample, "log_q", None)),
                "model": sample.model,
                "decoder": sample.decoder,
            }
            rows.append(SourceRow(cells, (sample.id,)))
        written = [row for row in rows if row.cells["text"]]
        return written, len(rows) - len(written)

    # --- simulated workers ---

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        form: dict[str, str] = {}
        for number, question in enumerate(page.questions):
            item = shown.items[shown.order["items"][number]]
            if item.role == "exam":
                label = number_in(item.payload["known_label"])
            else:  # drawn from the system's name and the item's id
                system = random.Random(f"quality of {item.payload['system']}").uniform(1.5, 4.5)
                label = min(5.0, max(1.0, system + random.Random(item.external_id).gauss(0, 0.7)))
            form |= worker.answer(question, item=item.external_id, true=label)
        return form


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def check_role(cell: str) -> tuple[str, str] | None:
    if cell.strip() in ("main", "exam", *ANSWERED_ROLES):
        return None
    fix = "Write main, exam, gold, attention or training, or leave the cell empty."
    return f"“{cell.strip()[:40]}” is not a role.", fix


def check_label(cell: str) -> tuple[str, str] | None:
    if number_in(cell) in [point.value for point in QUALITY.points]:
        return None
    return f"“{cell.strip()[:40]}” is not a label.", "Write 5 (best), 4, 3, 2 or 1."
