"""The interface of a task type. Subclass ``TaskType`` or ``FixedPages`` in its own package; ``registry`` finds it.

A type is stateless: every hook is a function of its arguments, and all randomness comes from ``rng`` or a seed.
``docs/adding-a-task-type.md`` walks through a small type.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from analysis.description import QuestionDescription
from analysis.quality_control.work import WrittenText
from annotation.task_types.examples import Example, examples_in
from annotation.task_types.extra_exports import ExtraExport
from annotation.task_types.items import Column, ExamItem, ItemData, ItemFacts, Json, Row, RowProblem
from annotation.task_types.offers import Ask, Offers, OfferUse, SuggesterNeed
from annotation.task_types.placements import Placements
from annotation.task_types.plans import ArmPlan as ArmPlan
from annotation.task_types.plans import Design as Design
from annotation.task_types.plans import PlannedHit as PlannedHit
from annotation.task_types.plans import Plans
from annotation.task_types.questions import Answer, AnswerError, Part, Question
from annotation.task_types.reading import EXAM, read_rows
from annotation.task_types.results import Results
from annotation.task_types.settings import ConfigForm, Sizes
from annotation.task_types.sources import Sources

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker

#: The answers to one page by question key.
Answers = Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class Text:
    """A text that a study can reword. ``group`` puts texts under one heading in the console.

    ``lines`` is the height of its box. A text of one line appears as it is, a longer one as paragraphs with formatting.
    An ``optional`` text can be empty: the page then leaves it out.
    """

    name: str
    label: str
    default: str
    group: str = "Texts"
    lines: int = 1
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What one participant sees: the hit's items, their arm's config and texts, the recorded order, and the live
    suggestions so far."""

    items: Sequence[ItemData]
    config: Json
    texts: Mapping[str, str]
    order: Json
    arm: str = ""
    offers: Offers = field(default_factory=Offers)


