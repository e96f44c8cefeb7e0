"""AnswerFormatRegex: JavaScript's regular expressions, run here, and never for long.

MTurk checks these in the worker's browser, so requesters write them for JavaScript: without its ``u`` flag, found
anywhere in the answer. `translated` writes such an expression for the `regex` package, whose matching can be stopped:
an expression that a short answer keeps busy for ever must not keep this server busy. An answer that cannot be checked
in time is let through, as an answer of a worker without JavaScript is on MTurk.

Without the ``u`` flag JavaScript sees UTF-16: both the expression and the text are turned into its units first.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

#: Longer expressions are refused: compiling takes time, too, and cannot be stopped.
LONGEST = 1_000
#: Seconds for all the expressions of one form together.
PATIENCE = 0.25

_WORD = "A-Za-z0-9_"
_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NO_SPACE = (
    r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e"
    r"\u2060-\u2fff\u3001-\ufefe\uff00-\uffff"
)
#: The classes as they are written inside a set, where the negated ones have to be spelt out.
_CLASSES = {
    "d": "0-9",
    "D": r"\x00-/:-\uffff",
    "w": _WORD,
    "W": r"\x00-/:-@\[-\^`\{-\uffff",
    "s": _SPACE,
    "S": _NO_SPACE,
}
_EDGES = {
    "b": f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    "B": f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))",
}
#: $ and ^ are the very ends of the text; the dot knows four line ends.
_SIGNS = {"$": r"\Z", "^": r"\A", ".": r"[^\n\r\u2028\u2029]", "]": r"\]", "}": r"\}"}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
_QUANTIFIER = regex.compile(r"\{[0-9]+(?:,[0-9]*)?\}|[*+?]")
_GROUP = regex.compile(r"\((?!\?)|\(\?<(?![=!])")
_NO_GROUP = regex.compile(r"\\.|\[(?:\\.|[^\]\\])*\]", regex.DOTALL)
_CODE = {"x": regex.compile("[0-9A-Fa-f]{2}"), "u": regex.compile("[0-9A-Fa-f]{4}")}


class BadPattern(ValueError):
    """This is no regular expression that could be run here; ``str()`` says why."""


class Patience:
    """What is left of the time that the expressions of one form may take."""

    def __init__(self, seconds: float = PATIENCE) -> None:
        self._until = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self._until - time.monotonic()


def first_unmatched(patterns: Sequence[tuple[str, str]], text: str, patience: Patience) -> int | None:
    """The number of the first (expression, flags) not found in the text; those too slow to tell are passed over."""
    for number, (pattern, flags) in enumerate(patterns):
        left = patience.left
        if left > 0 and found_in(text, pattern, flags, seconds=left) is False:
            return number
    return None


def found_in(text: str, pattern: str, flags: str = "", *, seconds: float = PATIENCE) -> bool | None:
    """Whether the expression is found in the text; none if that took too long. Raises BadPattern."""
    ready = compiled(pattern, flags)
    try:
        return ready.search(_units(text), timeout=seconds, concurrent=True) is not None
    except TimeoutError:
        return None


@lru_cache(maxsize=2000)
def compiled(pattern: str, flags: str = "") -> regex.Pattern[str]:
    """The expression, ready to be run. Raises BadPattern."""
    if len(pattern) > LONGEST:
        raise BadPattern(f"it has {len(pattern)} characters; at most {LONGEST} are allowed")
    if flags not in ("", "i"):
        raise BadPattern(f"its flags are “{flags[:20]}”; the only flag is i")
    try:
        return regex.compile(translated(pattern), regex.V0 | (regex.IGNORECASE if flags else 0))
    except regex.error as error:
        raise BadPattern(str(error)) from None
    except (RecursionError, OverflowError, ValueError) as error:
        raise error if isinstance(error, BadPattern) else BadPattern("it is too complicated") from None


def _units(text: str) -> str:
    if text.isascii():
        return text
    return "".join(map(chr, array("H", text.encode("utf-16-le", "surrogatepass"))))


def _literal(sign: str) -> str:
    return sign if sign.isascii() and sign.isalnum() else f"\\u{ord(sign):04x}"


def translated(pattern: str) -> str:
    """JavaScript's expression as the `regex` package writes it. Raises BadPattern for what JavaScript refuses."""
    pattern = _units(pattern)
    out: list[str] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        quantifier = _QUANTIFIER.match(pattern, at)
        if sign == "\\":
            piece, at = _escape(pattern, at)
        elif sign == "[":
            piece, at = _set(pattern, at + 1)
        elif pattern.startswith("(?", at):
            piece, at = _special_group(pattern, at)
        elif quantifier:
            piece, at = _repeat(pattern, quantifier.group(), quantifier.end())
        elif sign in "()|":
            piece, at = sign, at + 1
        else:
            piece, at = _SIGNS.get(sign) or _literal(sign), at + 1
        out.append(piece)
    return "".join(out)


