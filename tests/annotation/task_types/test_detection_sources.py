"""Detection items from samples and from people's texts, and explanations that contradict the answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from annotation.task_types.detection.contradictions import contradiction
from annotation.task_types.detection.texts_from_sources import cut, overlap, rows_from_file, rows_from_samples
from annotation.task_types.items import Row, RowProblem, SourceRow
from common.problems import Invalid

FIVE = "The cat saw a dog. "
OPTIONS = {"min_words": 100, "max_overlap": 80}


def words(number: int, *, end: str = ".") -> str:
    return " ".join(f"w{at}" for at in range(number)) + end


def sample(text: str, **values: Any) -> Any:
    about = {"fields": {"domain": "story"}, "model": "gpt2", "decoder": "greedy", "number": 0, "priming": "", "id": 1}
    return SimpleNamespace(**({"context_id": "c", "context": "Once", "text": text} | about | values))


@pytest.mark.parametrize(
    ("text", "cut_to"),
    [
        (FIVE * 20 + FIVE, FIVE * 20),  # 100 words: the sentence that reaches the 100th is the last
        (words(99) + " Two words more. And more.", words(99) + " Two words more."),
        (words(99), ""),
        (FIVE * 19 + "This one never comes to an end because", ""),
        (words(120, end="!") + " Then", words(120, end="!")),
    ],
)
def test_a_text_ends_with_the_sentence_that_passes_100_words(text: str, cut_to: str) -> None:
    assert cut(text, 100) == cut_to.strip()


def test_overlap_is_the_share_of_three_word_sequences() -> None:
    """By hand: “a b c”, “b c d”, “c d e” and “d e f”; the priming text has the first three."""
    assert overlap("A b c, d e f.", "x a b c d e y") == 0.75
    assert overlap("a b c", "c b a") == 0
    assert overlap("a", "a") == 1
    assert overlap("a b c", "") == overlap("", "a b c") == 0


def test_samples_that_are_short_or_copy_the_priming_text_are_left_over() -> None:
    own = words(100)
    # 20 of 100 words are new at the end: 78 of 98 sequences are copied, 79.6 percent; with 19 it is 79 of 98, 80.6.
    copied = [f"{words(100 - new, end='')} {' '.join(f'n{at}' for at in range(new))}." for new in (20, 19)]
    samples = [
        sample(own, id=1),
        sample(words(60), id=2),
        sample(copied[0], id=3, priming=words(100)),
        sample(copied[1], id=4, priming=words(100)),
        sample("   ", id=5),
    ]
    rows, left_out = rows_from_samples(samples, OPTIONS)
    assert [row.sources for row in rows] == [(1,), (3,)]
    assert left_out == 3
    assert rows[0].cells == {
        "sample_id": "c-gpt2-greedy-0",
        "prompt": "Once",
        "text": own,
        "source": "gpt2",
        "domain": "story",
        "decoder": "greedy",
    }


def test_a_context_with_a_human_text_gives_the_human_half() -> None:
    about = {"fields": {"domain": "news", "human_text": FIVE * 21}}
    rows, left_out = rows_from_samples([sample(words(100), **about)], OPTIONS)
    assert [(row.cells["source"], row.cells["text"]) for row in rows][1] == ("human", (FIVE * 20).strip())
    assert (rows[1].sources, left_out) == ((), 0)
    with pytest.raises(Invalid, match=r"context c .* has 60 words; a text needs at least 100"):
        rows_from_samples([sample(words(100), fields={"human_text": words(60)})], OPTIONS)


# --- a file of texts by people ---


def made(*domains: str) -> list[SourceRow]:
    return [SourceRow({"source": "gpt2", "domain": domain, "text": "x"}, (1,)) for domain in domains]


def added(*rows: dict[str, str], machine: list[SourceRow]) -> tuple[list[SourceRow], list[RowProblem]]:
    empty = {"text": "", "source": "", "domain": "story", "role": ""}
    return rows_from_file(machine, [Row(at, empty | row) for at, row in enumerate(rows, start=1)], OPTIONS)


def test_texts_by_people_join_the_samples_and_are_cut_in_the_same_way() -> None:
    practice = {"text": "Short.", "role": "practice", "source": "gpt2"}
    rows, problems = added({"text": FIVE * 30}, practice, machine=made("story"))
    assert problems == []
    assert [(row.cells["source"], row.cells["text"]) for row in rows] == [
        ("human", (FIVE * 20).strip()),
        ("gpt2", "Short."),
    ]


def test_problems_of_texts_by_people_name_the_row() -> None:
    _, problems = added(
        {"text": words(63)},
        {"text": words(120, end="")},
        {"text": words(100), "source": "gpt2"},
        machine=made("story"),
    )
    assert [(each.row, each.column) for each in problems] == [(1, "text"), (2, "text"), (3, "source")]
    assert "63 words; a text needs at least 100" in problems[0].what
    assert "No sentence ends after word 100" in problems[1].what


def test_every_domain_needs_as_many_texts_by_people_as_by_machines() -> None:
    enough = {"text": words(100)}
    _, problems = added(enough, machine=made("story", "story", "news"))
    assert [each.what for each in problems] == [
        "The domain “story” has 2 machine texts and 1 by people. Half of all texts are by people.",
        "The domain “news” has 1 machine text and 0 by people. Half of all texts are by people.",
    ]
    assert "Add 1 text by people" in problems[0].fix
    _, problems = added(enough | {"domain": "stories"}, machine=made("story"))
    assert "no machine texts of “stories”" in problems[0].fix


# --- explanations that contradict the answer ---

HUMAN, MAYBE_HUMAN, MAYBE_MACHINE, MACHINE = 1.0, 2.0, 3.0, 4.0


@pytest.mark.parametrize(
    ("answer", "explanation", "words"),
    [
        (HUMAN, "It reads like a bot.", "reads like a bot"),
        (HUMAN, "I think this was clearly written by a machine", "was clearly written by a machine"),
        (HUMAN, "Nice ending, but a computer wrote this.", "a computer wrote this"),
        (MAYBE_HUMAN, "Sounds machine-generated to me.", "Sounds machine-generated"),
        (HUMAN, "It’s a bot", "It's a bot"),
        (MACHINE, "It sounds very human and has humour.", "sounds very human"),
        (MACHINE, "This is written by a real person, no doubt", "is written by a real person"),
        (MAYBE_MACHINE, "a human wrote this", "a human wrote this"),
    ],
)
def test_an_explanation_that_says_the_opposite_is_found_with_its_words(
    answer: float, explanation: str, words: str
) -> None:
    assert contradiction(answer, explanation) == words


@pytest.mark.parametrize(
    ("answer", "explanation"),
    [
        (HUMAN, "It does not read like a bot."),
        (HUMAN, "A machine would not make such a joke."),
        (HUMAN, "It is human. Unlike something written by a machine, it jokes."),
        (HUMAN, "At first I thought a machine wrote this, but the ending is witty"),
        (HUMAN, "It sounds like a human"),
        (HUMAN, "The robot in the story sounds like a machine"),
        (MAYBE_HUMAN, "Maybe it was written by a bot."),
        (MAYBE_HUMAN, "It sounds like a machine in places"),
        (MACHINE, "I would make it sound more human."),
        (MACHINE, "To make it sound like a human wrote it, I would cut the middle."),
        (MACHINE, "No human wrote this"),
        (MACHINE, "The main character is human, so give her a name"),
        (MACHINE, "If a human wrote this, it is bad."),
        (MACHINE, "It reads like a machine"),
        (MAYBE_MACHINE, "Use other words so that it is human."),
    ],
)
def test_denials_wishes_conditions_and_other_subjects_are_no_contradiction(answer: float, explanation: str) -> None:
    assert contradiction(answer, explanation) == ""
