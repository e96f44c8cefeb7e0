"""Entities of a story: found by hand-tagged words and by HanTa, and put into prompts."""

from __future__ import annotations

import pytest

from analysis.tagging import Tagged
from common.problems import Invalid
from generation.decoding.entities import described, entities_in
from generation.decoding.prompts import TemplateError, fields_of, longest_prompt, make_prompt
from tests.generation.support.run_factories import make_file

STORY = (
    "An old fisherman lived by the sea. Anna Brown wanted a red boat. "
    "Anna found a boat, and the fisherman smiled at her."
)
_TAGS = {"an": "DET", "the": "DET", "a": "DET", "old": "ADJ", "red": "ADJ", "fisherman": "NOUN", "sea": "NOUN",
         "boat": "NOUN", "anna": "PROPN", "brown": "PROPN", "her": "PRON"}  # fmt: skip


def tag(text: str) -> list[Tagged]:
    words = text.replace(".", " .").replace(",", " ,").split()
    return [Tagged(word, word.lower(), _TAGS.get(word.lower(), "X")) for word in words]


def test_mentions_with_one_head_are_one_entity_in_the_order_of_their_last_mentions() -> None:
    assert [entity.mentions for entity in entities_in(STORY, tag)] == [
        ["the sea"],
        ["Anna Brown", "Anna"],
        ["a red boat", "a boat"],
        ["An old fisherman", "the fisherman"],
    ]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("first", "the sea; Anna Brown; a red boat; An old fisherman"),
        ("last", "the sea; Anna; a boat; the fisherman"),
        (
            "first_and_last",
            "the sea; Anna Brown (last: Anna); a red boat (last: a boat); An old fisherman (last: the fisherman)",
        ),
    ],
)
def test_first_and_last_mentions(mode: str, expected: str) -> None:
    assert described(STORY, mode, tag) == expected
    assert described("It rained.", mode, tag) == "none"


def test_a_template_names_the_entities_that_the_tagger_finds() -> None:
    fields = {"story": STORY, "topic": "x"}
    prompt, keep = make_prompt("{entities:last}\n\n{story}", fields, "PRIMING")
    assert prompt == f"PRIMING\n\nthe sea; Anna; a boat; the fisherman\n\n{STORY}" and keep == 9
    assert fields_of("{entities} {story} {entities:first}") == ["story"]
    assert longest_prompt("{entities}{story}", fields) >= len(make_prompt("{entities}{story}", fields)[0])


def test_what_cannot_be_filled_is_refused() -> None:
    with pytest.raises(TemplateError, match=r"\{entities:middle\} has an unknown mode; write \{entities\}, or one of"):
        fields_of("{entities:middle} {story}")
    with pytest.raises(TemplateError, match="made of a field story, context, prompt, and the context has none"):
        make_prompt("{entities} {topic}", {"topic": "rain"})
    with pytest.raises(Invalid) as error:
        make_file(template="{entities:middle} {context}")
    assert "unknown mode" in str(error.value)


def test_a_run_has_the_entities_in_its_prompts() -> None:
    file = make_file(template="story_entities", contexts=[STORY])
    assert file.contexts[0].prompt.startswith("In this story so far: the sea; Anna Brown (last: Anna); a red boat")
    assert file.contexts[0].prompt.endswith(f"\n\n{STORY}")
