"""A tokenizer of transformers as a ``batch_rows.Vocabulary``. Nothing here imports torch or transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generation.backends.base import BackendError
from generation.decoding.conversations import Message

UNKNOWN_CONTEXT = 1024
# Names of special tokens that end a text.
ENDS = ("<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "</s>", "<|end_of_text|>")
SENTINEL = "\u2402prompt\u2402"


class Tokens:
    """The model's tokenizer as a ``batch_rows.Vocabulary``."""

    def __init__(self, tokenizer: Any, model: Any, *, chat: bool, context: int | None = None) -> None:
        self._tokenizer = tokenizer
        text = model.config.get_text_config()
        named = ("max_position_embeddings", "n_positions")
        trained = _first_of(text, "max_encoder_position_embeddings", *named) or UNKNOWN_CONTEXT
        self.context_length: int = min(trained, context or trained)
        self.size: int = text.vocab_size
        special = tokenizer.get_added_vocab()
        ends = {special[name] for name in ENDS if name in special}
        for ids in (tokenizer.eos_token_id, model.config.eos_token_id, model.generation_config.eos_token_id):
            ends.update(ids if isinstance(ids, (list, tuple)) else [] if ids is None else [ids])
        self.ends = frozenset(token for token in ends if 0 <= token < self.size)
        self.head: tuple[int, ...]
        self.tail: tuple[int, ...] = ()
        self._chat = chat
        if chat:
            if not tokenizer.chat_template:
                raise BackendError("The model has no chat template; register it without chat.")
            message = [{"role": "user", "content": SENTINEL}]
            written = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
            before, sentinel, after = written.partition(SENTINEL)
            if not sentinel:
                raise BackendError(
                    "The model's chat template does not show what the user said; register it without chat."
                )
            self.head, self.tail = tuple(self.encode(before)), tuple(self.encode(after))
        else:  # what the tokenizer adds before a text, such as a beginning-of-text token
            bare, with_special = self.encode("a"), tokenizer("a").input_ids
            starts = range(len(with_special) - len(bare) + 1)
            matches = (start for start in starts if with_special[start : start + len(bare)] == bare)
            start = next(matches, None)
            self.head = tuple(with_special[: start or 0])
            if start is not None and model.config.is_encoder_decoder:
                self.tail = tuple(with_special[start + len(bare) :])
        self.starts: tuple[int, ...] = ()
        if model.config.is_encoder_decoder:
            self.starts = _starts_of(model, self.head, tokenizer.bos_token_id)
        self.text_length: int = _first_of(text, "max_decoder_position_embeddings", *named) or UNKNOWN_CONTEXT
        # Some tokenizers drop the space before the first word. For them, the token before it is decoded, too.
        words = self.encode("a b")
        self._drops_space = bool(words) and not tokenizer.decode(words[-1:]).startswith(" ")

    def encode(self, text: str) -> list[int]:
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False, verbose=False).input_ids
        return tokens

    def conversation(self, messages: Sequence[Message]) -> list[int] | None:
        if not self._chat:
            return None
        turns = [{"role": role, "content": SENTINEL} for role, _ in messages]
        try:
            written = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # a template may raise anything, such as for roles that do not alternate
            raise ValueError(str(error)) from error
        marks = written.split(SENTINEL)
        if len(marks) != len(messages) + 1:
            raise ValueError("it does not show every message once")
        tokens = self.encode(marks[0])
        for (_, content), mark in zip(messages, marks[1:], strict=True):
            # A person who writes a mark of the template gets its letters, not the mark.
            tokens += self._tokenizer(
                content, add_special_tokens=False, split_special_tokens=True, verbose=False
            ).input_ids
            tokens += self.encode(mark)
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        if self.starts:  # the text continues nothing
            return self._text(tokens).lstrip(" ")
        if not self._drops_space:
            return self._text(tokens)
        before = self.encode("a")[-1:]
        return self._text([*before, *tokens])[len(self._text(before)) :]

    def _text(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text


def _starts_of(model: Any, head: tuple[int, ...], beginning: int | None) -> tuple[int, ...]:
    """The tokens before every text of an encoder–decoder model: the one that its decoder starts with, then the one that
    all texts began with in training, if there is one (BART's beginning of a text, the language of mBART)."""
    start = next(
        (
            number
            for config in (model.generation_config, model.config)
            if isinstance(number := getattr(config, "decoder_start_token_id", None), int)
        ),
        beginning,
    )
    if start is None:
        raise BackendError(
            f"{model.config.name_or_path} does not say which token its texts begin with: add decoder_start_token_id to "
            "its config.json."
        )
    forced = _first_of(model.generation_config, "forced_bos_token_id")
    if forced is None and beginning is not None and head == (beginning,):
        forced = beginning
    return (start,) if forced is None else (start, forced)


def _first_of(config: Any, *names: str) -> int | None:
    return next((value for name in names if (value := getattr(config, name, None)) is not None), None)
