"""What every task type promises, as functions of a type and one of its examples.

``test_every_type`` runs them for the installed types, ``test_documentation`` for the one in the documentation.
"""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from analysis.description import QuestionDescription
from analysis.report.build import SECTIONS
from annotation.models import Item, Offer, Output, Rating, Step
from annotation.task_types.base import Answers, ArmPlan, Design, FixedPages, Page, Shown, TaskType
from annotation.task_types.examples import Example
from annotation.task_types.items import Json, Row
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.offers import Offers, SuggesterNeed
from annotation.task_types.simulation import PROFILES
from tests.annotation.task_types.walking import (
    Texts,
    clean,
    config_of,
    drawn,
    fields_of,
    findings,
    listed,
    longest,
    read,
    rows_of,
    shown_of,
    stored,
    texts_of,
    unchanged,
    walk,
)

LEVELS = ("ordinal", "nominal", "interval", "pairwise", "text")


def check_valid(task: TaskType, example: Example) -> None:
    """rows → items → hit → order → pages → clean posts → exactly the example's ratings, flags and outputs."""
    shown = shown_of(task, example)
    pages: list[Page] = []
    answers: list[Answers] = []
    for post in example.posts:
        page = task.next_page(shown, answers)
        assert page is not None, f"there are {len(example.posts)} posts for {len(pages)} pages; write one for each page"
        given, errors = clean(task, shown, page, post, answers)
        assert errors == {}, (
            f"page “{page.name}” refuses the post {dict(post)}; fields: {listed(fields_of(drawn(page)))}"
        )
        pages.append(page)
        answers.append(given)
    following = task.next_page(shown, answers)
    assert following is None, f"no post for page “{following and following.name}”; write one for each page"
    with unchanged(shown, pages, answers):
        ratings = task.ratings(shown, pages, answers)
        assert task.ratings(shown, pages, answers) == ratings
        flags = findings(task, shown, pages, answers)
        outputs = task.outputs(shown, pages, answers)
        kept = [stored(given) for given in answers]
        assert (task.ratings(shown, pages, kept), task.outputs(shown, pages, kept)) == (ratings, outputs)
    found = [
        [
            "" if row.item is None else shown.items[row.item].external_id,
            row.question,
            row.target,
            row.text if row.value is None else row.value,
        ]
        for row in ratings
    ]
    assert all(len(row) == 4 for row in example.ratings), "a rating is [item, question, target, value or text]"
    assert sorted(found, key=repr) == sorted(
        ([*row[:3], float(row[3]) if isinstance(row[3], int) else row[3]] for row in example.ratings), key=repr
    )
    assert [flag.reason for flag in flags] == list(example.flags)
    assert [[each.kind, list(each.texts), *(each.label or ())] for each in outputs] == [
        list(each) for each in example.outputs
    ]
    assert {each.kind for each in outputs} <= set(task.output_kinds)
    assert all(len(each.label[0]) <= longest(Output, "label_name") for each in outputs if each.label)
    check_ratings_can_be_stored(task, shown, pages, answers)


def check_ratings_can_be_stored(
    task: TaskType, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]
) -> None:
    described = {each.topic: each for each in task.describe_questions(shown.config, shown.texts)}
    seen = set()
    for row in task.ratings(shown, pages, answers):
        assert row.question in described, no_topic("ratings()", row.question, described)
        assert row.value is not None or row.text
        scale = described[row.question].ratings_scale
        assert row.scale == scale.name or described[row.question].kind in ("choices", "ranking")
        if row.value is not None and described[row.question].kind in ("scale", "choice"):
            assert row.value in [point.value for point in scale.points]
        assert row.key in {question.key for question in pages[row.step].questions}
        for name in ("question", "target", "scale"):
            assert len(getattr(row, name)) <= longest(Rating, name)
        key = (row.item, row.question, row.target)
        assert key not in seen, "one rating per item, question and target"
        seen.add(key)


