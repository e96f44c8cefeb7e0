"""Which addresses the server may send messages to, and what it does with answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from common import outbound
from common.outbound import Unreachable, address_problems, is_public, post
from tests.annotation.webhooks.support.receiver import Receiver, running_receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


def names(monkeypatch: pytest.MonkeyPatch, *numbers: str) -> None:
    """Every name leads to these IP addresses."""

    def lookup(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port)) for number in numbers]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)


# The special registries of IANA, RFC 6890, RFC 6598, RFC 4193, RFC 6052, RFC 3056; metadata services of clouds.
@pytest.mark.parametrize(
    "number",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
        *("100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "100.100.100.200"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::"),
    ],
)
def test_numbers_inside_a_network_are_not_public(number: str) -> None:
    assert not is_public(number)


@pytest.mark.parametrize("number", ["93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07::1", "64:ff9b::808:808"])
def test_numbers_on_the_internet_are_public(number: str) -> None:
    assert is_public(number)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "not an https address"),
        ("http://example.org/", "not an https address"),
        ("ftp://example.org/", "not an https address"),
        ("https://", "not an https address"),
        ("file:///etc/passwd", "not an https address"),
        ("https://user:secret@example.org/", "a user name or a password"),
        ("https://example.org:99999/", "not an address"),
        ("https://[::1/", "not an address"),
        ("https://example.org/a b", "a character that addresses cannot have"),
        ("https://example.org/\r\nHost: x", "a character that addresses cannot have"),
        ("https://127.0.0.1/", "private network"),
        ("https://2130706433/", "private network"),
        ("https://[::ffff:127.0.0.1]/", "private network"),
        ("https://169.254.169.254/latest/meta-data/", "private network"),
        ("https://localhost/", "private network"),
    ],
)
def test_addresses_that_lead_nowhere_or_inside_are_refused(address: str, message: str) -> None:
    problems = address_problems(address, private=False)
    assert [message in problem.what for problem in problems] == [True], problems


def test_one_private_number_among_several_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, "93.184.215.14", "10.0.0.1")
    assert address_problems("https://example.org/", private=False)
    names(monkeypatch, "93.184.215.14")
    assert address_problems("https://example.org/", private=False) == []


def test_a_name_that_leads_inside_by_the_time_of_sending_is_not_reached(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, "127.0.0.1")
    with pytest.raises(Unreachable, match="private network"):
        post(receiver.address.replace("127.0.0.1", "example.org"), b"{}", {}, private=False)
    assert receiver.received == []


def test_the_connection_goes_to_the_number_that_was_looked_up(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, "127.0.0.1")
    answer = post(receiver.address.replace("127.0.0.1", "example.org"), b"{}", {"X-A": "b"}, private=True)
    assert answer.status == 204
    [message] = receiver.received
    assert message.headers["host"].startswith("example.org:")
    assert (message.path, message.headers["x-a"], message.body) == ("/hooks?study=1", "b", b"{}")


def test_no_redirect_is_followed_and_a_long_answer_is_cut(receiver: Receiver) -> None:
    receiver.status, receiver.text = 302, "x" * 100_000
    receiver.headers = {"Location": receiver.address}
    answer = post(receiver.address, b"{}", {}, private=True)
    assert (answer.status, len(answer.text)) == (302, outbound.LONGEST_ANSWER)
    assert len(receiver.received) == 1


def test_nobody_waits_long_for_an_answer(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver.silent = True
    monkeypatch.setattr(outbound, "SECONDS", 0.1)
    with pytest.raises(Unreachable, match=r"no answer within 0\.1 seconds"):
        post(receiver.address, b"{}", {}, private=True)


def test_a_closed_port_and_an_unknown_name_are_explained(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable, match="The connection failed"):
            post(f"http://127.0.0.1:{unused.getsockname()[1]}/", b"{}", {}, private=True)
    with pytest.raises(Unreachable, match=r"The name nowhere\.invalid is unknown"):
        post("https://nowhere.invalid/", b"{}", {}, private=False)


def test_a_server_without_the_right_certificate_gets_nothing(receiver: Receiver) -> None:
    with pytest.raises(Unreachable, match="certificate or the encryption"):
        post(receiver.address.replace("http:", "https:"), b"{}", {}, private=True)
    assert receiver.received == []
