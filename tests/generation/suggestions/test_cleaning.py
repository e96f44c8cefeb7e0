"""Cleaning of suggestions. Expected texts are written by hand from the rules in `generation.suggestions.cleaning`."""

from __future__ import annotations

import pytest

from generation.suggestions.cleaning import Cleaned, Rules, bare, clean, forbidden_word, why_no_whole_sentence

STORY = "The lighthouse had been dark for a year. Nora climbed the stairs."
LINE = "She lit the lamp with a shaking hand."
LONG = "word " * 60 + "end."

# What the model wrote, whether it ended by itself, and what the writer sees.
SHOWN = [
    (LINE, False, LINE),
    (f"  {LINE} ", False, LINE),
    (f" {LINE} Then she waited for the sh", False, LINE),
    (f"{LINE} The sea was calm.", False, LINE),
    ("No. She lit the lamp with care.", False, "No. She lit the lamp with care."),
    ("“Who is there?” she asked. Nobody", False, "“Who is there?” she asked."),
    ('"Is anybody up there?" Nobody', False, '"Is anybody up there?"'),
    ("She lit\nthe lamp.\n\nIt shone far out.", False, "She lit the lamp. It shone far out."),
    ("She lit the lamp and it shone\nChapter 2. The End.", False, "She lit the lamp and it shone"),
    ("\n\nShe lit the lamp with care.", False, "She lit the lamp with care."),
    ("She\u00a0lit\tthe   lamp with\u200b care.", False, "She lit the lamp with care."),
    ("She lit the lamp\x07 with care.\ufffd", False, "She lit the lamp with care."),
    ("She lit the lamp and went to bed", True, "She lit the lamp and went to bed"),
    (f"{STORY} {LINE}", False, LINE),
    (f"Nora climbed the stairs. {LINE}", False, LINE),
    ("Dr. Bell lit the lamp again. It", False, "Dr. Bell lit the lamp again."),
]

#: What models wrote after examples in a list, and sentences that begin with a number themselves.
ITEMS = [
    ("16. The storm came in from the sea. It", "The storm came in from the sea."),
    (" 1) The storm came in from the sea.", "The storm came in from the sea."),
    ("(2) The storm came in from the sea.", "The storm came in from the sea."),
    ("b) The storm came in from the sea.", "The storm came in from the sea."),
    ("- The storm came in from the sea.", "The storm came in from the sea."),
    ("* The storm came in from the sea.", "The storm came in from the sea."),
    ("•\u00a0The storm came in from the sea.", "The storm came in from the sea."),
    ("- 3. The storm came in from the sea.", "The storm came in from the sea."),
    ("\n\n16.\nThe storm came in from the sea.", "The storm came in from the sea."),
    ("- The storm came in from the sea\n- The ship went down", "The storm came in from the sea"),
    ("1984 was the year of the great storm.", "1984 was the year of the great storm."),
    ("1984. That was the year of the storm.", "1984. That was the year of the storm."),
    ("3.5 million people saw the storm.", "3.5 million people saw the storm."),
    ("3. 5 million people saw the storm.", "3. 5 million people saw the storm."),
    ("10 years later the storm came back.", "10 years later the storm came back."),
    ("I. The storm came in from the sea.", "I. The storm came in from the sea."),
    ("A storm (2) came in from the sea.", "A storm (2) came in from the sea."),
    ("— The storm is here, said the man.", "— The storm is here, said the man."),
    ("*Crash!* The storm came in from the sea.", "*Crash!* The storm came in from the sea."),
    ("-40 degrees is what the sailors felt.", "-40 degrees is what the sailors felt."),
]

#: What is left when a cut at a sentence end falls into a quotation; None: no mark at the end would repair it.
QUOTED = [
    ('"Don\'t go up there again. I mean it," he', '"Don\'t go up there again."'),
    ("“Don’t go up there again. I mean it,” he", "“Don’t go up there again.”"),
    ("He said, “Don’t go up there again. I", "He said, “Don’t go up there again.”"),
    ("'Don't go up there again. I mean it,' he", "'Don't go up there again.'"),
    ("‘Don’t go up there again. I mean it,’ he", "‘Don’t go up there again.’"),
    ("„Geh da nicht noch einmal hinauf. Ich", "„Geh da nicht noch einmal hinauf.“"),
    ("»Geh da nicht noch einmal hinauf. Ich", "»Geh da nicht noch einmal hinauf.«"),
    ("”Gå inte upp dit en gång till. Jag", "”Gå inte upp dit en gång till.”"),
    ("« Ne remonte plus jamais là-haut ! Je", "« Ne remonte plus jamais là-haut ! »"),
    ('"Don\'t go up there," he said.', '"Don\'t go up there," he said.'),
    ("It wasn't the sailors' fault, 'twas mine.", "It wasn't the sailors' fault, 'twas mine."),
    ("In the ’90s nobody’s lamp was as bright.", "In the ’90s nobody’s lamp was as bright."),
    ('The nail was 6" long, and it was bent.', 'The nail was 6" long, and it was bent.'),
    ('"I was there in 1984," said the old man.', '"I was there in 1984," said the old man.'),
    ("\"The sign said 'Keep out.' I did not", "\"The sign said 'Keep out.'\""),
    ("\"He told me, 'Keep out of there. I", None),
    ("“He told me. “Keep out of there.", None),
    ("Don't go up there,\" he said.", None),
    ("Don’t go up there,” he said.", None),
]

