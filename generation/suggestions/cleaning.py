"""Turns what a model wrote into what a writer sees: a clean line of whole sentences, or the reason why there is none.

The steps, in this order: remove the prompt's echo, unprintable characters and the number or bullet of a list, replace
white space with single spaces, cut the text at a sentence end, close a quotation that the cut left open, check the
length, and check for words from the list.

**Numbers of a list.** A model that was shown a list continues with “16. …” or “- …”. A writer asked for a text and not
for an item, so the mark is removed, and so are the next items. A number that begins a sentence stays: “1984 was …”,
“3.5 million …”, “10 years later …”; and so does one that ends the writer's own sentence (“He counted to” + “16. Then”).

**Open quotations.** “"Don't do that.” is what a cut at a sentence end leaves of a longer speech. A writer expects a
speech to end with its mark, and nobody can tell where else the model would have ended it, so the mark is added at the
cut. To draw again instead would cost the writer another second, and would remove speeches from the suggestions of
models that write long ones. If more than one mark is missing, if one has no beginning, or if the text does not end with
a sentence, adding a mark would be a guess, so it is drawn again. What the model wrote is stored unchanged beside it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from generation.decoding.quotations import has_whole_quotations, with_closed_quotation
from generation.decoding.sentences import begins_sentence, ends_sentence, first_sentence_end, without_echo

EMPTY = "nothing was written"
NO_END = "no sentence ends in it"
TOO_SHORT = "shorter than {least} characters"
TOO_LONG = "longer than {most} characters"
MID_SENTENCE = "begins in the middle of a sentence"
NO_MARK = "does not end with the mark of a sentence's end"
HALF_QUOTED = "has a quotation mark without its partner"
# “16. ”, “1) ”, “(2) ”, “a) ”, “- ”, “* ”, “• ”. Dashes begin a speech in many languages, so they are not bullets.
_ITEM = re.compile(r"\s*(?:(?:\d{1,2}\.(?!\s*\d)|\(?(?:\d{1,2}|[A-Za-z])\)|[-*+•◦▪‣·])\s+)+(?=\S)")
_NEXT_ITEM = re.compile(rf"\n{_ITEM.pattern}")
FORBIDDEN = "contains “{word}”, which is on the word list"


@dataclass(frozen=True)
class Rules:
    """The rules for a suggestion. Characters are counted as on the writer's page, including spaces.

    ``one_sentence``: the first sentence, or the first few if one is too short; otherwise as many whole sentences as
    fit. ``continues``: the text continues a story, so it begins a sentence if the story has just ended one.
    ``word_list`` has one word or phrase per line; lines that begin with # are comments.
    """

    least: int = 20
    most: int = 260
    one_sentence: bool = True
    continues: bool = False
    word_list: str = ""


@dataclass(frozen=True)
class Cleaned:
    """The text, or why there is none: exactly one of the two is empty."""

    text: str = ""
    why: str = ""


def clean(raw: str, *, prompt: str, rules: Rules, ended: bool) -> Cleaned:
    """The part of ``raw`` that a writer may see. ``ended``: the model ended the text by itself, so its last word is an
    end too, with or without a full stop."""
    story = (prompt.strip().splitlines() or [""])[-1] if rules.continues else ""
    # Without control and format characters, and without the mark that a token leaves for half a character.
    text = "".join(
        character
        for character in without_echo(raw, prompt)
        if character in "\n\t" or (unicodedata.category(character) not in ("Cc", "Cf") and character != "\ufffd")
    )
    # Up to the next item of a list, and without the mark of an item at its beginning, unless the writer's sentence
    # continues there.
    if (not story or ends_sentence(story)) and _ITEM.match(text):
        text = _ITEM.sub("", text, count=1)
    next_item = _NEXT_ITEM.search(text.lstrip())
    if next_item:
        text = text.lstrip()[: next_item.start()]
    if not text.strip():
        return Cleaned(why=EMPTY)
    text = _whole_sentences(text, rules, ended=ended)
    if not text:
        return Cleaned(why=NO_END)
    if ends_sentence(story) and not begins_sentence(text):
        return Cleaned(why=MID_SENTENCE)
    closed = with_closed_quotation(text, before=story)
    if not closed or (closed != text and not ends_sentence(text)):
        return Cleaned(why=HALF_QUOTED)
    text = closed
    if len(text) < rules.least:
        return Cleaned(why=TOO_SHORT.format(least=rules.least))
    if len(text) > rules.most:
        return Cleaned(why=TOO_LONG.format(most=rules.most))
    word = forbidden_word(text, rules.word_list)
    return Cleaned(why=FORBIDDEN.format(word=word)) if word else Cleaned(text=text)


def clean_answer(raw: str, *, word_list: str) -> Cleaned:
    """An answer in a conversation, whole and with its lines, without characters that no page can show."""
    text = "".join(
        character
        for character in raw
        if character in "\n\t\u200c\u200d"  # joiners, which some scripts and emoji need
        or (unicodedata.category(character) not in ("Cc", "Cf") and character != "\ufffd")
    ).strip()
    if not text:
        return Cleaned(why=EMPTY)
    word = forbidden_word(text, word_list)
    return Cleaned(why=FORBIDDEN.format(word=word)) if word else Cleaned(text=text)


def why_no_whole_sentence(text: str) -> str:
    """Why a text cannot stand after any story, whatever its last word is; empty if it can."""
    if not begins_sentence(text) or _ITEM.match(text):
        return MID_SENTENCE
    if not ends_sentence(text):
        return NO_MARK
    return "" if has_whole_quotations(text) else HALF_QUOTED


def bare(text: str) -> str:
    """The words alone. Two suggestions with the same words differ only in case, accents and punctuation."""
    return " ".join(re.findall(r"\w+", _plain(text)))


def forbidden_word(text: str, word_list: str) -> str | None:
    """The first word or phrase of the list that the text contains as a whole word, as the list spells it.

    Case, accents and typographic apostrophes make no difference. A word inside a longer one does not count; one next to
    a hyphen, an asterisk or an underscore does. Languages without spaces between words need another filter.
    """
    entries, pattern = _compiled(word_list)
    match = pattern.search(_plain(text)) if pattern else None
    return entries[" ".join(match[0].split())] if match else None


def _whole_sentences(text: str, rules: Rules, *, ended: bool) -> str:
    """The text up to an end that makes it long enough, or else up to its last end; empty if it has none.

    An end is the end of a sentence, of a line, or of the whole text if the model ended it. Nothing after a line that is
    long enough is used, because there the model began something else.
    """
    lines = [line for line in (" ".join(raw_line.split()) for raw_line in text.splitlines()) if line]
    text = " ".join(lines)
    line_ends = [length - 1 for length in accumulate(len(line) + 1 for line in lines[:-1])]
    last = next((end for end in line_ends if end >= rules.least), len(text))
    every_end = {*line_ends, *([len(text)] if ended else [])}
    start = 0
    while length := first_sentence_end(text[start:]):
        start += length
        every_end.add(start)
    ends = sorted(end for end in every_end if end <= last)
    long_enough = [end for end in ends if end >= rules.least]
    if not long_enough:
        return text[: ends[-1]] if ends else ""
    fitting = [end for end in long_enough if end <= rules.most]
    return text[: fitting[-1] if fitting and not rules.one_sentence else long_enough[0]]


def _plain(text: str) -> str:
    """Folded case, no accents, straight apostrophes."""
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in apart if not unicodedata.combining(character)).replace("\u2019", "'")


@lru_cache(maxsize=64)
def _compiled(word_list: str) -> tuple[dict[str, str], re.Pattern[str] | None]:
    """Entries by their plain form, and the pattern that finds them; longer ones first."""
    lines = (line.strip() for line in word_list.splitlines())
    entries = {" ".join(_plain(line).split()): line for line in lines if line and not line.startswith("#")}
    if not entries:
        return {}, None
    longest_first = sorted(entries, key=len, reverse=True)
    words = "|".join(r"\s+".join(re.escape(word) for word in entry.split()) for entry in longest_first)
    return entries, re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])")
