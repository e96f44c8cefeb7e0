"""What every task type promises, as functions of a type and one of its examples.

``test_every_type`` runs them for the installed types, ``test_documentation`` for the one in the documentation.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

from django.template.loader import get_template

from annotation.models import Item, Rating, Step
from annotation.task_types.base import PROFILES, Example, ItemData, Json, Problem, Row, Shown, StepSpec, TaskType

LEVELS = ("ordinal", "nominal", "interval", "pairwise", "text")


def initial_config(task: TaskType) -> Json:
    return {name: field.initial for name, field in task.config_form.base_fields.items()}


def config_of(task: TaskType, example: Example) -> Json:
    config = initial_config(task) | dict(example.config)
    form = task.config_form(config)
    assert form.is_valid(), form.errors
    return dict(form.cleaned_data)


def rows_of(example: Example) -> list[Row]:
    return [Row(number, cells) for number, cells in enumerate(example.rows, start=1)]


def read(task: TaskType, example: Example) -> tuple[list[ItemData], list[Problem]]:
    return task.read_items(rows_of(example), config_of(task, example))


def shown_of(task: TaskType, example: Example, *, seed: int = 1, slot: int = 0) -> Shown:
    """The example's items as one hit in the order of the file, arranged as the example says or from the seed."""
    config = config_of(task, example)
    items, problems = read(task, example)
    assert problems == []
    if example.order is not None:
        return Shown(items, config, example.order)
    return Shown(items, config, stored(task.arrange(items, config, slot=slot, rng=random.Random(seed))))


def steps_of(task: TaskType, shown: Shown) -> list[StepSpec]:
    return task.steps(shown, task.default_texts(shown.config))


def stored(value: Json) -> Json:
    """What a database gives back of an order or a payload: PostgreSQL sorts the names of an object."""
    return dict(json.loads(json.dumps(value, sort_keys=True)))


@contextmanager
def unchanged(*arguments: Any) -> Iterator[None]:
    """The hooks called inside leave their arguments as they were."""
    before = copy.deepcopy(arguments)
    yield
    assert arguments == before


def check_valid(task: TaskType, example: Example) -> None:
    """rows → items → hit → order → steps → clean posts → exactly the example's ratings and flags."""
    shown = shown_of(task, example)
    steps = steps_of(task, shown)
    assert len(example.posts) == len(steps), [step.name for step in steps]
    answers = []
    for step, post in zip(steps, example.posts, strict=True):
        given, errors = step.clean(post)
        assert errors == {}
        answers.append(given)
    with unchanged(shown, steps, answers):
        ratings = task.ratings(shown, steps, answers)
        assert task.ratings(shown, steps, answers) == ratings
        flags = list(task.flags(shown, steps, answers, pastes=0))
    found = [
        [shown.items[row.item].external_id, row.question, row.target, row.text if row.value is None else row.value]
        for row in ratings
    ]
    assert sorted(found, key=repr) == sorted(
        ([row[0], row[1], row[2], row[3] if isinstance(row[3], str) else float(row[3])] for row in example.ratings),
        key=repr,
    )
    assert [flag.reason for flag in flags] == list(example.flags)
    check_ratings_can_be_stored(task, shown, steps, answers)


def check_ratings_can_be_stored(task: TaskType, shown: Shown, steps: list[StepSpec], answers: list[Any]) -> None:
    topics = task.question_topics(shown.config)
    seen = set()
    for row in task.ratings(shown, steps, answers):
        assert (row.value is None) == bool(row.text)
        assert row.question in topics
        assert row.scale == topics[row.question].scale.name
        assert row.key in {question.key for question in steps[row.step].questions}
        for name in ("question", "target", "scale"):
            assert len(getattr(row, name)) <= longest(Rating, name)
        key = (row.item, row.question, row.target)
        assert key not in seen, "one rating per item, question and target"
        seen.add(key)


def check_invalid(task: TaskType, example: Example) -> None:
    """Exactly the problems of the file, or exactly the errors of the posts."""
    items, problems = read(task, example)
    assert sorted([problem.row, problem.column] for problem in problems) == sorted(map(list, example.problems))
    assert all(problem.what.strip() and problem.mend.strip() for problem in problems)
    if example.problems:
        assert items == [], "nothing is imported unless all is right"
        return
    assert example.errors, "an invalid example has problems or errors"
    found = []
    steps = steps_of(task, shown_of(task, example))
    assert len(example.posts) == len(steps)
    for step, post in zip(steps, example.posts, strict=True):
        given, errors = step.clean(post)
        assert not set(given) & set(errors)
        assert all(errors.values())
        found += [[step.name, key] for key in errors]
    assert sorted(found) == sorted(map(list, example.errors))