NOT_SHOWN = [
    ("", True, "nothing was written"),
    (" \n\t ", True, "nothing was written"),
    ("\u200b\x00", True, "nothing was written"),
    (STORY, True, "nothing was written"),
    ("She lit the lamp and then she", False, "no sentence ends in it"),
    ("She lit it.", True, "shorter than 20 characters"),
    ("No. Yes. She lit the lamp and", False, "shorter than 20 characters"),
    (LONG, False, "longer than 260 characters"),
]


@pytest.mark.parametrize(("raw", "ended", "expected"), SHOWN)
def test_usable_texts_are_cleaned(raw: str, ended: bool, expected: str) -> None:
    assert clean(raw, prompt=STORY, rules=Rules(), ended=ended) == Cleaned(text=expected)


@pytest.mark.parametrize(("raw", "ended", "why"), NOT_SHOWN)
def test_unusable_texts_are_refused_with_a_reason(raw: str, ended: bool, why: str) -> None:
    assert clean(raw, prompt=STORY, rules=Rules(), ended=ended) == Cleaned(why=why)


@pytest.mark.parametrize(("raw", "expected"), ITEMS)
@pytest.mark.parametrize("continues", [True, False])
def test_marks_of_list_items_are_removed_and_numbers_of_sentences_stay(
    raw: str, expected: str, continues: bool
) -> None:
    assert clean(raw, prompt=STORY, rules=Rules(continues=continues), ended=True).text == expected


def test_two_items_of_a_list_are_not_one_suggestion() -> None:
    cleaned = clean("1. The storm.\n2. The sea was calm.", prompt=STORY, rules=Rules(), ended=True)
    assert cleaned.why == "shorter than 20 characters"


def test_a_number_that_ends_the_writer_s_sentence_is_no_item() -> None:
    rules = Rules(continues=True)
    raw = "16. Then the storm came in from the sea."
    assert clean(raw, prompt=f"{STORY} She counted to", rules=rules, ended=True).text == raw
    assert clean(raw, prompt="The beginning: 1. One.\n", rules=rules, ended=True).text == raw.removeprefix("16. ")
    assert clean(raw, prompt="", rules=rules, ended=True).text == raw.removeprefix("16. ")
    assert why_no_whole_sentence(raw) == MID, "a pool text follows any story"


@pytest.mark.parametrize(("raw", "expected"), QUOTED)
def test_a_quotation_that_the_cut_left_open_is_closed(raw: str, expected: str | None) -> None:
    cleaned = clean(raw, prompt=STORY, rules=Rules(), ended=False)
    assert cleaned == (Cleaned(why=HALF) if expected is None else Cleaned(text=expected))


def test_a_quotation_is_not_closed_where_no_sentence_ends() -> None:
    assert clean('She said, "I am going', prompt=STORY, rules=Rules(), ended=True) == Cleaned(why=HALF)


@pytest.mark.parametrize(
    ("story", "raw", "expected"),
    [
        ('"I told you', ' so," she said. "Go', ' so," she said.'),
        ('"I told you so.', 'Now go away!" she said.', 'Now go away!" she said.'),
        ("“I told you", " so,” she said. “Then", " so,” she said."),
        ("„Mówiłam ci", " przecież”, powiedziała. „Idź", " przecież”, powiedziała."),
        ("“I told you so.", "Now you have to live with it.", "Now you have to live with it."),
        ('"I told you so!" ', "\"Don't you ever do that. I", '"Don\'t you ever do that."'),
        ('She had said "no".\n"I told you so.', 'Now go away!" she said.', 'Now go away!" she said.'),
    ],
)
def test_a_quotation_that_the_writer_opened_can_end_in_the_suggestion(story: str, raw: str, expected: str) -> None:
    rules = Rules(least=8, continues=True)
    assert clean(raw, prompt=story, rules=rules, ended=False) == Cleaned(text=expected.strip())


@pytest.mark.parametrize(
    ("most", "expected"),
    [(200, "One came in. Two went out. Three stayed."), (39, "One came in. Two went out."), (13, "One came in.")],
)
def test_as_many_whole_sentences_as_fit(most: int, expected: str) -> None:
    rules = Rules(least=5, most=most, one_sentence=False)

    assert clean("One came in. Two went out. Three stayed. Fo", prompt="", rules=rules, ended=False).text == expected


