"""From an example of a task type to its pages, a walk through them, and what is drawn."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from django.template.loader import get_template

from analysis.quality_control.rules import Settings, find_in
from analysis.quality_control.work import Finding
from annotation.task_types.base import Answers, FixedPages, Page, Shown, TaskType
from annotation.task_types.examples import Example
from annotation.task_types.items import ItemData, Json, Row, RowProblem
from annotation.task_types.offers import OfferData, Offers, PullData
from annotation.task_types.simulation import Profile, SimulatedWorker
from annotation.work.quick_rules import Sent

MOST_PAGES = 500


# --- from an example to what is shown ---


def initial_config(task: TaskType) -> Json:
    return {name: copy.deepcopy(field.initial) for name, field in task.config_form.base_fields.items()}


def config_of(task: TaskType, example: Example) -> Json:
    form = task.config_form(initial_config(task) | dict(example.config))
    assert form.is_valid(), form.errors
    return dict(form.cleaned_data)


class Texts(dict[str, str]):
    """Texts by name. A name that a type asks for and does not list is a mistake in the type."""

    def __missing__(self, name: str) -> str:
        raise AssertionError(f"texts() lists no “{name}”; names: {listed(self)}. List it there, or correct the name.")


def texts_of(task: TaskType, config: Json) -> dict[str, str]:
    return Texts({text.name: text.default for text in task.texts(config)})


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def rows_of(example: Example) -> list[Row]:
    return [Row(number, cells) for number, cells in enumerate(example.rows, start=1)]


def read(task: TaskType, example: Example) -> tuple[list[ItemData], list[RowProblem]]:
    return task.read_items(rows_of(example), config_of(task, example))


def shown_of(task: TaskType, example: Example, *, seed: int = 1, slot: int = 0) -> Shown:
    """The example's items as one hit in the order of the file, arranged as the example says or from the seed."""
    config = config_of(task, example)
    items, problems = read(task, example)
    assert problems == []
    order = example.order or stored(task.arrange(items, config, slot=slot, rng=random.Random(seed)))
    pulls = tuple(PullData(**each) for each in example.pulls)
    offers = Offers(tuple(OfferData(**each) for each in example.offers), pulls)
    return with_offers(task, Shown(items, config, texts_of(task, config), order, offers=offers))


def with_offers(task: TaskType, shown: Shown) -> Shown:
    """With a suggestion wherever a simulated worker is asked to wait for one that the example does not give."""
    if not task.suggesters(shown.config):
        return shown
    worker = SimulatedWorker.named("w1", "careful")
    answers: list[Answers] = []
    while page := task.next_page(shown, answers):
        there = shown.offers.at(len(answers))
        new = [
            OfferData(len(answers), ask.side, ask.suggester, f"Suggestion {ask.round} for side {ask.side}, as it came.")
            for ask in page.asks
            if ask.side not in there
        ]
        shown = replace(shown, offers=Offers((*shown.offers.shown, *new), shown.offers.pulls))
        page = task.next_page(shown, answers)
        assert page is not None
        answers.append(page.clean(task.simulate(worker, shown, page, answers))[0])
    return shown


def stored(value: Any) -> Any:
    """What a database gives back of JSON: PostgreSQL sorts the names of an object."""
    return json.loads(json.dumps(value, sort_keys=True))


@contextmanager
def unchanged(*arguments: Any) -> Iterator[None]:
    """The hooks called inside leave their arguments as they were."""
    before = copy.deepcopy(arguments)
    yield
    assert arguments == before


# --- walking through the pages ---


def clean(
    task: TaskType, shown: Shown, page: Page, post: Any, before: Sequence[Answers]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Answers and errors of one post, first of each question, then across questions, as the server does it."""
    given, errors = page.clean(post)
    if not errors:
        errors = dict(task.check(shown, page, given, before))
        assert set(errors) <= {question.key for question in page.questions}
    return given, errors


def pages_of(task: TaskType, shown: Shown, answers: Sequence[Answers] = ()) -> list[Page]:
    """The pages that ``answers`` answer; of a type whose pages are fixed, all pages without any answer."""
    if isinstance(task, FixedPages):
        return list(task.pages(shown))
    return [page for number in range(len(answers)) if (page := task.next_page(shown, answers[:number]))]


def walk(
    task: TaskType, shown: Shown, name: str = "w1", profile: Profile = "careful"
) -> tuple[list[Page], list[Answers]]:
    """All pages and answers of one simulated worker."""
    worker = SimulatedWorker.named(name, profile)
    pages: list[Page] = []
    answers: list[Answers] = []
    while page := task.next_page(shown, answers):
        assert len(pages) < MOST_PAGES, "the hit has an end"
        with unchanged(shown, page, answers):
            post = task.simulate(worker, shown, page, answers)
            assert task.simulate(worker, shown, page, answers) == post
        given, errors = clean(task, shown, page, post, answers)
        assert errors == {}, (page.name, post)
        pages.append(page)
        answers.append(given)
    assert pages
    return pages, answers


def findings(
    task: TaskType, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers], *, pastes: int = 0
) -> list[Finding]:
    """What the quick rules find in the answers with their default thresholds, whatever the time they took."""
    timings: list[dict[str, dict[str, float]]] = [{} for _ in answers]
    if pastes:
        timings[0] = {"any": {"pastes": pastes}}
    ratings = task.ratings(shown, pages, answers)
    sent = Sent(task, shown, pages, answers, timings, ratings, seconds=None)
    return list(find_in(sent.as_work(), Settings.of({})))


# --- drawing ---


def drawn(page: Page, values: dict[str, str] | None = None, errors: dict[str, str] | None = None) -> str:
    context = {**page.context, "page": page, "values": values or {}, "errors": errors or {}, "at": 1, "steps": 3}
    return str(get_template(page.template).render(context))


def fields_of(html: str) -> list[str]:
    """The names of the page's form fields."""

    class Fields(HTMLParser):
        names: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            name = dict(attrs).get("name")
            if tag in ("input", "textarea", "select") and name:
                self.names.append(name)

    parser = Fields()
    parser.names = []
    parser.feed(html)
    return parser.names


def longest(model: Any, name: str) -> int:
    return int(model._meta.get_field(name).max_length)