def check_pages(task: TaskType, example: Example) -> None:
    """Names are unique and fit; every page draws and has a field for every question."""
    shown = shown_of(task, example)
    with unchanged(shown):
        steps = steps_of(task, shown)
        assert steps_of(task, shown) == steps, "the same order gives the same pages"
    assert steps
    names = [step.name for step in steps]
    assert len(set(names)) == len(names)
    for step in steps:
        assert step.title.strip()
        assert 0 <= step.item < len(shown.items)
        assert len(step.name) <= longest(Step, "name")
        keys = [question.key for question in step.questions]
        assert len(set(keys)) == len(keys)
        assert not {"form", "timing", "feedback"} & set(keys), "these fields belong to the page"
        assert all(question.label.strip() and question.scale.level in LEVELS for question in step.questions)
        assert set(keys) <= set(fields_of(drawn(step)))


def drawn(step: StepSpec, values: dict[str, str] | None = None) -> str:
    page = {**step.context, "step": step, "values": values or {}, "errors": {}, "at": 1, "steps": 3}
    return str(get_template(step.template).render(page))


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


def check_simulated_workers(task: TaskType, example: Example) -> None:
    """Whatever a simulated worker sends is valid, and comes out again from the same seed."""
    for seed in range(5):
        shown = shown_of(task, example, seed=seed, slot=seed)
        for profile in PROFILES:
            for step in steps_of(task, shown):
                with unchanged(shown, step):
                    post = task.simulate(shown, step, profile=profile, rng=random.Random(seed))
                    assert task.simulate(shown, step, profile=profile, rng=random.Random(seed)) == post
                assert step.clean(post)[1] == {}


def check_plan_and_order(task: TaskType, example: Example) -> None:
    """Every item in exactly one hit, reproducible; the order survives the database and depends on the seed alone."""
    config = config_of(task, example)
    items, _ = read(task, example)
    ids = [f"item-{number}" for number in range(23)]
    with unchanged(ids, items, config):
        hits = task.plan(ids, items_per_hit=5, config=config, rng=random.Random(7))
        assert task.plan(ids, items_per_hit=5, config=config, rng=random.Random(7)) == hits
        assert sorted(name for hit in hits for name in hit) == sorted(ids)
        assert all(hits)
        order = task.arrange(items, config, slot=3, rng=random.Random(7))
        assert task.arrange(items, config, slot=3, rng=random.Random(7)) == order
    shown = Shown(items, config, order)
    assert steps_of(task, shown) == steps_of(task, Shown(items, config, stored(order)))


def check_import(task: TaskType, example: Example) -> None:
    """Items have ids that fit and are their own, payloads are JSON, and the exported rows read back as they were."""
    rows, config = rows_of(example), config_of(task, example)
    with unchanged(rows, config):
        items, _ = task.read_items(rows, config)
        assert task.read_items(rows, config)[0] == items
    ids = [item.external_id for item in items]
    assert len(set(ids)) == len(ids)
    assert all(0 < len(name) <= longest(Item, "external_id") for name in ids)
    for item in items:
        assert stored(item.payload) == item.payload
        for hook in (task.export_columns, lambda payload: task.source_rows(payload)[0]):
            assert list(hook(stored(item.payload)).items()) == list(hook(item.payload).items())
        with unchanged(item.payload):
            columns, parameter = task.export_columns(item.payload), task.parameter(item.payload)
            texts = task.responses(item.payload)
        assert all(isinstance(cell, str) for pair in columns.items() for cell in pair)
        assert parameter is None or (parameter[0].strip() and isinstance(parameter[1], float))
        assert all(isinstance(text, str) for text in texts)
    again = [row for item in items for row in task.source_rows(item.payload)]
    back, problems = task.read_items([Row(number, cells) for number, cells in enumerate(again, start=1)], config)
    assert problems == []
    assert back == items


def check_words(task: TaskType, config: Json) -> None:
    """Names, instructions and topics are there, whatever the settings."""
    with unchanged(config):
        texts, topics = task.default_texts(config), task.question_topics(config)
    assert task.title.strip() and task.summary.strip() and task.columns(config).strip()
    assert texts["instructions"].strip()
    assert all(text == text.strip() and "<" not in text for text in texts.values()), "plain text"
    assert all(topic == question.topic for topic, question in topics.items())
    assert {score.topic for score in task.scores()} <= set(topics)
    assert all(topics[score.topic].scale.level != "text" for score in task.scores())


def longest(model: Any, name: str) -> int:
    return int(model._meta.get_field(name).max_length)
