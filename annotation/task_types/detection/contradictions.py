"""Explanations that say the opposite of the answer: “Definitely human-written”, then “it reads like a bot”.

Clark 2021 (app. C) names this as a reason to leave out a worker, and gives no rule. Ours:

- An explanation contradicts an answer on the human side if it states that a machine wrote the text, and an answer on
  the machine side if it states that a person did.
- A statement is a clause whose subject is the text (“it”, “the story”, or nothing), which *is*, *sounds like* or *was
  written by* one of the two, or a clause in which one of the two *wrote this*. A clause with anything else in it
  (“not”, “maybe”, “would”, “to make it sound human”) does not count.

The rule works only for English. It rather misses a contradiction than reports a false one, and a person decides.
"""

from __future__ import annotations

import re

_MACHINE = r"(?:machine|computer|robot|bot|chat ?bot|ai|a\.i\.|algorithm|computer program)"
_PERSON = r"(?:human|person|human being|real person|real human)"
_SURE = r"(?:(?:clearly|definitely|obviously|certainly|probably|likely|very|really|just|all|completely|totally) )*"
_MADE = r"(?:written|generated|made|produced|created|composed)"
_SEEMS = r"(?:sounds?|seems?|reads?|looks?|feels?|appears?)"
_IS = r"(?:is|was|it's|its|must be|must have been|has to be)"
_A = r"(?:(?:a|an|the|some) )?"
_PART = r"(?:thing|text|story|article|recipe|passage|piece|writing|style|language|wording|tone|paragraph|sentences?)"
#: The beginning of a clause whose subject is the text: “I think the whole story …”.
_SUBJECT = re.compile(
    r"(?:(?:so|yes|well|also|overall|honestly|obviously|clearly|definitely|to me|i(?: am|'m) sure|"
    r"i (?:think|believe|feel|know|guess)) )*(?:that )?"
    rf"(?:(?:it|this|that|everything) |(?:the|this) (?:whole |entire )?{_PART} )?(?:just |still |also |really )?",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.,;:!?()]| - | – |—|\b(?:but|and|because|since|although|though)\b", re.IGNORECASE)
#: Words after a statement that limit it.
_LIMIT = re.compile(r" (?:in|at) (?:some )?(?:places|parts|times|points)|-|\s*\?| but\b", re.IGNORECASE)


def _statements(who: str, adjective: str) -> re.Pattern[str]:
    """Matches statements that ``who`` wrote the text. ``adjective`` describes such a text, as in machine-generated."""
    ways = (
        rf"(?:{_IS}|{_SEEMS}(?: to be| like it was| as if it was)?) {_SURE}{_MADE} by {_A}{who}",
        rf"(?:{_IS}|{_SEEMS}(?: to be)?) {_SURE}{adjective}",
        rf"(?:{_SEEMS}|is|was|it's) {_SURE}(?:like|as if|as though) {_A}{who}",
        rf"{_A}{who} {_SURE}(?:wrote|generated|produced|created|composed) (?:this|it|that|the {_PART})",
        rf"(?:it is|it's|this is|it was) {_SURE}{_A}{who}",
    )
    return re.compile(rf"(?<![\w-])(?:{'|'.join(ways)})(?![\w-])", re.IGNORECASE)


_STATEMENTS = {
    "machine": _statements(_MACHINE, rf"(?:{_A}{_MACHINE}[- ]?{_MADE}|robotic|machine[- ]like|robot[- ]like)"),
    "human": _statements(_PERSON, r"human(?:[- ](?:written|made|generated|like))?"),
}


def contradiction(answer: float, explanation: str) -> str:
    """The words of ``explanation`` that contradict ``answer`` (1 and 2: human, 3 and 4: machine); empty if none do."""
    opposite = _STATEMENTS["machine" if answer < 2.5 else "human"]
    text = " ".join(explanation.replace("’", "'").split())
    for statement in opposite.finditer(text):
        before = _CLAUSE_END.split(text[: statement.start()])[-1].lstrip()
        if _SUBJECT.fullmatch(before) and not _LIMIT.match(text[statement.end() :]):
            return statement[0]
    return ""
