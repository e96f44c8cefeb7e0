"""Sentence ends and echoes. The sentences are ordinary English punctuation, judged by hand."""

from __future__ import annotations

import pytest

from generation.decoding.sentences import first_sentence_end, without_echo


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("He ran. She stayed.", "He ran."),
        ("What now? Nobody knew.", "What now?"),
        ("Really?! Yes.", "Really?!"),
        ("Dr. Smith and Mrs. Jones left. Then", "Dr. Smith and Mrs. Jones left."),
        ("I like J. R. Smith. Yes.", "I like J. R. Smith."),
        ("So did I. Then he left.", "So did I."),
        ("It cost 3.50 dollars. Cheap.", "It cost 3.50 dollars."),
        ("We met at 5 p.m. on Monday. It rained.", "We met at 5 p.m. on Monday."),
        ("Bring tea, e.g. Assam. Thanks.", "Bring tea, e.g. Assam."),
        ("See No. 5. It is red.", "See No. 5."),
        ("He works in the U.S. She does not.", "He works in the U.S."),
        ("Well... maybe not. No.", "Well... maybe not."),
        ("Well... He left.", "Well..."),
        ("Well… maybe not. No.", "Well… maybe not."),
        ('"Stop!" she said. He went.', '"Stop!" she said.'),
        ('She said "Stop." He went.', 'She said "Stop."'),
        ("“Go on.” He did.", "“Go on.”"),
        ("(It rained.) We left.", "(It rained.)"),
        ("A title\n\nAnd a text.", "A title"),
        ("A title\n \t\nAnd a text.", "A title"),
        ("A title \n\nAnd a text.", "A title"),
        ("One line.\nAnother", "One line."),
        ("We met at 5 p.m.\nthen it rained.", "We met at 5 p.m."),
        ("visit example.com today. Bye.", "visit example.com today."),
        ("今日は晴れ。明日は雨。", "今日は晴れ。"),
    ],
)
def test_first_sentences(text: str, sentence: str) -> None:
    end = first_sentence_end(text)
    assert end is not None and text[:end] == sentence


@pytest.mark.parametrize("text", ["no end here", "", "3.", "Dr.", "wait for it...", 'She said "Stop."', "the end."])
def test_a_mark_at_the_end_waits_for_what_comes_next(text: str) -> None:
    assert first_sentence_end(text, complete=False) is None


@pytest.mark.parametrize("text", ["Well… ", "Well... ", "Dr. ", "the U.S. ", '"Stop." '])
def test_a_space_is_not_enough_after_a_word_that_may_continue(text: str) -> None:
    assert first_sentence_end(text, complete=False) is None


@pytest.mark.parametrize("text", ["Well…", "We met at 5 p.m.", '"Stop."', "He left."])
def test_a_new_line_after_a_mark_ends_the_sentence_while_the_text_grows(text: str) -> None:
    assert first_sentence_end(f"{text}\n", complete=False) == len(text)


@pytest.mark.parametrize("text", ["the end.", 'She said "Stop."', "It is 3."])
def test_a_complete_text_ends_its_sentence(text: str) -> None:
    assert first_sentence_end(text) == len(text)


def test_while_a_text_grows_the_end_found_first_is_the_end_of_the_whole() -> None:
    """What the engine relies on: no text is cut where reading on would have shown another end."""
    text = 'Dr. A. Lee paid 3.5 dollars "for tea." He left... quickly! "Why?" she asked. Nobody (e.g. me) knew. End.'
    for rest in (text[start:] for start in range(0, len(text), 3)):
        sentence_end = first_sentence_end(rest)
        growing = (first_sentence_end(rest[:length], complete=False) for length in range(len(rest) + 1))
        first = next((end for end in growing if end is not None), None)
        assert first in (sentence_end, None)


def test_least_words() -> None:
    text = "One two three. Four five six. Seven."
    assert text[: first_sentence_end(text, min_words=4) or 0] == "One two three. Four five six."
    assert text[: first_sentence_end(text, min_words=3) or 0] == "One two three."  # just as many are enough
    assert text[: first_sentence_end(text, min_words=6) or 0] == "One two three. Four five six."
    assert first_sentence_end(text, min_words=8) is None


@pytest.mark.parametrize(
    ("text", "prompt", "rest"),
    [
        ("Once upon a time there was a dog. It ran.", "Once upon a time there was a dog.", "It ran."),
        ("once  upon a TIME it ran", "Tell a story. Once upon a time", "it ran"),
        ("The end. It rained.", "First line\nThe end.", "It rained."),
        ("the dog ran home", "I saw the dog", "the dog ran home"),  # two words are no echo
        ("a small dog ran home", "I once saw a small dog", "a small dog ran home"),  # nor are three
        ("saw a small dog run", "I once saw a small dog", "run"),  # four are
        ("ho ho ho ho ho it ran", "ho ho ho ho ho", "it ran"),  # the longest echo goes
        ("It ran.", "Once upon a time", "It ran."),
        ("", "Once", ""),
        ("It ran.", "", "It ran."),
        ("Once upon a time", "Once upon a time", ""),
    ],
)
def test_echoes(text: str, prompt: str, rest: str) -> None:
    assert without_echo(text, prompt) == rest