@pytest.mark.parametrize("length", [20, 260])
def test_both_limits_are_lengths_that_are_allowed(length: int) -> None:
    text = "a" * (length - 1) + "."

    assert clean(text, prompt="", rules=Rules(), ended=False) == Cleaned(text=text)
    assert clean("a" + text, prompt="", rules=Rules(most=length), ended=False).why
    assert clean(text[1:], prompt="", rules=Rules(least=length), ended=False).why


WORDS = "# not these\nhell\nMörder\ngo to bed\ndon't\n\n  f.o.o  "
FOUND = [
    ("Go to Hell!", "hell"),
    ("what the HELL", "hell"),
    ("hell-bent", "hell"),
    ("*hell*, _hell_", "hell"),
    ("She said hello to a seashell.", None),
    ("the morder", "Mörder"),
    ("MO\u0308RDER", "Mörder"),
    ("Mördern", None),
    ("please go  to\nbed now", "go to bed"),
    ("go to bedlam", None),
    ("I don’t know", "don't"),
    ("f.o.o bar", "f.o.o"),
    ("fxoxo", None),
    ("not these", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "word"), FOUND)
def test_words_of_the_list_are_found_as_whole_words(text: str, word: str | None) -> None:
    assert forbidden_word(text, WORDS) == word


def test_a_word_list_may_be_empty() -> None:
    assert forbidden_word("hell", "") is None
    assert forbidden_word("hell", "# only a comment\n") is None


def test_a_forbidden_word_beyond_the_cut_does_no_harm() -> None:
    rules = Rules(word_list="hell")

    assert clean(f"{LINE} Hell broke loose.", prompt="", rules=rules, ended=False).text == LINE
    assert "hell" in clean("All hell broke loose then.", prompt="", rules=rules, ended=False).why


@pytest.mark.parametrize(
    ("first", "second"),
    [("She left.", "she  left!"), ("Café au lait", "cafe au lait."), ("“No,” he said.", "no he said")],
)
def test_texts_that_read_the_same(first: str, second: str) -> None:
    assert bare(first) == bare(second)
    assert bare(first) != bare("He stayed.")


MID = "begins in the middle of a sentence"
NO_MARK = "does not end with the mark of a sentence's end"
HALF = "has a quotation mark without its partner"
#: The first three are what the packaged model wrote after “…nobody said a word. Then” and “In the end,”.
WHOLE = [
    (", suddenly, everything started to shift.", MID),
    ("they chose to dive into a world of contradictions.", MID),
    ("'s an old man, had been sent to collect some numbers.", MID),
    ("…and then it rained.", MID),
    ("“and then it rained,” she said.", MID),
    ("Then it rained", NO_MARK),
    ("Then it rained,", NO_MARK),
    ('I put my hands on their shoulders and said, "I am here for you.', HALF),
    ("“Lady Mireteau, you’re so lucky to have us.", HALF),
    ("'There's something here.", HALF),
    ("'There's something here,' she said.", ""),
    ("„Es hat geregnet“, sagte sie.", ""),
    ("„Sie sagte: ‚Es hat geregnet‘“, sagte er.", ""),
    ("»Sie sagte: ›Es hat geregnet‹«, sagte er.", ""),
    ("Sie sagte: ‚Es hat geregnet!‘ Dann ging sie.", ""),
    ("„Padało”, powiedziała.", ""),
    ("”Det regnade”, sa hon.", ""),
    ("Hän sanoi: ”Satoi.” Sitten hän lähti.", ""),
    ("»Det regnade», sa hon. »Ja.»", ""),
    ("« Il a dit “il pleuvait” », répondit-elle.", ""),
    ("”Det regnade, sa hon.", HALF),
    ("„Es hat geregnet.“", ""),
    ("»Es hat geregnet!« »Ja.«", ""),
    ("«and then it rained», she said.", MID),
    ("‘Er, I don’t know,’ she said.", ""),
    (") and then it rained.", MID),
    ("、然后下雨了。", MID),
    ("<b>Bold</b> was the fox.", ""),
    ("Then it rained.", ""),
    ("“Who is there?” she asked.", ""),
    ('"There he goes!"', ""),
    ("— Then it rained…", ""),
    ("¿Quién es?", ""),
    ("2 days later they were able to talk.", ""),
    ("然后下雨了。", ""),
    ("「然后下雨了。」", ""),
]


@pytest.mark.parametrize(("text", "why"), WHOLE)
def test_a_text_for_any_story_is_a_whole_sentence(text: str, why: str) -> None:
    assert why_no_whole_sentence(text) == why


@pytest.mark.parametrize(
    ("prompt", "why"), [("It rained.", MID), ("“It rained!” ", MID), ("It rained and", ""), ("Next line:", "")]
)
def test_a_suggestion_continues_a_sentence_only_if_the_writer_has_not_ended_it(prompt: str, why: str) -> None:
    raw = ", suddenly, everything started to shift."
    assert clean(raw, prompt=prompt, rules=Rules(continues=True), ended=False).why == why
    assert clean(raw, prompt=prompt, rules=Rules(), ended=False).why == ""
