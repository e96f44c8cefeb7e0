"""Rules about free texts, without and with the language model. Cases by hand."""

from __future__ import annotations

import pytest

from analysis.quality_control import language, texts
from analysis.quality_control.rules import Settings, find_in, find_in_words
from analysis.quality_control.work import Work, WrittenText

SHOWN = "The quick brown fox jumps over the lazy dog in the garden."
MASHED = "asdkjh qwoeiu zxmnb fghjk lkjhg poiuq wertz"


def work(text: str, *sources: str) -> Work:
    return Work(texts=[WrittenText(text, 0, "own", sources)])


def reasons(text: str, *sources: str, **settings: object) -> list[str]:
    return [found.reason for found in find_in(work(text, *sources), Settings.of(settings))]


def later(text: str, **settings: object) -> list[str]:
    return [found.reason for found in find_in_words(work(text), Settings.of(settings))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I would rather stay at home.", []),
        ("The quick brown fox jumps over the lazy dog in the garden", ["copied"]),
        ("BROWN fox, jumps over the lazy", ["copied"]),
        ("brown fox jumps over", []),
        ("rown fox jumps over the lazy", []),
        ("no idea", ["too_short"]),
        ("ok", ["too_short"]),
        ("12 34 56", ["gibberish"]),
        ("good good good good", ["gibberish"]),
        ("aaa aaa aaaaa", ["gibberish"]),
        ("🦉 🦉 🦉", ["too_short", "gibberish"]),
    ],
)
def test_flags_of_a_written_text(text: str, expected: list[str]) -> None:
    assert reasons(text, "Something else.", SHOWN) == expected


def test_the_share_that_is_copied_counts() -> None:
    text = "I think the quick brown fox jumps over a fence"  # 6 of 10 words: the quick brown fox jumps over
    [found] = texts.copied(work(text, SHOWN), 0.6)
    assert found.value == pytest.approx(0.6)
    assert list(texts.copied(work(text, SHOWN), 0.61)) == []


@pytest.mark.parametrize(
    ("first", "second", "run"),
    [
        ("a b c d e", "x a b c d e y", 5),
        ("a b c d", "a b c d", 0),
        ("a b c d e f g", "a b c d e x b c d e f g", 6),
        ("a a a a a a", "a a a a a a a a", 6),
        ("", "a b c d e", 0),
    ],
)
def test_the_longest_common_run_of_words(first: str, second: str, run: int) -> None:
    assert texts.common_run(first.split(), second.split()) == run


def test_a_question_that_asks_for_less_may_get_less() -> None:
    short = Work(texts=[WrittenText("Never", 0, "own", least_words=1)])
    assert list(texts.too_short(short, 3)) == []
    assert [found.threshold for found in texts.too_short(work("Not ever"), 3)] == [3]
    assert list(texts.too_short(work("Not ever"), 2)) == []


def test_few_different_ideographs_are_not_gibberish() -> None:
    assert not texts.is_meaningless("好好好看看好好")
    assert texts.is_meaningless("hahahahahaha")


# --- with the model and the word lists ---


@pytest.mark.parametrize(
    "text",
    [
        "I would rather wait until tomorrow and ask somebody who knows.",
        "lol idk maybe they should of asked first",
        "ok",
        "Gracias amigo",
        "Xiomara and Thandiwe met Bartholomew in Ouagadougou last Tuesday.",
        "i dont realy no wat to rite abuot this pictur",
        "¿?",
    ],
)
def test_short_sloppy_and_named_english_is_left_alone(text: str) -> None:
    assert later(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "No sé qué decir, pero creo que mañana lloverá en toda la ciudad.",
        "Ich weiß es nicht, aber morgen regnet es bestimmt in der ganzen Stadt.",
        "Je ne sais pas quoi dire, mais il pleuvra demain dans toute la ville.",
        "我不知道该说什么，但是明天整个城市都会下雨。",
        "Я не знаю, что сказать, но завтра во всём городе будет дождь.",
    ],
)
def test_another_language_is_found_unless_the_study_uses_it(text: str) -> None:
    assert later(text) == ["language"]
    assert later(text, languages=["en", "es", "de", "fr", "zh", "ru"]) == []


def test_unknown_words_are_gibberish_and_not_another_language() -> None:
    assert later(MASHED) == ["gibberish"]
    [found] = find_in_words(work(MASHED), Settings.of({}))
    assert found.value >= 0.6
    assert found.place == "0.own"


def test_both_rules_can_be_switched_off_or_have_no_language() -> None:
    assert later(MASHED, gibberish=None) == []
    assert later("No sé qué decir, pero creo que mañana lloverá en la ciudad.", language=None, gibberish=None) == []
    assert later(MASHED, languages=[]) == []


def test_a_language_without_a_word_list_is_judged_by_the_model_alone() -> None:
    assert language.unknown_share(["dom", "kot"], "pl") is None
    polish = "Nie wiem, co powiedzieć, ale jutro w całym mieście będzie padać deszcz."
    assert later(polish, languages=["pl"]) == []
    assert later(polish) == ["language"]
