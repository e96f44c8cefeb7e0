"""What becomes of conversations: the report, the export of turns, a study that judges them, and a deletion."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from annotation.models import Offer, Step, Study
from annotation.people.redacting import redact
from annotation.results.exports import kinds_of
from annotation.results.frames import study_data
from annotation.studies.outputs import set_feed
from annotation.task_types.registry import get_type
from generation.models import Suggestion
from tests.analysis.support.pages import built
from tests.annotation.offers_helpers import answer
from tests.annotation.outputs_helpers import draft
from tests.annotation.results.exports.helpers import exported_bytes
from tests.annotation.task_types.chat_helpers import chat_study, newest, person, say
from tests.factories import make_study

pytestmark = pytest.mark.django_db
LONG, SHORT = "It rains and rains and rains today.", "Rain."


def talk(study: Study, *, better: str, longer: str, messages: int = 1) -> None:
    """A conversation with two assistants, of which ``longer`` writes more. ``better``: who wins, or tie, or bad."""
    browser = person(study)
    for number in range(messages):
        say(browser, f"Word {number}?", {})
        for side in "AB":
            answer(newest(side), LONG if newest(side).suggester.name == longer else SHORT)
        browser.get()
    browser.send(end="1")
    values = {newest("A").suggester.name: "1", newest("B").suggester.name: "-1", "tie": "0", "bad": "0.5"}
    assert browser.send(better=values[better]).status_code == 303


def test_the_report_has_strengths_ties_and_the_effect_of_length(tmp_path: Path) -> None:
    study = chat_study(sides="two", questions=[])
    for better, longer, count in (
        ("model-a", "model-a", 6),
        ("model-a", "model-b", 2),
        ("model-b", "model-a", 2),
        ("model-b", "model-b", 2),
        ("tie", "model-a", 3),
        ("bad", "model-b", 1),
    ):
        for number in range(count):
            talk(study, better=better, longer=longer, messages=1 + (number == 0))

    page, sections = built(study_data(study), tmp_path)

    strengths = {row["system"]: row for row in sections["arena"]["strengths on better"]}
    # Two systems saturate the model: exp(θ_a − θ_b) = 8 / 4 and ν = 4 / √(8 · 4).
    assert strengths["model-a"]["strength"]["value"] == pytest.approx(math.log(2) / 2, abs=1e-6)
    assert sections["arena"]["better"]["ties"]["value"] == pytest.approx(4 / math.sqrt(32), abs=1e-6)
    assert strengths["model-a"]["share"]["value"] == pytest.approx(10 / 16)
    # Ties as halves: 7.5 of 11 where a wrote more, 2.5 of 5 where b did. The difference in length is the same in all.
    both = math.log(7.5 / 3.5) / 2
    assert sections["arena"]["better"]["length"]["value"] == pytest.approx(both, abs=1e-6)
    assert strengths["model-a"]["at_equal_length"]["value"] == pytest.approx(both / 2, abs=1e-6)
    # One scenario: intervals are about new people in it.
    assert strengths["model-a"]["strength"]["low"] < 0 < strengths["model-a"]["strength"]["high"]
    assert "Intervals are about new people in these scenarios." in page
    assert "4 comparisons of 16 ended in a tie, 1 of these because both were bad" in page
    facts = sections["conversations"]["conversations"]
    assert (facts["conversations"], facts["messages"]) == (16, 22)
    of_a = sections["conversations"]["systems"]["model-a"]
    assert (of_a["answers"], of_a["none"], of_a["judgements"]) == (22, 0, 32)
    assert "There were 16 conversations with 2 assistants, each of 1 to 2 messages by a person (mean 1.4)." in page


def test_the_report_of_nothing_says_so(tmp_path: Path) -> None:
    page, _ = built(study_data(chat_study(sides="two", questions=[])), tmp_path)
    assert "Nobody has finished a conversation yet." in page
    assert "Nobody has compared two assistants on “better” yet." in page


def test_a_turn_is_a_row_for_each_assistant_with_what_made_its_answer() -> None:
    study = chat_study(sides="two", questions=[])
    talk(study, better="tie", longer="model-b", messages=2)

    content, count = exported_bytes(study, "chat-turns")

    rows = list(csv.DictReader(io.StringIO(content.decode()), delimiter="\t"))
    assert count == len(rows) == 4
    assert [(row["turn"], row["side"], row["message"]) for row in rows] == [
        ("1", "A", "Word 0?"),
        ("1", "B", "Word 0?"),
        ("2", "A", "Word 1?"),
        ("2", "B", "Word 1?"),
    ]
    by_system = {row["system"]: row for row in rows[2:]}
    assert by_system["model-b"]["answer"] == LONG
    row = by_system["model-a"]
    made_by = Suggestion.objects.filter(suggester__name="model-a").latest("pk")
    assert row["seed"] == str(made_by.parameters["seed"])
    assert (row["answer"], row["model"], row["decoder"], row["source"], row["tries"]) == (
        SHORT,
        "toy",
        "ancestral",
        "live",
        "1",
    )
    assert (row["tokens"], row["worker"]) == ("0", study.participants.get().pseudonym)
    assert "chat-turns" not in kinds_of(make_study(task_type="likert"))


def test_another_study_judges_conversations_as_a_form_shows_them() -> None:
    study = chat_study(sides="two", questions=[])
    talk(study, better="tie", longer="model-b")
    config = {"texts": [], "shown": [{"field": "text", "heading": "", "as": "chat"}]}
    judged = draft("form", config=_form_config(config))

    assert set_feed(study=judged, source=study, actor="ann") == 2

    item = judged.items.order_by("position").first()
    assert item is not None
    assert item.authors.get().worker == study.participants.get().worker
    cells = get_type("form").export_columns(item.payload)
    assert (cells["label_name"], cells["context"]) == ("system", "Ask for a word.")
    assert cells["text"].startswith('[{"role": "Assistant", "content": "Good day."}, {"role": "User"')


def _form_config(changes: Mapping[str, object]) -> dict[str, object]:
    fields = get_type("form").config_form.base_fields
    return {name: field.initial for name, field in fields.items()} | dict(changes)


def test_a_deletion_leaves_nothing_that_was_said() -> None:
    study = chat_study(sides="two", questions=[])
    talk(study, better="tie", longer="model-b")
    participant = study.participants.get()

    redact(participants=[participant], actor="ann")

    assert not Suggestion.objects.exists()
    assert not {LONG, SHORT} & set(Offer.objects.values_list("text", flat=True))
    assert "Word" not in str(list(Step.objects.values_list("answers", flat=True)))
    assert b"Word" not in exported_bytes(study, "chat-turns")[0]
