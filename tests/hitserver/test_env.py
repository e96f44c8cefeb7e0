from collections.abc import Callable
from pathlib import Path

import pytest

from hitserver.env import Env, EnvError, without_password

Read = Callable[[Env], object]


def flag(env: Env) -> object:
    return env.flag("X", True)


def integer(env: Env) -> object:
    return env.integer("X", 5, least=1, most=10)


def choice(env: Env) -> object:
    return env.choice("X", "a", ("a", "b"))


def items(env: Env) -> object:
    return env.items("X", ("a",))


def url(env: Env) -> object:
    return env.url("X", "http://h", schemes=("http", "https"))


def path(env: Env) -> object:
    return env.path("X", Path("/srv/var"))


def secret(env: Env) -> object:
    return env.secret("X", None, at_least=4)


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (flag, None, True),
        (flag, "", True),
        (flag, "  ", True),
        (flag, "0", False),
        (flag, "No", False),
        (flag, "on", True),
        (integer, None, 5),
        (integer, " 10 ", 10),
        (integer, "1", 1),
        (choice, None, "a"),
        (choice, "b", "b"),
        (items, None, ["a"]),
        (items, "b, c,,", ["b", "c"]),
        (url, None, "http://h"),
        (url, "https://h.example:8443/x", "https://h.example:8443/x"),
        (path, None, Path("/srv/var")),
        (path, "/data", Path("/data")),
        (path, "data", Path.cwd() / "data"),
        (secret, "sesame", "sesame"),
    ],
)
def test_a_value_is_read_with_its_type(read: Read, value: str | None, expected: object) -> None:
    environ = {} if value is None else {"X": value}

    assert read(Env(environ)) == expected


@pytest.mark.parametrize(
    ("read", "value", "accepts"),
    [
        (flag, "maybe", "one of 1, true, yes, on, 0, false, no, off"),
        (integer, "0", "a whole number from 1 to 10"),
        (integer, "11", "a whole number from 1 to 10"),
        (integer, "-3", "a whole number from 1 to 10"),
        (integer, "3.0", "a whole number from 1 to 10"),
        (integer, "³", "a whole number from 1 to 10"),
        (choice, "A", "one of a, b"),
        (url, "ftp://h", "an address that starts with http:// or https://"),
        (url, "h.example", "an address that starts with http:// or https://"),
        (url, "http://", "an address that starts with http:// or https://"),
        (url, "http://h:99999", "an address that starts with http:// or https://"),
    ],
)
def test_a_bad_value_is_named_with_the_variable_and_what_is_accepted(read: Read, value: str, accepts: str) -> None:
    with pytest.raises(EnvError) as raised:
        read(Env({"X": value}))

    assert str(raised.value) == f"X is {value!r}; it takes {accepts}."


def test_a_required_secret_must_be_set() -> None:
    with pytest.raises(EnvError, match="X is not set; it takes a secret of at least 4 characters"):
        secret(Env({}))


def test_a_secret_is_never_repeated() -> None:
    with pytest.raises(EnvError) as raised:
        secret(Env({"X": "abc"}))

    assert "abc" not in str(raised.value)
    assert "3 characters" in str(raised.value)


def test_a_password_in_an_address_is_never_repeated() -> None:
    with pytest.raises(EnvError) as raised:
        url(Env({"X": "ftp://ann:hunter2@h/x"}))

    assert "hunter2" not in str(raised.value)
    assert "ftp://***@h/x" in str(raised.value)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgres://u:p@h/n", "postgres://***@h/n"),
        ("postgres://u:p@ss@h/n", "postgres://***@h/n"),
        ("u:p@h/n", "***@h/n"),
        ("postgres://h/n", "postgres://h/n"),
    ],
)
def test_without_password(address: str, shown: str) -> None:
    assert without_password(address) == shown


def test_parameters_are_kept_with_their_defaults() -> None:
    env = Env({})
    flag(env), items(env)

    assert env.variables["X"].default == "a"


def test_variables_nobody_reads_are_found() -> None:
    env = Env({"HIT_PORT": "1", "HIT_PROT": "1", "HIT_TEST_URL": "1", "OTHER": "1"})
    env.integer("HIT_PORT", 5, least=1, most=10)

    assert env.unknown("HIT_", known_prefixes=("HIT_TEST_",)) == ["HIT_PROT"]
