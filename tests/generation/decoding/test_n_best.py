"""N-best texts of a beam search, as decoders: names and what is refused."""

from __future__ import annotations

import pytest

from generation.backends.openai_servers import SERVERS
from generation.decoding.decoders import DecoderError, parse_decoder


def test_a_search_has_its_n_best_and_length_penalty_in_its_name() -> None:
    decoder = parse_decoder("length_penalty=0.65,n_best=5,beam=10")
    assert decoder.name == "beam=10,n_best=5,length_penalty=0.65"
    assert (decoder.beams, decoder.n_best, decoder.length_penalty, decoder.samples) == (10, 5, 0.65, False)
    assert parse_decoder(decoder.name) == decoder
    assert parse_decoder("beam=10,n_best=1,length_penalty=1").name == "beam=10"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "beam=4,n_best=5",
            "n_best is 5 and beam is 4: a search has as many texts as beams. Use 1 to 4, or more beams",
        ),
        ("beam=4,n_best=0", "n_best is 0"),
        ("beam=4,n_best=1.5", "it takes a whole number"),
        ("n_best=5", "n_best belongs to a beam search"),
        ("greedy,length_penalty=2", "length_penalty belongs to a beam search"),
        ("top_p=0.9,n_best=2", "n_best belongs to a beam search"),
        ("beam=4,n_best=2,temperature=0.7", "draw nothing at random"),
        ("beam=4,n_best=2,top_k=5", "draw nothing at random"),
        ("beam=4,length_penalty=11", "length_penalty is 11; use -10 to 10"),
    ],
)
def test_what_is_refused(name: str, why: str) -> None:
    with pytest.raises(DecoderError) as error:
        parse_decoder(name)
    assert why in str(error.value)


def test_servers_refuse_n_best_and_length_penalties() -> None:
    server = SERVERS["transformers"]
    assert server.refusal(parse_decoder("beam=4")) == ""
    assert "does not support length_penalty, n_best" in server.refusal(
        parse_decoder("beam=4,n_best=2,length_penalty=2")
    )
