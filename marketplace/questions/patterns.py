"""AnswerFormatRegex: runs JavaScript's regular expressions here, with a time limit.

MTurk checks these in the worker's browser, so requesters write them for JavaScript: without its ``u`` flag, and
matching anywhere in the answer. `translated` rewrites such an expression for the `regex` package, whose matching can be
stopped: an expression can run forever on a short answer and must not block this server. An answer that cannot be
checked in time is accepted, just as MTurk accepts the answer of a worker without JavaScript.

Without the ``u`` flag JavaScript sees UTF-16 code units, so both the expression and the text are converted to them.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import regex

#: Longer expressions are refused: compiling also takes time, and it cannot be stopped.
LONGEST = 1_000
#: The compiler expands every required repeat, at a kilobyte or two for each step: ``((a{99}){99}){99}`` has a million
#: steps. These are the most steps of one expression, of one form, and of the expressions cached for later answers.
MOST_STEPS, MOST_STEPS_OF_FORM, MOST_STEPS_KEPT = 20_000, 60_000, 40_000
MOST_KEPT = 2_000
#: Longer answers are not checked: matching needs more memory for longer texts.
LONGEST_TEXT = 200_000
#: The time for all expressions of one form together, in seconds.
PATIENCE = 0.25

_WORD = "A-Za-z0-9_"
_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NO_SPACE = (
    r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e"
    r"\u2060-\u2fff\u3001-\ufefe\uff00-\uffff"
)
#: The classes as written inside a set, where the negated ones must be spelled out.
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
#: $ and ^ match only at the ends of the text. The dot matches all but four line ends.
_SIGNS = {"$": r"\Z", "^": r"\A", ".": r"[^\n\r\u2028\u2029]", "]": r"\]", "}": r"\}"}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
_QUANTIFIER = regex.compile(r"\{([0-9]+)(?:,[0-9]*)?\}|[*+?]")
_GROUP = regex.compile(r"\((?!\?)|\(\?<(?![=!])")
_NO_GROUP = regex.compile(r"\\.|\[(?:\\.|[^\]\\])*\]", regex.DOTALL)
_CODE = {"x": regex.compile("[0-9A-Fa-f]{2}"), "u": regex.compile("[0-9A-Fa-f]{4}")}


class BadPattern(ValueError):
    """This regular expression cannot run here; ``str()`` has the reason."""


class Patience:
    """The time left to check the expressions of one form."""

    def __init__(self, seconds: float = PATIENCE) -> None:
        self._until = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self._until - time.monotonic()


def first_unmatched(patterns: Sequence[tuple[str, str]], text: str, patience: Patience) -> int | None:
    """The index of the first (expression, flags) not found in the text; None if there is none. Skips slow ones."""
    for number, (pattern, flags) in enumerate(patterns):
        left = patience.left
        if left > 0 and found_in(text, pattern, flags, seconds=left) is False:
            return number
    return None


def found_in(text: str, pattern: str, flags: str = "", *, seconds: float = PATIENCE) -> bool | None:
    """Whether the expression is found in the text; None if that took too long. Raises BadPattern."""
    ready = compiled(pattern, flags)
    if len(text) > LONGEST_TEXT:
        return None
    try:
        return ready.search(_units(text), timeout=seconds, concurrent=True) is not None
    except TimeoutError:
        return None


class _Kept:
    """A cache of the expressions used last, up to ``MOST_STEPS_KEPT`` steps together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: OrderedDict[tuple[str, str], tuple[regex.Pattern[str], int]] = OrderedDict()
        self._steps = 0

    def get(self, key: tuple[str, str]) -> regex.Pattern[str] | None:
        with self._lock:
            if key not in self._ready:
                return None
            self._ready.move_to_end(key)
            return self._ready[key][0]

    def add(self, key: tuple[str, str], ready: regex.Pattern[str], steps: int) -> None:
        with self._lock:
            if key in self._ready:
                return
            self._ready[key] = ready, steps
            self._steps += steps
            while self._steps > MOST_STEPS_KEPT or len(self._ready) > MOST_KEPT:
                self._steps -= self._ready.popitem(last=False)[1][1]


_kept = _Kept()


def compiled(pattern: str, flags: str = "") -> regex.Pattern[str]:
    """The compiled expression. Raises BadPattern."""
    ready = _kept.get((pattern, flags))
    if ready is None:
        ready, steps = _compile(pattern, flags)
        _kept.add((pattern, flags), ready, steps)
    return ready


