"""Decoders as data: names, ranges, sweeps. Expected values are worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from generation.decoding.decoders import Decoder, DecoderError, Limits, expand_decoders, parse_decoder


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("greedy", "greedy"),
        ("ancestral", "ancestral"),
        ("temperature=1", "ancestral"),
        (" temperature = 0.70 ", "temperature=0.7"),
        ("top_k=40", "top_k=40"),
        ("top_k=40.0", "top_k=40"),
        ("top_p=.9", "top_p=0.9"),
        ("typical=0.2", "typical=0.2"),
        ("beam=4", "beam=4"),
        ("top_p=0.9,temperature=0.7", "temperature=0.7,top_p=0.9"),
        ("temperature=0.1234567", "temperature=0.123457"),
        ("min_p=0.05", "min_p=0.05"),
        ("top_p=0.9,top_k=40", "top_k=40,top_p=0.9"),
        ("repetition_penalty=1.2,temperature=0.7", "temperature=0.7,repetition_penalty=1.2"),
        ("greedy, repetition_penalty=1.2", "greedy,repetition_penalty=1.2"),
        ("top_p=0.9,repetition_penalty=1", "top_p=0.9"),
    ],
)
def test_a_decoder_has_one_name_which_is_read_back(text: str, name: str) -> None:
    decoder = parse_decoder(text)
    assert decoder.name == name
    assert parse_decoder(name) == decoder


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("foo", "is not a decoder. Known: greedy"),
        ("", "is not a decoder"),
        ("top_q=0.9", "is not a decoder"),
        ("top_p=1.2", "top_p is 1.2; use a number above 0 and at most 1"),
        ("top_p=0", "above 0"),
        ("top_p=x", "'x' is not a number"),
        ("temperature=0", "For temperature 0, use greedy"),
        ("temperature=nan", "finite"),
        ("temperature=1e400", "finite"),
        ("top_k=0", "from 1 to"),
        ("top_k=2.5", "whole number"),
        ("beam=1", "for one, use greedy"),
        ("beam=1000", "from 2 to 64"),
        ("top_p=0.9,typical=0.9", "one of top_k, top_p, typical, min_p, or top_k with top_p"),
        ("top_k=5,min_p=0.1", "top_k and min_p together"),
        ("min_p=0", "min_p is 0; use a number above 0 and at most 1"),
        ("repetition_penalty=0", "use 0.1 to 10. 1 changes nothing"),
        ("beam=4,repetition_penalty=1.2", "beam takes no repetition_penalty; greedy does"),
        ("greedy,top_p=0.9", "draw nothing at random"),
        ("top_p=0.9,greedy", "is not a decoder"),
        ("top_p=0.5,top_p=0.6", "gives top_p twice"),
        ("beam=2,temperature=0.5", "draw nothing at random"),
    ],
)
def test_invalid_decoders_are_explained(text: str, part: str) -> None:
    with pytest.raises(DecoderError, match=part):
        parse_decoder(text)


def names(*entries: Any) -> list[str]:
    return [decoder.name for decoder in expand_decoders(entries)]


def test_a_linear_sweep_has_both_ends_and_equal_steps() -> None:
    expanded = names({"temperature": {"from": 0.2, "to": 1.2, "steps": 6}})
    assert expanded == [f"temperature={value}" for value in ("0.2", "0.4", "0.6", "0.8")] + [
        "ancestral",
        "temperature=1.2",
    ]


def test_a_log_sweep_has_equal_factors_and_names_a_whole_number_once() -> None:
    assert names({"top_k": {"from": 1, "to": 1000, "steps": 4, "scale": "log"}}) == [
        "top_k=1",
        "top_k=10",
        "top_k=100",
        "top_k=1000",
    ]
    assert names({"top_k": {"from": 1, "to": 3, "steps": 9, "scale": "log"}}) == ["top_k=1", "top_k=2", "top_k=3"]


def test_the_published_sweep_of_temperatures_has_a_hundred_decoders() -> None:
    expanded = names({"temperature": {"from": 0.2, "to": 1.2, "steps": 100}})  # Tevet & Berant 2021
    assert len(set(expanded)) == 100
    assert (expanded[0], expanded[-1]) == ("temperature=0.2", "temperature=1.2")


def test_a_sweep_can_have_a_fixed_temperature_and_drops_repeats() -> None:
    assert names("greedy", {"temperature": 0.7, "top_p": {"from": 0.5, "to": 1, "steps": 2}}, "greedy") == [
        "greedy",
        "temperature=0.7,top_p=0.5",
        "temperature=0.7,top_p=1",
    ]


@pytest.mark.parametrize(
    ("entry", "part"),
    [
        ({"temperature": {"from": 0.2, "to": 1.2}}, "takes from, to, steps and scale"),
        ({"temperature": {"from": 0.2, "to": 1.2, "steps": 1}}, "2 to 1000 steps"),
        ({"temperature": {"from": 1.2, "to": 0.2, "steps": 3}}, "from is below to"),
        ({"temperature": {"from": 0, "to": 1, "steps": 3, "scale": "log"}}, "above 0 for log"),
        ({"temperature": {"from": "a", "to": 1, "steps": 3}}, "both take a number"),
        ({"temperature": {"from": 0.1, "to": 1, "steps": 3, "scale": "cubic"}}, "linear or log"),
        ({"top_p": {"from": 0.5, "to": 1.5, "steps": 3}}, "top_p is 1.5"),
        ({"foo": {"from": 1, "to": 2, "steps": 3}}, "is not a decoder"),
        ({"temperature": 1}, "exactly one parameter"),
        (7, "neither a decoder's name nor a sweep"),
    ],
)
def test_the_error_of_an_invalid_sweep_names_its_entry(entry: Any, part: str) -> None:
    with pytest.raises(DecoderError, match=part) as raised:
        expand_decoders(["greedy", entry])
    assert "entry 2" in str(raised.value)


@pytest.mark.parametrize("entries", [[], "greedy", {"top_p": 0.9}, None])
def test_decoders_are_a_list(entries: Any) -> None:
    with pytest.raises(DecoderError, match="a list with at least one decoder"):
        expand_decoders(entries)


def test_only_decoders_that_sample_have_a_distribution() -> None:
    assert parse_decoder("top_p=0.9").samples
    assert not parse_decoder("greedy").samples
    assert not parse_decoder("beam=3").samples


def test_the_parameter_is_the_only_one() -> None:
    assert parse_decoder("top_k=40").parameter == ("top_k", 40.0)
    assert parse_decoder("temperature=0.7,top_k=40").parameter is None
    assert parse_decoder("greedy").parameter is None


def test_exact_overrules_the_other_limits() -> None:
    limits = Limits(exact=30)
    assert (limits.least, limits.most) == (30, 30)
    assert (Limits(max_new_tokens=9, min_new_tokens=2).least, Limits(max_new_tokens=9).most) == (2, 9)


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"max_new_tokens": 2.5}, "whole number"),
        ({"min_new_tokens": 70}, "above max_new_tokens"),
        ({"stop": "word"}, "'sentence' or nothing"),
        ({"exact": 30, "stop": "sentence"}, "cannot also stop"),
        ({"min_words": -1}, "min_words is -1"),
        ({"exact": True}, "exact is True"),
    ],
)
def test_invalid_limits_are_refused(values: dict[str, Any], part: str) -> None:
    with pytest.raises(DecoderError, match=part):
        Limits(**values)


def test_a_decoder_of_wrong_types_is_refused() -> None:
    with pytest.raises(DecoderError, match="not a finite number"):
        Decoder(temperature=True)


@pytest.mark.parametrize("strings", ["###", [""], [3], ("a", None)])
def test_texts_that_stop_a_text_are_a_list_of_texts(strings: Any) -> None:
    with pytest.raises(DecoderError, match="use a list of texts that are not empty"):
        Limits(stop_strings=strings)


def test_an_exact_number_of_tokens_has_no_texts_that_stop_it() -> None:
    with pytest.raises(DecoderError, match="cannot also stop"):
        Limits(exact=30, stop_strings=("###",))
    assert Limits(stop_strings=["###"]).stop_strings == ("###",)  # type: ignore[arg-type]
