"""Questionnaires go through every way of describing a study: file, console, duplicate and API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from annotation.studies.applying import apply
from annotation.studies.duplicating import duplicate_study
from annotation.studies.storing import change_study
from annotation.studies.study_files import FileRefused, read_study_file
from common.problems import Refused
from tests.annotation.console_helpers import as_role, hidden
from tests.annotation.questionnaire_helpers import FLUENT, asking_study
from tests.annotation.study_helpers import draft, refused

pytestmark = pytest.mark.django_db
FILE = """
slug: asking
task_type: abs_hds
title: Replies
reward: 0.50
before:
  - {block: language, without: [english_proficiency]}
  - kind: choice
    topic: fluent
    question: Are you fluent in Czech?
    options:
      - {value: "1", label: "Yes"}
      - {value: "2", label: "No"}
screen_out:
  fluent: ["No"]
screen_out_reward: 0.1
comprehension:
  - kind: text
    topic: colour
    question: Which colour has the button?
    right: [blue, light blue]
comprehension_tries: 3
after: [attention]
"""


def written(tmp_path: Path, text: str = FILE) -> Any:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    return read_study_file(path)


def test_a_file_that_is_applied_twice_changes_nothing_the_second_time(tmp_path: Path) -> None:
    apply(written(tmp_path))
    study = Study.objects.get(slug="asking")
    assert study.questionnaires["before"][0] == {"block": "language", "without": ["english_proficiency"]}
    assert study.questionnaires["screen_out"] == {"fluent": [2.0]}
    assert study.questionnaires["screen_out_reward"] == "0.10"
    assert apply(written(tmp_path)).differences == []
    apply(written(tmp_path, FILE.replace("comprehension_tries: 3\n", "")))
    study.refresh_from_db()
    assert study.questionnaires["comprehension_tries"] == 2


def test_problems_are_found_with_their_lines(tmp_path: Path) -> None:
    wrong = FILE.replace('["No"]', '["No", "Yes"]').replace("[attention]", "[atention]").replace("0.1\n", "0.9\n")
    with pytest.raises(Refused) as caught:
        apply(written(tmp_path, wrong))
    problems = {problem.where: problem.what for problem in caught.value.problems}
    assert "there is no block “atention”" in problems["after"]
    with pytest.raises(Refused) as caught:
        apply(written(tmp_path, FILE.replace('["No"]', '["No", "Yes"]')))
    assert "nobody could take part" in str(caught.value)
    with pytest.raises(Refused) as caught:
        apply(written(tmp_path, FILE.replace("0.1\n", "0.9\n")))
    assert "would get $0.90, and a whole hit pays $0.50" in str(caught.value)
    with pytest.raises(FileRefused) as unread:
        written(tmp_path, FILE.replace("screen_out_reward: 0.1", 'screen_out_reward: "0.1"'))
    assert unread.value.line(unread.value.problems[0]) == 16
    assert not Study.objects.exists()


def test_a_duplicate_asks_the_same() -> None:
    study = asking_study(before=["demographics"], after=[FLUENT])
    copy = duplicate_study(study=study, slug="copy", title="Copy", with_items=False, actor="ann", owner=None)
    assert copy.questionnaires == study.questionnaires


def test_nothing_changes_after_the_launch() -> None:
    study = asking_study(before=[FLUENT])
    said = refused(
        change_study, study=study, questionnaires={**study.questionnaires, "after": ["attention"]}, actor="ann"
    )
    assert "Locked at launch, so that everybody is asked the same." in said["after"]


# --- the console ---


def page(client: Client, study: Study) -> str:
    return client.get(reverse("console_questionnaires", args=[study.slug])).content.decode()


def save(client: Client, study: Study, **typed: Any) -> Any:
    form = {"version": hidden(page(client, study))["version"], "comprehension_tries": "2"} | typed
    return client.post(reverse("console_questionnaires", args=[study.slug]), form)


def test_the_console_saves_what_it_shows() -> None:
    study = draft(reward="0.50")
    client = as_role("editor", study)
    own = "- kind: choice\n  topic: fluent\n  question: Fluent?\n  options:\n"
    own += '  - {value: "1", label: "Yes"}\n  - {value: "2", label: "No"}\n'
    typed = {"before_blocks": ["language"], "before": own, "screen_out": "fluent: [2]", "screen_out_reward": "0.10"}
    assert save(client, study, **typed).status_code == 302
    study.refresh_from_db()
    first = study.questionnaires
    assert [entry.get("block") or entry["topic"] for entry in first["before"]] == ["language", "fluent"]
    shown = page(client, study)
    assert "See “Before you start” (3 questions)" in shown
    assert "topic: fluent" in shown
    # What the page shows can be sent back as it is.
    again = {
        "before_blocks": ["language"],
        "before": shown.split('id="id_before"')[1].split("</textarea>")[0].split(">", 1)[1].replace("&#x27;", "'"),
        "screen_out": "fluent: [2]",
        "screen_out_reward": "0.10",
    }
    assert save(client, study, **again).status_code == 302
    study.refresh_from_db()
    assert study.questionnaires == first


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"before": "- kind: choice\n  topic: [x"}, "This is not valid YAML"),
        ({"before": "just words"}, "not a list of questions"),
        ({"before": "- {kind: text}"}, "question is empty"),
        ({"before": "a: &a [1]\nb: *a"}, "anchor"),
        ({"screen_out": "- fluent"}, "Write a question and the answers that screen out"),
        ({"screen_out": "fluent: [1]"}, "is not a question of before"),
        ({"screen_out_reward": "much"}, "Enter a number"),
        ({"comprehension": "- {kind: text, topic: x, question: 'What?'}"}, "right is missing"),
        ({"comprehension_tries": "9"}, "less than or equal to 5"),
        ({"before_blocks": ["other"]}, "Select a valid choice"),
        ({"version": "old"}, "Somebody else changed this study"),
    ],
)
def test_bad_input_is_explained_and_nothing_is_saved(typed: dict[str, Any], said: str) -> None:
    study = draft(reward="0.50")
    response = save(as_role("editor", study), study, **typed)
    assert response.status_code in (409, 422)
    assert said in response.content.decode().replace("&#x27;", "'")
    study.refresh_from_db()
    assert not study.questionnaires


def test_a_live_study_shows_its_questionnaires_locked() -> None:
    study = asking_study(before=[FLUENT])
    client = as_role("editor", study)
    assert "Locked at launch, so that everybody is asked the same." in page(client, study)
    assert "<fieldset disabled>" in page(client, study)
    preview = client.get(reverse("console_questionnaire_preview", args=[study.slug, "before"])).content.decode()
    assert "Are you fluent in Czech?" in preview
    assert 'name="form"' not in preview
    assert client.get(reverse("console_questionnaire_preview", args=[study.slug, "after"])).status_code == 404


def test_the_api_shows_and_changes_them() -> None:
    study = draft(reward="0.50")
    client = as_role("editor", study)
    url = reverse("api_study", args=[study.slug])
    sent = {"before": ["demographics"], "screen_out": {"age": ["Under 18"]}, "screen_out_reward": 0.1}
    response = client.patch(url, sent, content_type="application/json")
    assert response.status_code == 200, response.content
    shown = client.get(url).json()
    assert shown["before"] == [{"block": "demographics"}]
    assert (shown["screen_out"], shown["screen_out_reward"]) == ({"age": [1.0]}, 0.1)
    wrong = client.patch(url, {"before": []}, content_type="application/json")
    assert wrong.status_code == 422
    assert "is not a question of before" in wrong.content.decode()