def _compile(pattern: str, flags: str) -> tuple[regex.Pattern[str], int]:
    if flags not in ("", "i"):
        raise BadPattern(f"its flags are “{flags[:20]}”; the only flag is i")
    written, steps = _translated(pattern)
    if steps > MOST_STEPS:
        raise BadPattern(
            f"its repeats multiply to {min(steps, 10**12):,} steps; at most {MOST_STEPS:,} are allowed. "
            "Use smaller numbers in { }"
        )
    options = regex.V0 | (regex.IGNORECASE if flags else 0)
    try:
        return regex.compile(written, options, cache_pattern=False), steps
    except regex.error as error:
        raise BadPattern(str(error)) from None
    except (RecursionError, OverflowError, ValueError):
        raise BadPattern("it is too complicated") from None


def steps_of(pattern: str) -> int:
    """How many steps the expression has once it is compiled. Raises BadPattern."""
    return _translated(pattern)[1]


def _units(text: str) -> str:
    if text.isascii():
        return text
    return "".join(map(chr, array("H", text.encode("utf-16-le", "surrogatepass"))))


def _literal(sign: str) -> str:
    return sign if sign.isascii() and sign.isalnum() else f"\\u{ord(sign):04x}"


class _Steps:
    """Counts the steps of an expression while it is read. A required repeat counts once for each time."""

    def __init__(self) -> None:
        self._groups = [0]
        self._last = 0

    @property
    def total(self) -> int:
        return sum(self._groups)

    def add(self, piece: str) -> None:
        # Sets are expanded, and word boundaries become groups; \u0041 is one character.
        self._last = 1 + len(piece) // 16 + 2 * piece.count("(")
        self._groups[-1] += self._last

    def open(self) -> None:
        self._groups.append(2)

    def close(self) -> None:
        if len(self._groups) > 1:  # otherwise it closes nothing, and the compiler refuses it
            self._last = self._groups.pop()
            self._groups[-1] += self._last

    def repeat(self, least: int) -> None:
        self._groups[-1] += self._last * (max(least, 1) - 1)
        self._last *= max(least, 1)


def translated(pattern: str) -> str:
    """A JavaScript expression in the syntax of the `regex` package. Raises BadPattern for what JavaScript refuses."""
    return _translated(pattern)[0]


def _translated(pattern: str) -> tuple[str, int]:
    """The expression in the syntax of the `regex` package, and its number of steps."""
    if len(pattern) > LONGEST:
        raise BadPattern(f"it has {len(pattern)} characters; at most {LONGEST} are allowed")
    pattern = _units(pattern)
    out: list[str] = []
    steps = _Steps()
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        quantifier = _QUANTIFIER.match(pattern, at)
        if quantifier:
            piece, at = _repeat(pattern, quantifier.group(), quantifier.end())
            steps.repeat(int(quantifier[1] or 1))
        elif sign == "(":
            piece, at = _special_group(pattern, at) if pattern.startswith("(?", at) else (sign, at + 1)
            steps.open()
        elif sign == ")":
            piece, at = sign, at + 1
            steps.close()
        else:
            piece, at = _single(pattern, at)
            steps.add(piece)
        out.append(piece)
    return "".join(out), steps.total


def _single(pattern: str, at: int) -> tuple[str, int]:
    """One character, set, word boundary or reference, and where it ends."""
    sign = pattern[at]
    if sign == "\\":
        return _escape(pattern, at)
    if sign == "[":
        return _set(pattern, at + 1)
    return (sign if sign == "|" else _SIGNS.get(sign) or _literal(sign)), at + 1


def _repeat(pattern: str, quantifier: str, end: int) -> tuple[str, int]:
    """A quantifier, which can be lazy. A second + would make it possessive here, which JavaScript does not have."""
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
        raise BadPattern(f"\\{number} refers to a group that does not exist")
    # If a group did not take part, a reference to it never matches in this package. In JavaScript it is the empty text.
    return f"(?({number})\\{number}|)", end


def _special_group(pattern: str, at: int) -> tuple[str, int]:
    """The opening of a group that begins with (?, if JavaScript has that kind of group."""
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
    """The set of characters after a [. Between two characters, - makes a range; elsewhere it is a plain character."""
    negated = pattern.startswith("^", at)
    parts, at = _set_parts(pattern, at + negated)
    if not parts:  # in JavaScript, [] matches no character and [^] matches any
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
    """A part of a set: how it is written here, whether it is a single character, and whether it can make a range."""

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
