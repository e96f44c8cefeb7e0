"""The methods of a paper: every number is the report's, everything unknown is a blank, nothing is guessed."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from analysis.data import StudyData, read_bundle
from analysis.description import Factor, Point, QuestionDescription, Recruitment, Scale
from tests.analysis.support.papers import a_bundle, changed_bundle, paper_of, report_of, texts_in
from tests.analysis.support.studies import LIKERT, TEXTS_ONLY, Values, a_set, arm, study_data

ITEMS = [a_set(f"i{at}", cells={"system": "human" if at % 2 else "model"}) for at in range(8)]
VALUES: Values = {
    (f"i{at}", worker): 1 + (at * 3 + number * 2) % 7
    for at in range(8)
    for number, worker in enumerate(("ann", "ben", "cleo", "dan", "eve", "fay"))
}
MTURK = Recruitment(
    "mturk", "Amazon Mechanical Turk", (("countries", "US, GB"), ("approval rate", "at least 97%")), True
)


def rated(**about: Any) -> StudyData:
    usual: dict[str, Any] = {
        **LIKERT,
        "sections": (),
        "source": "Clark 2021, §2.6.2",
        "minimum_hourly_pay": Decimal("10.00"),
        "live_at": datetime(2026, 2, 28, 9, 30, tzinfo=UTC),
        "factors": (Factor("system"),),
        "conditions": (("exam", "at least 80% right answers in an exam (study e1)"),),
    }
    values = about.pop("values", VALUES)
    return study_data(ITEMS, values, question="creative", **(usual | about))


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the bundle and the paper of the usual study."""
    folder = tmp_path_factory.mktemp("usual")
    paper_of(rated(), folder)
    return folder


def numbers_in(text: str) -> list[str]:
    return re.findall(r"(?<![\w.])[−$]?\d[\d,]*(?:\.\d+)?%?", text)


# --- numbers ---


def test_every_number_is_in_report_json_where_numbers_csv_says(usual: Path) -> None:
    files = texts_in(usual / "paper")
    report = report_of(usual)
    rows = list(csv.DictReader(io.StringIO(files["numbers.csv"])))
    assert len(rows) > 25
    for row in rows:
        value: Any = report
        for step in row["place in report.json"].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            value = value[int(key)] if isinstance(value, list) else value[key]
        shown = row["in the methods"]
        if isinstance(value, list):
            assert shown == str(len(value)) or shown == str(len({json.dumps(v["level"]["name"]) for v in value})), row
        elif re.fullmatch(r"\d+ \w+ \d{4}", shown):
            assert datetime.fromisoformat(value).strftime("%-d %B %Y") == shown
        elif shown.endswith("%"):
            assert float(shown[:-1]) == pytest.approx(100 * value, abs=0.5), row
        elif re.fullmatch(r"[−$\d,.]+", shown):
            plain = float(shown.replace("−", "-").replace("$", "").replace(",", ""))
            assert plain == pytest.approx(float(value), abs=0.0051), row
        else:
            assert shown == "40 s" and value == 40.0, row


def test_the_methods_have_no_number_of_another_kind(tmp_path: Path) -> None:
    """Besides numbers of the report there are those of the wording: scales, terms, sources, 95% and 5%."""
    data = rated(recruitment=(MTURK,))
    files = paper_of(data, tmp_path)
    text = re.sub(r"\[[^\]]*@[^\]]*\]", "", files["methods.md"])
    shown = {
        token
        for row in csv.DictReader(io.StringIO(files["numbers.csv"]))
        for token in numbers_in(row["in the methods"])
    }
    worded = {"7", "1", "80%", "97%", "95%", "5%", "89", "100%"}  # “89 to 100% of such intervals are right”
    strangers = [token for token in numbers_in(text) if token not in shown | worded]
    assert strangers == []
    # The same numbers are in the LaTeX, whatever it does to signs.
    latex = files["methods.tex"].replace("\\%", "%").replace("\\$", "$").replace("$-$", "−")
    assert all(token in latex for token in shown)


def test_pay_by_hand(tmp_path: Path) -> None:
    """$0.10 in 40 s is $9.00 an hour. Ann has twice the time for each task, so she earns half."""
    data = rated()
    data.submissions.loc[data.submissions["worker"] == "ann", "seconds"] = 80.0
    files = paper_of(data, tmp_path)
    assert (
        "A task paid $0.10. At the median time of 48 submissions by people (40 s), this is $9.00 an hour."
        in (files["methods.md"])
    )
    assert "6 of 6 workers (100%) earned less than $10.00 an hour" in files["methods.md"]
    less = paper_of(rated(minimum_hourly_pay=Decimal("8.00")), tmp_path / "less")["methods.md"]
    assert "0 of 6 workers (0%) earned less than $8.00 an hour" in less


def test_numbers_of_the_data_by_hand(tmp_path: Path) -> None:
    text = paper_of(rated(excluded=[1, 2, 3]), tmp_path)["methods.md"]
    assert "Workers judged 8 items" in text
    assert "The analysis is of 45 ratings from 45 submissions." in text
    # The first three submissions are of item i0.
    assert "An item has a median of 6 submissions (from 3 to 6); 0 of 8 items have all that we asked for." in text
    assert "Left out of all figures: 3 submissions that a person excluded. A person excluded them because **[…" in text
    assert "We compare 2 levels of system: " in text
    assert "The study opened on 28 February 2026." in text


# --- what is known, and what is not ---