@dataclass(frozen=True, slots=True)
class Page:
    """One page. ``template`` gets ``context``, which must not contain anything that the worker must not see.

    ``item`` is the index of the item that its questions are about; None if they are about no item. ``asks`` lists the
    live suggestions that the page needs. They depend on the answers before it, never on its own offers: while these are
    missing, the page is rendered without them and cannot be sent. ``pulls``: how many times the worker may press the
    button for suggestions (see `TaskType.pull`); 0 for a page without a button. ``pull_needs``: the text questions that
    must have an answer before the button asks for anything, each with the sentence that says so. ``initial`` is the
    content of form fields before the worker types anything. ``waiting``: what is said while its suggestions are being
    written, by a page that shows them as they grow and itself says which did not come.
    """

    name: str
    title: str
    template: str
    parts: Sequence[Part] = ()
    context: Mapping[str, object] = field(default_factory=dict)
    item: int | None = 0
    asks: Sequence[Ask] = ()
    initial: Mapping[str, str] = field(default_factory=dict)
    pulls: int = 0
    pull_needs: Mapping[str, str] = field(default_factory=dict)
    waiting: str = ""

    #: The questions in ``parts``, including those in grids.
    questions: Sequence[Question] = field(init=False, repr=False, compare=False)
    #: The scripts and style sheets that they need besides those of every page, each once.
    scripts: Sequence[str] = field(init=False, repr=False, compare=False)
    styles: Sequence[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", list(chain.from_iterable(part.questions for part in self.parts)))
        for name in ("scripts", "styles"):
            files = (getattr(part, name) for part in (*self.parts, *self.questions))
            object.__setattr__(self, name, list(dict.fromkeys(chain.from_iterable(files))))

    def pull_lacks(self, typed: Mapping[str, str]) -> list[str]:
        """The keys in ``pull_needs`` of the boxes that are empty."""
        return [key for key in self.pull_needs if not typed.get(key, "").strip()]

    def typed(self, answers: Answers) -> dict[str, str]:
        """The answers as form fields of the page."""
        form: dict[str, str] = {}
        for question in self.questions:
            if (answer := answers.get(question.key)) is not None:
                form |= question.typed(answer)
        return form

    def clean(self, form: Mapping[str, str]) -> tuple[dict[str, Answer], dict[str, str]]:
        """Answers and errors, both by question key. A question that is not shown has the answer None."""
        answers: dict[str, Answer] = {}
        errors: dict[str, str] = {}
        for question in self.questions:
            if question.shown_if is not None and not question.shown_if.holds(answers):
                answers[question.key] = None
                continue
            try:
                answers[question.key] = question.clean(form)
            except AnswerError as error:
                errors[question.key] = str(error)
        return answers, errors


# --- what becomes of the answers ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RatingData:
    """One row of the data. ``item`` is an index into ``Shown.items`` (None: no item).

    ``value`` or ``text`` is set; both if the text has the parts that the value is made of. ``key`` and ``step``
    identify the question and the page (from 0) that it comes from.
    """

    item: int | None
    question: str
    scale: str
    target: str = ""
    value: float | None = None
    text: str = ""
    key: str = ""
    step: int = 0


@dataclass(frozen=True, slots=True)
class OutputData:
    """A text or set in a submission that another study can judge. ``kind`` is its form: ``set``, ``text``, ….

    ``item`` is an index into ``Shown.items``; ``label`` is the parameter that the judged item will have.
    """

    kind: str
    context: str
    texts: Sequence[str]
    label: tuple[str, float] | None = None
    item: int | None = 0


class TaskType(Sources, Plans, Placements, Results, ABC):
    """One instrument. ``name`` is stored with studies and never changes."""

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str] = ""
    balance: ClassVar[str] = ""  #: What is shown in random or balanced order: a sentence for the methods of a paper.
    #: The heading under which researchers find the type.
    group: ClassVar[str] = "Other"
    #: The rank in its group before any study is made: types that serve more purposes come first.
    group_rank: ClassVar[int] = 9
    #: The page of which the list of types has a picture, from 0; None: the last one about an item.
    pictured: ClassVar[int | None] = None
    #: Whether workers answer about what they wrote themselves. Then nothing compares their answers with each other's.
    own_work: ClassVar[bool] = False
    #: Whether members of the study do the work, as coders who start on a page of the console. Such a study has no link,
    #: no platform and no reward.
    for_members: ClassVar[bool] = False
    #: The topic of the question with several choices whose answers members compare and settle. Empty: none.
    adjudicates: ClassVar[str] = ""
    config_form: ClassVar[type[ConfigForm]] = ConfigForm
    #: The sizes of the published study, with which a new study starts.
    suggested: ClassVar[Sizes] = Sizes()

    # --- 1. what a researcher gives ---

    #: Settings that affect how a file is read. If one of them changes, items must be imported again.
    item_settings: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def columns(self, config: Json) -> Sequence[Column]:
        """The columns of an items file. The first required one contains the item's id. Other columns are stored
        unchanged."""

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[RowProblem]]:
        """The items from all rows, and all problems in all rows. If there are problems, the items are not used.

        Default: one item per row. Its payload contains each cell by its column, the order of the ``columns`` in the
        file, and the other columns as pairs in ``extra``. Override it if several rows make one item.
        """
        return read_rows(rows, self.columns(config))

    @abstractmethod
    def texts(self, config: Json) -> Sequence[Text]:
        """All texts that a study can reword: instructions, questions, labels and descriptions of scale points.

        The text ``instructions`` is required. It appears before the first page and on every later page.
        """

    # --- 2. the plan: in `annotation.task_types.plans` ---

    # --- 3. pages, one at a time ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order to record for one assignment. ``slot`` runs from 0 to wanted−1 within a hit: balance sides over it.

        ``rng`` is seeded per assignment. Every random order, including that of the hit's items, must come from here: it
        is stored as JSON with the answers, and pages are always rendered from it.
        """
        return {}

    @abstractmethod
    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        """The page after those that already have ``answers``; None when the hit is complete.

        A pure function, stable for every prefix: page n depends only on ``shown`` and the first n answers and, of the
        offers, only on those of the first n pages. Page names are unique in a hit.
        """

    def length(self, shown: Shown) -> int | None:
        """How many pages there are, for the progress bar; None if that depends on the answers."""
        return None

    def check(self, shown: Shown, page: Page, page_answers: Answers, before: Sequence[Answers]) -> Mapping[str, str]:
        """Errors by question key for rules across questions. Called when all answers on the page are valid."""
        return {}

    # --- 4. questions as data ---

    @abstractmethod
    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        """One example question per topic, in the order of the report and the code book."""

    def describe_questions(self, config: Json, texts: Mapping[str, str]) -> list[QuestionDescription]:
        """The same questions for the analysis. Override it if `ratings` stores other terms than the questions use."""
        return [question.describe() for question in self.questions(config, texts)]

    def records_edits(self, config: Json) -> bool:
        """Whether pages record how workers type. Default: the setting of `settings.record_edits_field`."""
        return bool(config.get("record_edits"))

    def recorded(self, page: Page, config: Json) -> Sequence[str]:
        """The keys of the questions on the page whose edits are recorded. Default: all texts, if any are recorded."""
        texts = [question.key for question in page.questions if question.writes]
        return texts if self.records_edits(config) else []

    # --- 5. live suggestions ---

    def suggesters(self, config: Json) -> Sequence[SuggesterNeed]:
        """The suggesters that pages can ask with these settings, each once; none for types without live suggestions."""
        return ()

    def uses(self, shown: Shown, page: Page, page_answers: Answers) -> Sequence[OfferUse]:
        """What the worker did with the offers on a page that was sent. Offers left out were not used."""
        return ()

    #: Whether pages may have a button for suggestions (`Page.pulls`).
    has_pulls: ClassVar[bool] = False

    def pull(self, shown: Shown, page: Page, typed: Mapping[str, str]) -> Sequence[Ask]:
        """What a press of the page's button asks for; empty if nothing is typed that suggestions could begin from.

        ``typed`` has the page's text questions by key. A pure function: it is called again until the suggestions are
        there. `OfferData.number` counts the presses.
        """
        return ()

    # --- 6. ratings, free texts, outputs ---

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """The ratings from the answers on all pages. Default: what each answered question stores."""
        return [
            RatingData(
                page.item,
                question.topic,
                question.stored_on.name,
                stored.target,
                stored.value,
                stored.text,
                question.key,
                number,
            )
            for number, (page, page_answers) in enumerate(zip(pages, answers, strict=True))
            for question in page.questions
            if (answer := page_answers.get(question.key)) is not None
            for stored in question.stored(answer)
        ]

    #: Quality control flags shorter answers in words about an item.
    least_words: ClassVar[int] = 3

    def written(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> Iterable[WrittenText]:
        """The texts that quality control checks, each with the texts on the page that the writer could have copied.

        Default: all answers in words, with the item's context and texts and the question itself. A single word is
        enough if the question is optional or about no item.
        """
        facts_of_item = {index: self.describe_item(item.payload) for index, item in enumerate(shown.items)}
        for step, (page, page_answers) in enumerate(zip(pages, answers, strict=True)):
            facts = ItemFacts() if page.item is None else facts_of_item[page.item]
            sources = [facts.context, *chain.from_iterable(facts.texts)]
            for question in page.questions:
                least = self.least_words if question.required and page.item is not None else 1
                for text in question.texts_in(page_answers.get(question.key)):
                    yield WrittenText(text, step, question.key, [*sources, question.label], least)

    #: The kinds of `outputs`; empty if submissions contain nothing that another study can judge.
    output_kinds: ClassVar[Sequence[str]] = ()

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """The outputs of the submission."""
        return []

    #: Exports that no other type has.
    extra_exports: ClassVar[Sequence[ExtraExport]] = ()

    # --- 7. the report: see also `results.Results` ---

    def describe_item(self, payload: Json) -> ItemFacts:
        """The item as the analysis sees it."""
        return ItemFacts()

    def export_columns(self, payload: Json) -> dict[str, str]:
        """The item as columns of an export, in the order of the file. Default: for payloads of the default reader."""
        return {name: str(payload[name]) for name in payload["columns"]} | dict(payload["extra"])

    def source_rows(self, payload: Json) -> list[dict[str, str]]:
        """The rows from which the item was read. Reading them again makes the same item. Default: one row."""
        return [self.export_columns(payload)]

    # --- 8. sources: see `sources.Sources`; what ratings are about, as it was shown: see `placements.Placements` ---

    # --- 9. exams ---

    def exam_answers(self, item: ItemData, config: Json) -> Mapping[str, Collection[str]]:
        """The right answers of an exam item by topic, as text; numbers as ``%g`` writes them.

        Default: the cells of the columns ``exam:TOPIC``; a cell may contain several right answers, as in 4|5.
        """
        cells = self.export_columns(item.payload).items()
        right = {name.partition(":")[2]: cell.split("|") for name, cell in cells if name.startswith(EXAM)}
        return {topic: [answer.strip() for answer in answers] for topic, answers in right.items() if any(answers)}

    def exam_percent(self, exam: Sequence[ExamItem], config: Json) -> float | None:
        """The result of one worker over all exam items, from 0 to 100; None if nothing in the study has a right answer.

        A study that requires the exam sets which result is enough. Default: the share of right answers. A question
        without an answer counts as wrong.
        """
        questions = [
            (exam_item, topic, right)
            for exam_item in exam
            for topic, right in self.exam_answers(exam_item.item, config).items()
        ]
        n_right = sum(bool(set(exam_item.answers.get(topic, ())) & set(right)) for exam_item, topic, right in questions)
        return 100 * n_right / len(questions) if questions else None

    # --- 10. simulated workers ---

    def true_answer(self, shown: Shown, page: Page, question: Question) -> float | None:
        """A perfect simulated worker's answer on the question's scale; None: drawn at random for each item."""
        return None

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        """The form that a simulated worker sends for ``page``. Default: from each question's kind and `true_answer`."""
        form: dict[str, str] = {}
        item = shown.items[page.item].external_id if page.item is not None else ""
        for question in page.questions:
            form |= worker.answer(question, item=item, true=self.true_answer(shown, page, question))
        return form

    def simulate_pull(self, worker: SimulatedWorker, shown: Shown, page: Page) -> dict[str, str] | None:
        """What a simulated worker has typed when they press the page's button for suggestions; None: they do not."""
        return None

    # --- worked cases ---

    @classmethod
    def examples(cls) -> list[Example]:
        """Valid and invalid worked cases, from ``examples/<name>.yaml`` in the type's package.

        The test suite runs all of them, and the console offers their rows as a sample file.
        """
        package = import_module(cls.__module__).__package__
        file = files(str(package)).joinpath("examples", f"{cls.name}.yaml")
        return examples_in(file.read_text("utf-8"), str(file))


class FixedPages(TaskType):
    """A type whose pages do not depend on the answers."""

    @abstractmethod
    def pages(self, shown: Shown) -> Sequence[Page]:
        """All pages, in order. For small screens, use more pages with fewer questions."""

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        return self.page_at(shown, len(answers))

    def page_at(self, shown: Shown, number: int) -> Page | None:
        """Page ``number``, counted from 0, without answers."""
        pages = self.pages(shown)
        return pages[number] if number < len(pages) else None

    def length(self, shown: Shown) -> int | None:
        return len(self.pages(shown))