def check_invalid(task: TaskType, example: Example) -> None:
    """Exactly the problems of the file, or exactly the errors of the posts."""
    _, problems = read(task, example)
    assert sorted([problem.row, problem.column] for problem in problems) == sorted(map(list, example.problems))
    assert all(problem.what.strip() and problem.fix.strip() for problem in problems)
    if example.problems:
        return
    assert example.errors, "an invalid example has problems or errors"
    shown = shown_of(task, example)
    found: list[list[str]] = []
    answers: list[Answers] = []
    for post in example.posts:
        page = task.next_page(shown, answers)
        assert page is not None, f"there are {len(example.posts)} posts for {len(answers)} pages"
        assert isinstance(task, FixedPages) or not found, "nothing follows a page that is not right"
        given, errors = clean(task, shown, page, post, answers)
        assert all(errors.values())
        found += [[page.name, key] for key in errors]
        answers.append(given)
    assert sorted(found) == sorted(map(list, example.errors))


def check_pages(task: TaskType, example: Example) -> None:
    """Names are unique and fit; every page draws and has a field for every question."""
    shown = shown_of(task, example)
    pages, answers = walk(task, shown)
    names = [page.name for page in pages]
    assert len(set(names)) == len(names)
    assert task.length(shown) in (None, len(pages))
    asked = {question.topic: question for question in task.questions(shown.config, shown.texts)}
    for number, page in enumerate(pages):
        assert page.title.strip()
        assert page.item is None or 0 <= page.item < len(shown.items)
        assert len(page.name) <= longest(Step, "name")
        keys = [question.key for question in page.questions]
        assert len(set(keys)) == len(keys)
        assert not {"form", "timing", "feedback"} & set(keys), "these fields belong to the page"
        for question in page.questions:
            assert question.label.strip() and question.scale.level in LEVELS
            assert question.topic in asked, no_topic(f"page “{page.name}”", question.topic, asked)
            sample = asked[question.topic]
            assert (sample.scale.name, sample.scale.level) == (question.scale.name, question.scale.level)
            assert type(sample) is type(question)
        fields = {field for question in page.questions for field in question.typed(answers[number][question.key])}
        assert fields <= set(fields_of(drawn(page)))


def check_stable(task: TaskType, example: Example) -> None:
    """Page n is the same whenever it is asked for: it depends on what is shown and the first n answers alone."""
    for number, profile in enumerate(PROFILES):
        shown = shown_of(task, example, seed=number, slot=number)
        pages, answers = walk(task, shown, f"w{number}", profile)
        places = [*range(len(answers) + 1)] * 2
        random.Random(number).shuffle(places)
        for at in places:
            seen = Offers(
                tuple(each for each in shown.offers.shown if each.step <= at),
                tuple(each for each in shown.offers.pulls if each.step <= at),
            )
            again = Shown(
                copy.deepcopy(shown.items),
                stored(shown.config),
                dict(shown.texts),
                stored(shown.order),
                offers=seen,
            )
            page = task.next_page(again, [stored(given) for given in answers[:at]])
            assert page == (pages[at] if at < len(pages) else None), f"page {at + 1} came out differently"
        if isinstance(task, FixedPages):
            assert list(task.pages(shown)) == pages
            assert [task.page_at(shown, at) for at in range(len(pages) + 1)] == [*pages, None]


def check_asks(task: TaskType, example: Example) -> None:
    """What a page asks for is declared, does not depend on the page's own offers, and is asked for once a side."""
    shown = shown_of(task, example)
    needs = {need.name: need for need in task.suggesters(shown.config)}
    pages, answers = walk(task, shown)
    for number, page in enumerate(pages):
        seen = Offers(tuple(each for each in shown.offers.shown if each.step < number), shown.offers.pulls)
        before = task.next_page(replace(shown, offers=seen), answers[:number])
        assert before is not None
        assert before.asks == page.asks
        sides = [ask.side for ask in page.asks]
        assert len(set(sides)) == len(sides)
        assert all(0 < len(side) <= longest(Offer, "side") for side in sides)
        assert not page.asks or before.name == page.name
        check_pulls(task, shown, page, needs)
        if page.pulls:
            sides = [each.side for each in shown.offers.shown if each.step == number]
        for ask in page.asks:
            assert ask.suggester in needs, f"suggesters() does not list {ask.suggester}"
            need = needs[ask.suggester]
            assert 1 <= ask.round <= need.rounds
            assert set(ask.fields) == set(need.fields)
            assert [each.suggester for each in page.asks].count(ask.suggester) <= need.per_round
        assert all(use.side in sides for use in task.uses(shown, page, answers[number]))