def _repeat(pattern: str, quantifier: str, end: int) -> tuple[str, int]:
    """A quantifier, perhaps a lazy one. A second + would make it possessive here; JavaScript knows no such thing."""
    if pattern.startswith("?", end):
        quantifier, end = quantifier + "?", end + 1
    if _QUANTIFIER.match(pattern, end):
        raise BadPattern(f"nothing to repeat at position {end}")
    return quantifier, end


def _escape(pattern: str, at: int) -> tuple[str, int]:
    r"""What a \ outside a set means, and where that ends."""
    sign = pattern[at + 1 : at + 2]
    if sign in _EDGES:
        return _EDGES[sign], at + 2
    if sign in _CLASSES:
        return f"[^{_CLASSES[sign.lower()]}]" if sign.isupper() else f"[{_CLASSES[sign]}]", at + 2
    if sign and sign in "123456789":
        return _reference(pattern, at + 1)
    if sign == "k" and pattern.startswith("<", at + 2):
        name, end = _group_name(pattern, at + 3)
        return f"(?({name})(?P={name})|)", end
    character, end = _character(pattern, at)
    return _literal(character), end


def _character(pattern: str, at: int) -> tuple[str, int]:
    r"""The one character that ``\n``, ``\x41``, ``\u0041``, ``\cA`` or ``\.`` stands for."""
    sign = pattern[at + 1 : at + 2]
    if not sign:
        raise BadPattern("it ends with a single \\")
    if sign in _CONTROLS:
        return _CONTROLS[sign], at + 2
    code = _CODE[sign].match(pattern, at + 2) if sign in _CODE else None
    if code:
        return chr(int(code.group(), 16)), code.end()
    letter = pattern[at + 2 : at + 3]
    if sign == "c":
        return (chr(ord(letter) % 32), at + 3) if letter.isascii() and letter.isalpha() else ("\\", at + 1)
    return sign, at + 2


def _reference(pattern: str, at: int) -> tuple[str, int]:
    end = at
    while pattern[end : end + 1] in tuple("0123456789"):
        end += 1
    number = int(pattern[at:end])
    if number > len(_GROUP.findall(_NO_GROUP.sub("", pattern))):
        raise BadPattern(f"\\{number} refers to a group that is not there")
    # A group that has taken no part is found nowhere by this package, and is the empty text in JavaScript.
    return f"(?({number})\\{number}|)", end


def _special_group(pattern: str, at: int) -> tuple[str, int]:
    """What opens a group that begins with (?, of the kinds that JavaScript knows."""
    for opening in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
        if pattern.startswith(opening, at):
            return opening, at + len(opening)
    if pattern.startswith("(?<", at):
        name, end = _group_name(pattern, at + 3)
        return f"(?P<{name}>", end
    raise BadPattern(f"there is an unknown kind of group at position {at}")


def _group_name(pattern: str, at: int) -> tuple[str, int]:
    end = pattern.find(">", at)
    name = pattern[at:end] if end > 0 else ""
    if not (name.isidentifier() and name.isascii()):
        raise BadPattern("the name of a group takes letters, digits and _, between < and >")
    return name, end + 1


def _set(pattern: str, at: int) -> tuple[str, int]:
    """The set of characters whose [ has just been read: a range stands between two characters, else - is itself."""
    negated = pattern.startswith("^", at)
    parts, at = _set_parts(pattern, at + negated)
    if not parts:  # JavaScript's [] is no character, [^] any
        return (r"[\x00-\uffff]" if negated else "(?!)"), at
    out: list[str] = []
    while parts:
        part = parts.pop(0)
        if len(parts) >= 2 and part.single and parts[0].dash and parts[1].single:
            out.append(f"{part.written}-{parts[1].written}")
            del parts[:2]
        else:
            out.append(part.written)
    return f"[{'^' if negated else ''}{''.join(out)}]", at


@dataclass(frozen=True, slots=True)
class _Part:
    """Of a set: how it is written here, whether it is a single character, and whether it may make a range."""

    written: str
    single: bool = True
    dash: bool = False


def _set_parts(pattern: str, at: int) -> tuple[list[_Part], int]:
    parts: list[_Part] = []
    while not pattern.startswith("]", at):
        if at >= len(pattern):
            raise BadPattern("a [ is not closed")
        sign, following = pattern[at], pattern[at + 1 : at + 2]
        if sign != "\\":
            part, at = _Part(_literal(sign), dash=sign == "-"), at + 1
        elif following in _CLASSES:
            part, at = _Part(_CLASSES[following], single=False), at + 2
        elif following == "b":
            part, at = _Part(_literal("\b")), at + 2
        else:
            character, at = _character(pattern, at)
            part = _Part(_literal(character))
        parts.append(part)
    return parts, at + 1
