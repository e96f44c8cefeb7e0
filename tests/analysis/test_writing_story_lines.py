"""What was suggested, chosen and submitted, turn by turn."""

from __future__ import annotations

import pytest

from analysis.writing.story_lines import (
    Line,
    Offered,
    accepted,
    authors_of,
    contests,
    lines_frame,
    story_lines,
    written_alone,
)

TURNS = {1: "Alone.", 2: "Edited B.", 3: "Alone again.", 4: "No model answered.", 5: "Third.", 6: "None fitted."}


def offer(round: int, suggester: str, text: str, *, chosen: bool = False, side: str = "", number: int = 1) -> Offered:
    return Offered(round, side or suggester, number, suggester, text, chosen)


OFFERS = [
    offer(1, "b", "B.", chosen=True),
    offer(1, "a", "A, first try."),
    offer(1, "a", "A.", number=2),
    offer(2, "a", ""),
    offer(2, "b", ""),
    offer(3, "a", "A3."),
]


def test_every_turn_has_its_suggestions_and_what_was_submitted() -> None:
    assert story_lines(TURNS, OFFERS) == [
        Line(1, 0, "", "Alone.", False, "Alone."),
        Line(2, 1, "a", "A.", False, ""),
        Line(2, 1, "b", "B.", True, "Edited B."),
        Line(3, 0, "", "Alone again.", False, "Alone again."),
        Line(4, 0, "", "No model answered.", False, "No model answered."),
        Line(5, 0, "", "Third.", False, "Third."),
        Line(6, 3, "a", "A3.", False, ""),
        Line(6, 3, "", "None fitted.", False, "None fitted."),
    ]


def test_suggestions_can_be_for_every_turn() -> None:
    (line,) = story_lines({1: "Edited."}, [offer(1, "a", "A.", chosen=True)], every=1)
    assert line == Line(1, 1, "a", "A.", True, "Edited.")
    with pytest.raises(ValueError, match="every 0"):
        story_lines({}, [], every=0)


def test_written_alone_means_without_any_suggestion() -> None:
    frame = lines_frame([("s", "w", story_lines(TURNS, OFFERS))])
    assert written_alone(frame)["turn"].tolist() == [1, 3, 4, 5]
    assert accepted(frame)["submitted"].tolist() == ["Edited B."]
    assert authors_of(frame) == ["a", "b"]


def test_a_contest_needs_two_texts_and_a_choice() -> None:
    rounds = [
        [offer(1, "a", "A.", chosen=True), offer(1, "b", "B.")],  # counts
        [offer(2, "a", "A."), offer(2, "b", "B.", chosen=True)],  # counts
        [offer(3, "a", "A.", chosen=True)],  # nobody to compare with
        [offer(4, "a", "A."), offer(4, "b", "B.")],  # nobody was chosen
        [offer(5, "a", "A.", chosen=True, side="1"), offer(5, "a", "A2.", side="2"), offer(5, "b", "B.")],  # twice
        [offer(6, "a", "A."), offer(6, "b", "B."), offer(6, "c", "C.", chosen=True)],  # a third one was chosen
    ]
    turns = dict.fromkeys(range(1, 13), "x")
    frame = lines_frame([("s", "w", story_lines(turns, [each for offers in rounds for each in offers]))])

    one, two, three = contests(frame)

    assert (one.first, one.second, one.chosen, one.rounds, one.writers) == ("a", "b", [1, 0], [1, 2], ["w", "w"])
    assert (two.first, two.second, two.chosen) == ("a", "c", [0])
    assert (three.first, three.second, three.chosen) == ("b", "c", [0])


def test_an_empty_study_has_empty_frames() -> None:
    frame = lines_frame([])
    assert authors_of(frame) == [] and contests(frame) == [] and accepted(frame).empty
