"""Rules on right answers in words that workers read after a gold item."""

from __future__ import annotations

from analysis.quality_control.answer_rules import Above, AnswerRule, Days, ExactOptions, Marks, Range
from annotation.languages import gettext as _
from annotation.task_types.other_answers import meeting_answers
from annotation.task_types.questions import Question


def rule_in_words(rule: AnswerRule, question: Question, part: str) -> str:
    """What the answer to the question must be; empty if the rule is not about its ``part``. A rule over several texts
    does not name them, because pages show texts in an order of their own."""
    match rule:
        case Range():
            low, high = (None if end is None else f"{end:g}" for end in (rule.low, rule.high))
            return _limits(low, high)
        case Days():
            return _days(rule.first, rule.last)
        case Marks():
            return question.in_words(meeting_answers(rule, part)[0])
        case ExactOptions():
            return question.in_words(list(rule.options))
        case Above() if part in rule.order:
            at = rule.order.index(part)
            if at == 0:
                return _("better than the others")
            return _("between the others") if at < len(rule.order) - 1 else _("less good than the others")
        case Above():
            return " > ".join(str(question.names().get(name, name)) for name in rule.order)
    return ""


def _limits(low: str | None, high: str | None) -> str:
    if low is None:
        return _("at most %(high)s") % {"high": high}
    if high is None:
        return _("at least %(low)s") % {"low": low}
    return _("from %(low)s to %(high)s") % {"low": low, "high": high}


def _days(first: str, last: str) -> str:
    if not first:
        return _("%(day)s or earlier") % {"day": last}
    if not last:
        return _("%(day)s or later") % {"day": first}
    return _("from %(low)s to %(high)s") % {"low": first, "high": last}
