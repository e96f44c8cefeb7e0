"""``python -m analysis preference`` and ``detection`` on good and bad files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.inference import Dimensions
from analysis.preference import preference

TOGETHER = ("--task", "hit", "--system", "system", "--value", "rating")
CHOSEN = ("--first", "a", "--second", "b", "--choice", "chosen")
JUDGED = ("--worker", "w", "--text", "t", "--source", "s", "--answer", "said")
# Task 1: A 3, B 2. Task 2: A 1, B 2, C 2.
RATINGS = "hit,system,rating,worker\n1,A,3,x\n1,B,2,x\n2,A,1,y\n2,B,2,y\n2,C,2,y\n3,C,NA,y\n"
# ann is right on 2 of 4, ben on 3 of 4; see test_detection.
JUDGEMENTS = (
    "w,t,s,said,domain\n"
    "ann,h1,human,Definitely human-written,story\nann,h2,human,3,story\nann,m1,gpt,4,story\nann,m2,gpt,2,story\n"
    "ben,h1,human,2,news\nben,h2,human,possibly human-written,news\nben,m1,gpt,3,news\nben,m2,gpt,1,news\n"
)


def write(tmp_path: Path, content: str) -> str:
    path = tmp_path / "file.csv"
    path.write_text(content)
    return str(path)


def figures(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    status = main([*words, "--json"])
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_scores_from_ratings_given_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, "preference", write(tmp_path, RATINGS), *TOGETHER)
    values = {name: found["estimates"][f"score.{name}"]["value"] for name in "ABC"}
    assert values == {"A": pytest.approx(-1 / 3), "B": 0.0, "C": 0.5}
    assert found["data"] == {
        "rows": 6, "missing": 1, "comparisons": 4, "systems": 3, "texts": 5, "workers": 2, "same_system": 0,
    }  # fmt: skip
    assert found["figures"]["pairs"] == {"A": 3, "B": 3, "C": 2}
    assert found["estimates"]["strength.C"]["value"] > found["estimates"]["strength.A"]["value"]
    regular = figures(capsys, "preference", write(tmp_path, RATINGS), *TOGETHER, "--prior-sd", "1")
    assert regular["estimates"]["strength.C"]["value"] > 0


def test_published_choices_give_their_p(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Clark 2021, B.5: 76 to 122 with ties dropped, p = .0013; strengths differ by log(76/122)."""
    rows = "".join(f"mil,solo,{choice}\n" * times for choice, times in ((1, 76), (-1, 122)))
    path = write(tmp_path, f"a,b,chosen\n{rows}")
    assert main(["preference", path, *CHOSEN]) == 0
    out, _ = capsys.readouterr()
    assert "mil – solo       76        0      122  0.384 [" in out
    assert "paper’s test: p (binomial, ties dropped)" in out and out.split("mil – solo")[1].split("\n")[0].endswith(
        " 0.0013"
    )
    assert "without --worker, every task or choice is by another worker: if not, they are too sure" in out
    assert "198 comparisons, 2 systems" in out
    found = figures(capsys, "preference", path, *CHOSEN)
    assert found["estimates"]["strength.mil"]["value"] == pytest.approx(-0.2366, abs=1e-4)  # log(76/122) / 2
    assert found["figures"]["ranks"]["solo"] == {"rank": 1, "from": 1, "to": 1}


def test_workers_and_items_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, RATINGS)
    named = figures(capsys, "preference", path, *TOGETHER, "--worker", "worker", "--item", "system")
    assert (named["data"]["workers"], named["data"]["texts"]) == (2, 3)
    # Every system has one text here.
    assert named["estimates"]["score.A"]["note"] == "an interval needs at least 5 texts, and there is only 1"
    found = figures(capsys, "preference", path, *TOGETHER, "--where", "hit=2")
    assert found["estimates"]["score.A"]["value"] == -1
    # In this task A lost every comparison.
    assert found["estimates"]["strength.A"]["value"] is None
    assert "no finite strength is low enough" in found["estimates"]["strength.A"]["note"]


