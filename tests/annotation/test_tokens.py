"""Signed tokens, which identify a worker's page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.signing import Signer

from annotation import tokens
from annotation.tokens import BadToken, BotToken, FormToken


def test_a_participant_token_gives_the_participant_back() -> None:
    assert tokens.read_participant_token(tokens.participant_token(41)) == 41


def test_a_form_token_gives_assignment_and_step_back() -> None:
    assert tokens.read_form_token(tokens.form_token(7, 2)) == FormToken(7, 2)


def test_a_bot_token_gives_name_and_profile_back_whatever_the_name() -> None:
    for name in ("bot-1-0", "a.b~c-d", "名前 ✍️", "x" * 150):
        token = tokens.bot_token(3, name=name, profile="noisy")
        assert tokens.read_bot_token(token, 3) == BotToken(name, "noisy")


def test_each_start_token_makes_another_worker_and_always_the_same_one() -> None:
    first, second = tokens.start_token(5), tokens.start_token(5)
    assert tokens.read_start_token(first, 5) == tokens.read_start_token(first, 5)
    assert tokens.read_start_token(first, 5) != tokens.read_start_token(second, 5)


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_truncated_token_is_refused(cut: int) -> None:
    with pytest.raises(BadToken):
        tokens.read_participant_token(tokens.participant_token(41)[:-cut])


@pytest.mark.parametrize("forged", ["", ".", "41", "41.", "41.AAAA", "-1.x", "\x00", "٤١.x", "a" * 100_000])
def test_a_forged_token_is_refused(forged: str) -> None:
    for read in (tokens.read_participant_token, tokens.read_form_token):
        with pytest.raises(BadToken):
            read(forged)


def test_another_number_under_the_same_signature_is_refused() -> None:
    signature = tokens.participant_token(41).rpartition(".")[2]
    with pytest.raises(BadToken):
        tokens.read_participant_token(f"42.{signature}")


def test_a_token_of_one_kind_never_passes_for_another() -> None:
    made = {
        "participant": tokens.participant_token(1),
        "form": tokens.form_token(1, 1),
        "start": tokens.start_token(1),
        "bot": tokens.bot_token(1, name="1", profile="careful"),
    }
    readers: dict[str, Callable[[str], object]] = {
        "participant": tokens.read_participant_token,
        "form": tokens.read_form_token,
        "start": lambda token: tokens.read_start_token(token, 1),
        "bot": lambda token: tokens.read_bot_token(token, 1),
    }
    for kind, token in made.items():
        for other, read in readers.items():
            if other != kind:
                with pytest.raises(BadToken):
                    read(token)


def test_tokens_of_one_study_do_not_open_another() -> None:
    with pytest.raises(BadToken):
        tokens.read_start_token(tokens.start_token(1), 2)
    with pytest.raises(BadToken):
        tokens.read_bot_token(tokens.bot_token(1, name="bot", profile="careful"), 2)
    with pytest.raises(BadToken):
        tokens.read_bot_token(tokens.bot_token(1, name="bot", profile="careful"), 12)


def test_tokens_are_worth_nothing_under_another_secret() -> None:
    with pytest.raises(BadToken):
        tokens.read_participant_token(Signer(key="another", salt="annotation.participant", sep=".").sign("41"))