def check_pulls(task: TaskType, shown: Shown, page: Page, needs: dict[str, SuggesterNeed]) -> None:
    """What a button asks for is declared, for every press; nothing typed asks for nothing."""
    if not page.pulls:
        return
    assert task.has_pulls and not page.asks
    boxes = [question.key for question in page.questions if isinstance(question, TextQuestion)]
    assert list(task.pull(shown, page, dict.fromkeys(boxes, ""))) == []
    assert set(page.pull_needs) <= set(boxes) and all(page.pull_needs.values())
    for key in page.pull_needs:
        assert list(task.pull(shown, page, dict.fromkeys(boxes, "Words.") | {key: " "})) == []
    asks = task.pull(shown, page, dict.fromkeys(boxes, "A few words."))
    assert asks and len({ask.side for ask in asks}) == len(asks)
    for ask in asks:
        assert set(ask.fields) == set(needs[ask.suggester].fields)
        assert 1 <= ask.round <= needs[ask.suggester].rounds


def check_simulated_workers(task: TaskType, example: Example) -> None:
    """Whatever a simulated worker sends is valid, and comes out again the same."""
    for seed in range(5):
        shown = shown_of(task, example, seed=seed, slot=seed)
        for profile in PROFILES:
            pages, answers = walk(task, shown, f"w{seed}", profile)
            check_ratings_can_be_stored(task, shown, pages, answers)
            assert all(len(output.texts) for output in task.outputs(shown, pages, answers))


def check_plan_and_order(task: TaskType, example: Example) -> None:
    """Every item in a hit of every arm, reproducible; the order survives the database and depends on the seed alone."""
    config = config_of(task, example)
    items, _ = read(task, example)
    many = [replace(items[0], external_id=f"item-{number}") for number in range(23)]
    design = Design([ArmPlan("one", config), ArmPlan("two", config)], items_per_hit=5, ratings_per_item=3)
    with unchanged(many, items, config):
        hits = task.plan(many, design, random.Random(7))
        assert task.plan(many, design, random.Random(7)) == hits
        for arm in ("one", "two"):
            planned = [name for hit in hits if hit.arm == arm for name in hit.items]
            assert set(planned) == {item.external_id for item in many}
        assert all(hit.items and hit.wanted > 0 for hit in hits)
        order = task.arrange(items, config, slot=3, rng=random.Random(7))
        assert task.arrange(items, config, slot=3, rng=random.Random(7)) == order
    assert stored(order) == order, "the order is JSON"


def check_import(task: TaskType, example: Example) -> None:
    """Items have ids that fit and are their own, payloads are JSON, and the exported rows read back as they were."""
    rows, config = rows_of(example), config_of(task, example)
    with unchanged(rows, config):
        items, _ = task.read_items(rows, config)
        assert task.read_items(rows, config)[0] == items
    ids = [item.external_id for item in items]
    assert len(set(ids)) == len(ids)
    assert all(0 < len(name) <= longest(Item, "external_id") for name in ids)
    numbers = {row.number for row in rows}
    assert all(item.rows and set(item.rows) <= numbers for item in items), "an item knows its rows"
    for item in items:
        assert stored(item.payload) == item.payload
        for hook in (task.export_columns, lambda payload: task.source_rows(payload)[0]):
            assert list(hook(stored(item.payload)).items()) == list(hook(item.payload).items())
        with unchanged(item.payload):
            columns, facts = task.export_columns(item.payload), task.describe_item(item.payload)
        assert all(isinstance(cell, str) for pair in columns.items() for cell in pair)
        assert facts.parameter is None or (facts.parameter[0].strip() and isinstance(facts.parameter[1], float))
        assert all(isinstance(text, str) for group in [*facts.texts, facts.responses] for text in group)
    again = [row for item in items for row in task.source_rows(item.payload)]
    back, problems = task.read_items([Row(number, cells) for number, cells in enumerate(again, start=1)], config)
    assert problems == []
    assert [replace(item, rows=()) for item in back] == [replace(item, rows=()) for item in items]