@pytest.mark.parametrize(
    ("options", "content", "message"),
    [
        (("--task", "hit"), RATINGS, "give --task, --system and --value, or --first"),
        ((*TOGETHER, *CHOSEN), RATINGS, "it is not clear what the rows are"),
        (TOGETHER, RATINGS.replace("3,x", "good,x"), 'row 1, column "rating": "good" is not a number'),
        (TOGETHER, RATINGS.replace("1,A,", "1,,"), 'row 1, column "system": the cell is empty'),
        (CHOSEN, "a,b,chosen\nx,y,2\n", "a choice is 1, 0 or −1, not 2"),
        (TOGETHER, "hit,system,rating\n1,A,1\n2,B,2\n", "no task has ratings of two systems"),
        (TOGETHER, "hit,rating\n1,1\n", 'column "system": there is no such column'),
    ],
)
def test_bad_preferences_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], content: str, message: str
) -> None:
    err = refused(capsys, "preference", write(tmp_path, content), *options)
    assert message in err and err.count("\n") == 1


def test_accuracy_and_related_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, JUDGEMENTS)
    found = figures(capsys, "detection", path, *JUDGED)
    assert found["estimates"]["accuracy"]["value"] == 5 / 8
    assert found["estimates"]["f1"]["value"] == pytest.approx(4 / 7)
    assert found["data"] == {"judgements": 8, "missing": 0, "workers": 2, "texts": 4}
    # Means 0.5 and 0.75: t = 0.125 / (0.17678 / √2) = 1.
    assert found["figures"]["published_against_chance"]["all"]["t"] == pytest.approx(1)
    by = figures(capsys, "detection", path, *JUDGED, "--by", "domain")
    assert by["estimates"]["news.accuracy"]["value"] == 0.75
    assert by["figures"]["published_against_chance"]["news"]["t"] is None
    assert main(["detection", path, *JUDGED]) == 0
    assert "t(1) = 1.00" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (JUDGEMENTS.replace("h2,human,3", "h2,human,7"), "an answer is 1, 2, 3 or 4, not 7"),
        (JUDGEMENTS.replace("h2,human,3", "h2,human,robot"), 'row 2, column "said": "robot" is not a number'),
        (JUDGEMENTS.replace("human,", "person,"), 'no text has the source "human"; name the human source with --human'),
        (JUDGEMENTS + "ben,h1,human,2,news\n", "“ben” judged “h1” twice"),
    ],
)
def test_bad_judgements_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    err = refused(capsys, "detection", write(tmp_path, content), *JUDGED)
    assert message in err and err.count("\n") == 1


def test_choices_have_the_interval_of_items_and_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same share, interval and p as `preference` gives for these items and workers; p is never printed as zero."""
    rng = np.random.default_rng(1)
    choices = np.where(rng.random((10, 9)) < 0.95, 1, -1)
    rows = "".join(f"A,B,{choices[i, w]},i{i},w{w}\n" for i in range(10) for w in range(9))
    path = write(tmp_path, f"a,b,chosen,item,worker\n{rows}")
    found = figures(capsys, "preference", path, *CHOSEN, "--item", "item", "--worker", "worker")
    items, workers = np.indices((10, 9))
    expected = preference(choices.ravel(), Dimensions.of(items=items.ravel(), workers=workers.ravel()))
    share = found["estimates"]["share.A.B"]
    assert (share["value"], share["low"], share["high"]) == pytest.approx(
        (expected.share.value, expected.share.low, expected.share.high)
    )
    (pair,) = found["figures"]["outcomes"]
    assert pair["p"] == pytest.approx(expected.p) and 0 < pair["p_binomial"] < 0.0001
    assert main(["preference", path, *CHOSEN, "--item", "item", "--worker", "worker"]) == 0
    out = capsys.readouterr().out
    assert "0.0000" not in out and "< 0.0001" in out and "about new texts and workers (10 texts, 9 workers)" in out
