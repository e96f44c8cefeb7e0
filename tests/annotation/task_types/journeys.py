"""Whole studies of one type, launched as researchers launch them, for journeys from the start page to the code."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.models import Study
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish
from annotation.table_files import read_table
from tests.factories import create_study

TRAININGS = ("none", "instructions", "examples", "comparison")
PROMPT = "Once upon a time"
PERSON = "there was a king who lost his hat in a game of cards, and who would not play again until his cat wore it."
MACHINE = "there was a hat that was the hat of the king of the hats, and the king of the hats had a hat that was red."
BECAUSE = "It says *hat* again and again, and the story goes nowhere."


def launched(
    task_type: str, rows: Sequence[Mapping[str, str]], *, arms: Sequence[Mapping[str, Any]] = (), **values: Any
) -> Study:
    config = values.pop("config", {})
    terms: dict[str, Any] = {
        "title": f"A {task_type} study",
        "contact": "lab@example.org",
        "hits_per_worker": 1,
    } | values
    slug = terms.pop("slug", f"journey-{task_type.replace('_', '-')}")
    study = create_study(
        slug=slug, task_type=task_type, values=terms, config=config, texts={}, arms=arms, actor="test", owner=None
    )
    import_items(study=study, table=read_table(io.BytesIO(csv_of(rows)), name="items.csv"), actor="test")
    publish(study=study, actor="test")
    study.refresh_from_db()
    return study


def csv_of(rows: Sequence[Mapping[str, str]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def detection_study(*, training: str = "", **values: Any) -> Study:
    """All four trainings as arms, or only ``training``. Two texts per hit, one by a person.

    There are two practice texts and two practice pairs.
    """
    texts = [("h1", PERSON, "human"), ("h2", PERSON, "human"), ("m1", MACHINE, "gpt2"), ("m2", MACHINE, "gpt2")]
    rows = [detection_row(name, text, source) for name, text, source in texts]
    for at, (text, other, source) in enumerate([(MACHINE, PERSON, "gpt2"), (PERSON, MACHINE, "human")]):
        practice = {"role": "practice", "explanation": BECAUSE}
        rows.append(detection_row(f"p{at}", text, source) | practice)
        rows.append(detection_row(f"q{at}", text, source) | practice | {"other_text": other})
    arms = [{"name": each, "config": {"training": each}} for each in TRAININGS if training in ("", each)]
    return launched("detection", rows, arms=arms, **({"items_per_hit": 2, "ratings_per_item": 1} | values))


def detection_row(name: str, text: str, source: str) -> dict[str, str]:
    empty = dict.fromkeys(("role", "explanation", "other_text"), "")
    return {"sample_id": name, "prompt": PROMPT, "text": text, "source": source, "domain": "story", **empty}


def quality_study(**values: Any) -> Study:
    """One context continued by three systems."""
    terms: dict[str, Any] = {"items_per_hit": 3, "ratings_per_item": 1}
    return launched("quality", quality_rows("main"), **(terms | values))


def quality_exam(**values: Any) -> Study:
    """The same texts as an exam: their labels are known."""
    terms: dict[str, Any] = {"items_per_hit": 3, "slug": "journey-exam"}
    return launched("quality", quality_rows("exam"), **(terms | values))


def quality_rows(role: str) -> list[dict[str, str]]:
    texts = {"person": " the pool stays open.", "gpt2": " the pool is a pool.", "random": " of of the the pool"}
    known = {"person": "5", "gpt2": "3", "random": "1"}
    return [
        {
            "sample_id": f"{role}-{system}",
            "context": "The council voted, and",
            "text": text,
            "system": system,
            "role": role,
            "known_label": known[system] if role == "exam" else "",
        }
        for system, text in texts.items()
    ]