def check_words(task: TaskType, config: Json) -> None:
    """Texts, questions, columns and scores fit together, whatever the settings."""
    with unchanged(config):
        texts, columns = task.texts(config), task.columns(config)
        worded = texts_of(task, config)
        questions = task.questions(config, worded)
        described = task.describe_questions(config, worded)
    assert task.title.strip() and task.summary.strip()
    assert columns and any(column.required for column in columns)
    assert all(column.name.strip() and column.meaning.strip() for column in columns)
    names = [text.name for text in texts]
    assert len(set(names)) == len(names)
    assert "instructions" in names, f"texts() must list one named “instructions”; names: {listed(names)}"
    assert worded["instructions"].strip()
    assert all(text.default == text.default.strip() and "<" not in text.default for text in texts), "plain text"
    assert all(text.label.strip() and text.group.strip() for text in texts)
    assert all(text.default or text.optional for text in texts), "texts without a default must be optional"
    topics = [question.topic for question in questions]
    assert len(set(topics)) == len(topics)
    assert [each.topic for each in described] == topics
    assert set(task.item_settings) <= set(config)
    check_scores_and_sections(task, config, {each.topic: each for each in described})


def check_scores_and_sections(task: TaskType, config: Json, described: dict[str, QuestionDescription]) -> None:
    """Scores and sections of the report name questions of the type, and sections exist with these parameters."""
    for score in task.scores(config):
        own = score.topic in described
        assert not (score.terms and own), (
            f"scores() gives “{score.topic}” terms, but a question has this topic; rename it"
        )
        for topic in [term.topic for term in score.terms] or [score.topic]:
            assert topic in described, no_topic("scores()", topic, described)
            is_text = described[topic].ratings_scale.level == "text"
            assert not is_text, f"scores() names the topic “{topic}”, whose answers are texts; name one on a scale"
    for section in task.sections(config):
        where, given = f"section “{section.name}” of sections()", dict(section.parameters)
        assert section.name in SECTIONS, f"the report has no {where}; sections: {listed(SECTIONS)}"
        signature = inspect.signature(SECTIONS[section.name])
        taken = list(signature.parameters)[1:]  # the first is the report's data
        strange = [name for name in given if name not in taken]
        assert not strange, f"{where} takes no {listed(strange)}; parameters: {listed(taken)}"
        signature.bind(None, **stored(given))
        for topic in [*given.get("topics", ()), *(given[name] for name in ("high", "low") if name in given)]:
            assert topic in described, no_topic(where, topic, described)


def no_topic(where: str, topic: str, known: Iterable[str]) -> str:
    return f"{where} names the topic “{topic}”, which no question of questions() has; topics: {listed(known)}"


def check_texts_are_shown(task: TaskType, examples: Sequence[Example]) -> None:
    """Every text is on a page of some example."""
    unused = sorted(unused_texts(task, examples))
    assert not unused, (
        f"texts() lists what no page of any example shows: {listed(unused)}. Show it on a page, take it out of "
        "texts(), or add an example with the settings that show it."
    )


def unused_texts(task: TaskType, examples: Sequence[Example]) -> set[str]:
    """The names of texts that no page of any example shows, reworded as they may be."""
    declared: set[str] = set()
    seen: set[str] = {"instructions"}  # shown by the pages' frame
    for example in examples:
        shown = shown_of(task, example)
        marked = replace(shown, texts=Texts({name: f"⟦{name}⟧" for name in shown.texts}))
        walks = [walk(task, marked, f"w{number}", profile)[0] for number, profile in enumerate(PROFILES)]
        html = "".join(page.title + drawn(page) for pages in walks for page in pages)
        declared |= set(marked.texts)
        seen |= {name for name in marked.texts if f"⟦{name}⟧" in html}
    return declared - seen