def test_recruitment_is_told_as_it_was_asked_for(tmp_path: Path) -> None:
    text = paper_of(rated(recruitment=(MTURK,)), tmp_path)["methods.md"]
    assert (
        "Workers were recruited on Amazon Mechanical Turk, which let in only workers with: countries: US, GB; approval "
        "rate: at least 97%." in text
    )
    assert "No platform confirmed" not in text


def test_a_link_leaves_a_blank_for_whom_it_was_given_to(tmp_path: Path) -> None:
    text = paper_of(rated(recruitment=(Recruitment("link", "The study's link"),)), tmp_path)["methods.md"]
    assert "Workers came by a link (**[… to whom you gave the link, and how]**)." in text
    assert "No platform confirmed who sent this work." in text


def test_what_the_study_does_not_know_is_a_blank(tmp_path: Path) -> None:
    files = paper_of(rated(source="", minimum_hourly_pay=None), tmp_path)
    for unknown in ("where the instrument comes from", "where and how", "an amount, and where it comes from"):
        assert f"**[… {unknown}]**" in files["methods.md"]
        assert f"\\blank{{{unknown}}}" in files["methods.tex"]


def test_simulated_workers_are_a_warning_at_the_top(tmp_path: Path, usual: Path) -> None:
    text = paper_of(rated(synthetic=["ann", "ben"]), tmp_path)["methods.md"]
    first = text.split("## ")[1]
    assert first.startswith(
        "Simulated data\n\n> **Warning.** 16 of the 48 submissions in the analysis are by 2 simulated"
    )
    assert "must not be published as results" in first
    assert "Simulated data" not in texts_in(usual / "paper")["methods.md"]


def test_arms_are_named_with_their_pay(tmp_path: Path) -> None:
    people = ("ann", "ben", "cleo", "dan", "eve", "fay")
    arms = {worker: "plain" if number % 2 else "trained" for number, worker in enumerate(people)}
    data = rated(arms=(arm("plain"), arm("trained", "0.20", config={"examples": 3})), arm_of=arms)
    text = paper_of(data, tmp_path)["methods.md"]
    assert "there were 2 conditions: plain and trained." in text
    assert "In the condition trained, examples is set to 3." in text
    assert "In the condition trained, a task paid $0.20." in text
    assert "3 of 3 workers in the condition plain (100%) and 0 of 3 workers in the condition trained (0%)" in text


def test_the_wording_and_the_scale(tmp_path: Path, usual: Path) -> None:
    text = texts_in(usual / "paper")["methods.md"]
    assert (
        "“This story is creative.” (in short: creative) and “This story is coherent.” (in short: coherent) were each "
        "answered on an ordinal scale of 7 points from 1 (Strongly disagree) to 7 (Strongly agree)." in text
    )
    words = paper_of(study_data(["a"], texts={("a", "ann"): {"own": "Two words"}}, **TEXTS_ONLY), tmp_path / "w")
    assert "answered in words (at least 2 words)" in words["methods.md"]


def test_a_heading_is_not_called_a_question(tmp_path: Path) -> None:
    fate = QuestionDescription("fate", "What became of the suggestion", Scale("fate", "nominal", (Point(1, "Kept"),)))
    text = paper_of(rated(questions=(*LIKERT["questions"], fate)), tmp_path)["methods.md"]
    assert (
        "Workers answered, or the pages recorded, under a heading: “What became of the suggestion” (in short: fate), "
        "by choosing one of “Kept”." in text
    )


def test_methods_are_cited_only_if_the_report_uses_them(usual: Path) -> None:
    files = texts_in(usual / "paper")
    assert "[@clark2021, §2.6.2]" in files["methods.md"]
    assert "\\citep[\\S{}2.6.2]{clark2021}" in files["methods.tex"]
    assert "[@holm1979]" in files["methods.md"] and "@article{holm1979," in files["references.bib"]
    assert "bradley1952" not in files["methods.md"] + files["references.bib"]


def test_cited_keys_are_the_keys_of_the_bibliography(usual: Path) -> None:
    files = texts_in(usual / "paper")
    groups = re.findall(r"\\citep(?:\[[^\]]*\])?\{([^}]*)\}", files["methods.tex"])
    cited = {key for group in groups for key in group.split(",")}
    assert cited == set(re.findall(r"^@\w+\{(\w+),", files["references.bib"], re.MULTILINE))


# --- little data, errors, earlier releases ---


def test_a_study_without_ratings(tmp_path: Path) -> None:
    files = paper_of(study_data(["a", "b"]), tmp_path)
    assert "There are no answers in the analysis yet." in files["methods.md"]
    assert "Pay per hour is not known: no submission by people has been paid." in files["methods.md"]
    assert "nobody has answered yet" in files["findings.md"]
    assert "**3.2.1** Number of evaluators  \n0" in files["heds.md"]


def test_a_study_without_items(tmp_path: Path) -> None:
    assert "Workers judged 0 items" in paper_of(study_data([]), tmp_path)["methods.md"]


def test_a_bundle_of_an_earlier_release_has_blanks(tmp_path: Path) -> None:
    data = rated(recruitment=(MTURK,))
    with zipfile.ZipFile(a_bundle(tmp_path / "new.zip", data)) as archive:
        head = json.loads(archive.read("study.json"))
    for name in ("recruitment", "conditions", "balance", "minimum_hourly_pay", "for_members", "factors"):
        del head["study"][name]
    del head["pages"]
    old = changed_bundle(data, tmp_path / "old.zip", {"study.json": json.dumps(head).encode()})
    back = read_bundle(old)
    assert back.description.recruitment == () and back.description.minimum_hourly_pay is None
    assert "Workers were recruited **[… where and how]**." in paper_of(back, tmp_path / "again")["methods.md"]
