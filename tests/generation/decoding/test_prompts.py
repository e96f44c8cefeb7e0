"""Prompts from templates, and the built-in templates of the published studies."""

from __future__ import annotations

import pytest

from generation.decoding.decoders import Limits
from generation.decoding.prompts import BUILT_IN, TemplateError, fields_of, fill, first_words, make_prompt
from generation.decoding.seeds import sample_seed

HERE = {"context": "It rained.", "name": "Ada"}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{context}", "It rained."),
        ("{name}: {context} {name}", "Ada: It rained. Ada"),
        ("{ context }", "It rained."),
        ("{{{context}}}", "{It rained.}"),
        ("a }} b {{ {name}", "a } b { Ada"),
    ],
)
def test_fields_are_filled_in_and_doubled_braces_are_braces(template: str, expected: str) -> None:
    assert fill(template, HERE) == expected


def test_what_a_field_holds_is_never_read_as_a_template() -> None:
    assert fill("{context}", {"context": "{name} {{x}}"}) == "{name} {{x}}"


def test_an_unknown_field_is_named_with_the_known_ones() -> None:
    with pytest.raises(TemplateError, match=r"uses \{story\}, \{x\}.* its fields: \{context\}, \{name\}\."):
        fill("{story}{context}{x}", HERE)


@pytest.mark.parametrize(("template", "position"), [("a { b", 3), ("a } b", 3), ("{a{b}}", 1), ("{}", 1), ("{ }x", 1)])
def test_a_lone_brace_and_a_field_without_a_name_are_reported_with_their_position(template: str, position: int) -> None:
    with pytest.raises(TemplateError, match=f"character {position} "):
        fields_of(template)


def test_the_priming_text_comes_first_and_is_kept() -> None:
    assert make_prompt("{context}", HERE, "Be kind.") == ("Be kind.\n\nIt rained.", 10)
    assert make_prompt("{context}", HERE, "Be kind.\n") == ("Be kind.\nIt rained.", 9)
    assert make_prompt("{context}", HERE) == ("It rained.", 0)


def test_braces_of_a_priming_text_are_text() -> None:
    assert make_prompt("{name}", HERE, "{x}\n")[0] == "{x}\nAda"


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, "  One"), (3, "  One two,\nthree"), (4, "  One two,\nthree four."), (9, "  One two,\nthree four.")],
)
def test_the_first_words_of_a_text(count: int, expected: str) -> None:
    assert first_words("  One two,\nthree four.", count) == expected


def test_the_built_in_templates_have_possible_limits_and_known_fields() -> None:
    assert {"story", "reply", "prompt_completion", "continuation", "detection"} <= set(BUILT_IN)
    for name, built_in in BUILT_IN.items():
        Limits(**built_in.limits)
        assert fields_of(built_in.template) == ["prompt" if name == "detection" else "context"]
    # Zhang et al. 2020, section 4.1: 20 words, then 30 tokens; Clark 2021, ch. 6: 100 words, then the sentence's end.
    assert (BUILT_IN["continuation"].first_words, BUILT_IN["continuation"].limits) == (20, {"exact": 30})
    assert BUILT_IN["detection"].limits["min_words"] == 100
    assert BUILT_IN["detection"].limits["stop"] == "sentence"


def test_a_sample_s_seed_is_known_and_its_own() -> None:
    # The first 8 bytes of sha256sum over [1,"a","m","greedy",0], without the last bit.
    assert sample_seed(1, "a", "m", "greedy", 0) == 0x2C4742E0BFD50F40
    seeds = {
        sample_seed(*of)
        for of in [(1, "a", "m", "d", 0), (2, "a", "m", "d", 0), (1, "b", "m", "d", 0), (1, "a", "n", "d", 0),
                   (1, "a", "m", "e", 0), (1, "a", "m", "d", 1), (1, "am", "", "d", 0)]
    }  # fmt: skip
    assert len(seeds) == 7
    assert all(0 <= seed < 2**63 for seed in seeds)
