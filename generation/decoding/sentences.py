"""Where sentences end in generated text, and how much of a text only repeats the prompt.

Rules instead of a model: they run on every token of every live suggestion, and they are the same on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from common.text_length import count_words

# A sentence ends with one or more of these marks, any closing quotes or brackets, and then white space. Chinese and
# Japanese marks need no space after them. Marks that open a quotation in one language close it in another: „So.“ »So.«
_END = re.compile(r"(?P<mark>[.!?…]+|[。！？]+)(?P<close>[\"'”’»›“‘«‹)\]」』]*)")
_WIDE = "。！？"
_OPENING = "\"'“”‘‚«»‹›„([「『¿¡–— "
_AFTER_WORDS = ",;:.!?…)]}”’»%&/，、。！？；："
_BLANK_LINE = re.compile(r"\S[^\S\n]*(\n[^\S\n]*\n)")
_WORD = re.compile(r"[^\s(\[\"'“‘«]*$")
# Written with a full stop, and hardly ever the last word of a sentence.
_TITLES = frozenset(
    [
        "mr", "mrs", "ms", "mx", "dr", "prof", "rev", "hon", "st", "sr", "jr", "gen", "col", "capt", "cpt", "lt",
        "sgt", "maj", "cmdr", "adm", "gov", "sen", "rep", "pres", "messrs", "mme", "mlle", "vs", "viz", "cf", "al",
        "approx", "fig", "figs", "eq", "eqs", "sec", "ch", "vol", "nos", "pp", "ed", "eds", "dept", "univ", "e.g",
        "i.e",
    ]
)  # fmt: skip
# Also written with a full stop, but these can end a sentence: they do if a capital letter follows.
_SHORT = frozenset(
    [
        "etc", "inc", "ltd", "co", "corp", "bros", "est", "no", "jan", "feb", "mar", "apr", "jun", "jul", "aug",
        "sep", "sept", "oct", "nov", "dec", "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun",
        "ave", "blvd", "rd", "hwy", "mt", "ft", "a.m", "p.m", "u.s", "u.k", "u.n",
    ]
)  # fmt: skip
# A text echoes its prompt if it begins with at least this many of the prompt's last words.
LEAST_ECHO_WORDS = 4


def first_of(strings: Sequence[str], text: str) -> int | None:
    """Where the first of the strings begins in the text; None if it has none of them."""
    places = [place for place in map(text.find, strings) if place >= 0]
    return min(places, default=None)


def first_sentence_end(text: str, *, min_words: int = 0, complete: bool = True) -> int | None:
    """The index just after the first sentence end, including closing quotes; None if no sentence ends.

    ``min_words``: an end before that many words (`common.text_length`) is skipped. ``complete``: nothing will follow,
    so a mark at the very end of the text counts. Otherwise it does not count yet, because “3.” may become “3.5” and
    “end.” may become “end.””. A blank line ends a sentence too, with or without a mark.

    These are not ends: a mark inside a word or number; the full stop of a title (Dr.), of initials (J. R.) or of an
    abbreviation before a small letter; and a mark after which the sentence continues with a small letter (“Stop!” she
    said; well… maybe).
    """
    line_breaks = [match.start(1) for match in _BLANK_LINE.finditer(text)]
    marks = [match.end() for match in _END.finditer(text) if _is_end(text, match, complete=complete)]
    # A break just after a mark is the same end as the mark; the end at the mark comes first.
    ends = sorted({*marks, *(len(text[:line_break].rstrip()) for line_break in line_breaks)})
    return next((end for end in ends if count_words(text[:end]) >= min_words), None)


def ends_sentence(text: str) -> bool:
    """Whether the text ends where a sentence ends. An empty text does not."""
    stripped = text.rstrip()
    return any(match.end() == len(stripped) for match in _END.finditer(stripped))


def begins_sentence(text: str) -> bool:
    """Whether the text can begin a sentence: after opening quotes, brackets and dashes, there is neither a small letter
    nor a mark that follows a word. Scripts without capital letters always can."""
    opened = text.lstrip().lstrip(_OPENING)
    return bool(opened) and not opened[0].islower() and opened[0] not in _AFTER_WORDS


def without_echo(text: str, prompt: str) -> str:
    """The text without the echo of the prompt that it begins with. Case and spacing make no difference.

    An echo is the whole prompt, its last line, or at least four of its last words.
    """
    prompt_words, text_words = prompt.split(), list(re.finditer(r"\S+", text))
    if not prompt_words or not text_words:
        return text
    folded, words = [word.casefold() for word in prompt_words], [match[0].casefold() for match in text_words]
    last_line = len(prompt.strip().splitlines()[-1].split())
    for length in range(min(len(folded), len(words)), 0, -1):
        long_enough = length >= LEAST_ECHO_WORDS or length in (len(folded), last_line)
        if long_enough and folded[-length:] == words[:length]:
            return text[text_words[length - 1].end() :].lstrip()
    return text


def _is_end(text: str, match: re.Match[str], *, complete: bool) -> bool:
    rest = text[match.end() :]
    if not rest:
        # Nothing can change what these marks mean, but a closing quote may still follow.
        return complete
    if match["mark"][-1] in _WIDE:
        return True
    if not rest[0].isspace():
        return False
    following = rest.lstrip()
    if following and "\n" in rest[: len(rest) - len(following)]:
        return True
    closed, ellipsis, full_stop = bool(match["close"]), match["mark"].startswith(("...", "…")), match["mark"] == "."
    before = _WORD.search(text[: match.start()]) if full_stop else None
    word = before[0] if before else ""
    short = word.casefold() in _SHORT or "." in word
    # One capital letter on its own, as in J. R. Smith; the pronoun I ends sentences.
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    title = is_initial or word.casefold() in _TITLES
    if not following:
        # The next letter, not written yet, could show that this is not an end.
        return complete or "\n" in rest or not (closed or ellipsis or title or short)
    small = following[0].islower()
    if small and (closed or ellipsis):
        return False
    return ellipsis or not (title or (short and (small or following[0].isdigit())))
