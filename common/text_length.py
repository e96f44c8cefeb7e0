"""How long a text is as people count: words by the script they are written in, and characters.

The pages' script (``static/questions.js``) counts in the same way, so a page never promises what the server refuses.
`tests/common/text_lengths.py` has texts with their lengths; the tests of both read it.

- Where words stand between spaces, a word is what stands between two spaces and contains a letter or a digit:
  “don't”, “well-known” and “3.14” are one word each, and a dash is none.
- Chinese and Japanese write without spaces. Each character counts as a word, as in Unicode Annex 29 and as people who
  write these languages count. (So do the characters of Bopomofo and Yi.)
- Thai, Lao, Khmer, Burmese and related scripts write without spaces too, and need a dictionary to find words. Here
  every three letters of an unbroken run count as a word, rounded up. Vowel signs and tone marks are not letters.
"""

from __future__ import annotations

import regex

#: Each character is a word. Two signs belong to several scripts: the marks for a long vowel in Katakana.
_IDEOGRAPHS = r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Yi}\u30FC\uFF70"
#: Words are not separated.
_UNSPACED = (
    r"\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}"
    r"\p{Script=Tai_Le}\p{Script=New_Tai_Lue}\p{Script=Tai_Tham}\p{Script=Tai_Viet}"
)
#: White space, control characters, the zero-width space, and the marks that separate syllables in Tibetan and words in
#: Ethiopic.
_BREAKS = r"\p{Z}\p{Cc}\u200B\u0F0B\u0F0C\u1361"
_PIECE = regex.compile(rf"[{_IDEOGRAPHS}]|[{_UNSPACED}]+|[^{_IDEOGRAPHS}{_UNSPACED}{_BREAKS}]+")
_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_LETTER = regex.compile(r"\p{L}")
_LETTER_OR_DIGIT = regex.compile(r"(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}]")
_LETTERS_PER_WORD = 3
_INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}--[\u200B]]", regex.V1)
#: The words of a text for comparisons. In scripts without spaces, each letter with its marks is one.
_COMPARED = regex.compile(
    rf"[{_IDEOGRAPHS}]|[{_UNSPACED}]\p{{M}}*|(?:(?![{_IDEOGRAPHS}{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_])+"
)
_VISIBLE = regex.compile(r"[^\p{Z}\p{Cc}\p{Cs}\p{M}\p{Default_Ignorable_Code_Point}\u2800]")
_CHARACTER = regex.compile(r"\X")
_STARTS_INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")


def count_words(text: str) -> int:
    """Words as people count them in the text's scripts; see the top of this module."""
    words = 0
    for token in text.split():
        if token.isascii():  # most texts, at a tenth of the time
            words += any(map(str.isalnum, token))
        else:
            for match in _PIECE.finditer(token):
                if _IS_UNSPACED.match(match[0]) and (letters := len(_LETTER.findall(match[0]))):
                    words += -(-letters // _LETTERS_PER_WORD)
                else:
                    words += _LETTER_OR_DIGIT.search(match[0]) is not None
    return words


def compared_words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation and invisible characters, to compare it with others.

    In scripts without spaces these are single characters, so that a part of a sentence can be found in another one.
    """
    folded = text.casefold()
    return _COMPARED.findall(folded if folded.isascii() else _INVISIBLE.sub("", folded))  # type: ignore[no-any-return]


def normalised(text: str) -> str:
    """The compared words with single spaces: the same for texts that differ only in case and punctuation."""
    return " ".join(compared_words(text))


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: only spaces, invisible characters or marks without a letter."""
    return _VISIBLE.search(text) is None


def count_characters(text: str) -> int:
    """Characters as people count them (extended grapheme clusters, Unicode Annex 29), without invisible ones."""
    if text.isascii():
        return len(text)
    return sum(_STARTS_INVISIBLE.match(character) is None for character in _CHARACTER.findall(text))


def is_between_characters(text: str, at: int) -> bool:
    """Whether the place before code point ``at`` is not inside a character as people count them."""
    if text.isascii() or at in (0, len(text)):
        return True
    return any(match.start() == at for match in _CHARACTER.finditer(text))
