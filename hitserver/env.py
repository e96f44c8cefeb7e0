"""Typed reading of environment variables.

Every error names the variable, its value (except for secrets) and the accepted values. An empty value counts as no
value. `Env.variables` records what was read; a test compares the documentation with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = ("1", "true", "yes", "on")
FALSE = ("0", "false", "no", "off")


class EnvError(ImproperlyConfigured):
    """A variable is missing, or its value is not acceptable."""

    def __init__(self, name: str, value: str | None, accepts: str) -> None:
        problem = "is not set" if value is None else f"is {value!r}"
        super().__init__(f"{name} {problem}; it takes {accepts}.")


@dataclass(frozen=True)
class Variable:
    """One variable as the program asked for it. `default` is written as it would be in the environment."""

    name: str
    accepts: str
    default: str


class Env:
    """Reads variables. Every method raises EnvError for a value that it does not accept."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.variables: dict[str, Variable] = {}

    def text(self, name: str, default: str) -> str:
        """Any text."""
        return self._read(name, "text", default) or default

    def secret(self, name: str, default: str | None, *, at_least: int = 0) -> str:
        """Text that no message may repeat. Without a default, it must be set."""
        accepts = f"a secret of at least {at_least} characters"
        value = self._read(name, accepts, "")
        if value is not None and len(value) < at_least:
            raise EnvError(name, f"{len(value)} characters long", accepts)
        if value is None and default is None:
            raise EnvError(name, None, accepts)
        return value or default or ""

    def secrets(self, name: str, *, at_least: int) -> list[str]:
        """Secrets separated by commas, which no message may repeat."""
        values = self.items(name)
        if short := [len(value) for value in values if len(value) < at_least]:
            raise EnvError(name, f"{short[0]} characters long", f"secrets of at least {at_least} characters")
        return values

    def flag(self, name: str, default: bool) -> bool:
        """Yes or no, in one of the spellings in ``TRUE`` and ``FALSE``."""
        accepts = f"one of {', '.join(TRUE + FALSE)}"
        value = self._read(name, accepts, "1" if default else "0")
        if value is None:
            return default
        if value.lower() not in TRUE + FALSE:
            raise EnvError(name, value, accepts)
        return value.lower() in TRUE

    def integer(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        accepts = f"a whole number from {least} to {most}"
        value = self._read(name, accepts, str(default))
        if value is None:
            return default
        if not value.isascii() or not value.isdigit() or not least <= int(value) <= most:
            raise EnvError(name, value, accepts)
        return int(value)

    def decimal(self, name: str, default: str, *, least: str, most: str) -> Decimal:
        """A number from ``least`` to ``most``, with a point before the decimals."""
        accepts = f"a number from {least} to {most}"
        value = self._read(name, accepts, default)
        plain = (value or default).replace(".", "", 1)
        if not (plain.isascii() and plain.isdigit()) or not Decimal(least) <= Decimal(value or default) <= Decimal(
            most
        ):
            raise EnvError(name, value, accepts)
        return Decimal(value or default)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        """One of ``choices``."""
        accepts = f"one of {', '.join(choices)}"
        value = self._read(name, accepts, default)
        if value is not None and value not in choices:
            raise EnvError(name, value, accepts)
        return value or default

    def path(self, name: str, default: Path) -> Path:
        """A path. A relative one starts from the folder in which the process was started."""
        value = self._read(name, "a path", default.name)
        return Path(value).expanduser().absolute() if value else default

    def items(self, name: str, default: tuple[str, ...] = ()) -> list[str]:
        """Texts separated by commas, without the spaces around them."""
        value = self._read(name, "a list with commas between its items", ",".join(default))
        if value is None:
            return list(default)
        return [item for item in (part.strip() for part in value.split(",")) if item]

    def networks(self, name: str) -> list[IPv4Network | IPv6Network]:
        """IP addresses and networks (``10.0.0.0/8``), with commas between them."""
        try:
            return [ip_network(item) for item in self.items(name)]
        except ValueError as error:
            accepts = "IP addresses or networks such as 10.0.0.0/8, with commas between them"
            raise EnvError(name, str(error), accepts) from None

    def functions(self, name: str) -> dict[str, str]:
        """Dotted paths of Python functions by their short names: ``short=module.function``, with commas between."""
        pairs = [item.partition("=")[::2] for item in self.items(name)]
        if not all(short and "." in path for short, path in pairs):
            accepts = "name=dotted.path.of_a_function, with commas between them"
            raise EnvError(name, ", ".join(short for short, _ in pairs), accepts)
        return dict(pairs)

    def url(self, name: str, default: str, *, schemes: tuple[str, ...]) -> str:
        """An address that names a host."""
        accepts = f"an address that starts with {' or '.join(f'{scheme}://' for scheme in schemes)}"
        value = self._read(name, accepts, default)
        if value is None:
            return default
        try:
            parts = urlsplit(value)
            named = bool(parts.netloc) or parts.scheme == "filesystem"
            valid = parts.scheme in schemes and named and (parts.port or 1) > 0
        except ValueError:
            valid = False
        if not valid:
            raise EnvError(name, without_password(value), accepts)
        return value

    def urls(self, name: str, default: tuple[str, ...], *, schemes: tuple[str, ...]) -> list[str]:
        """Addresses separated by commas, each of which names a host."""
        values = self.items(name, default)
        for value in values:
            Env({name: value}).url(name, "", schemes=schemes)
        return values

    def unknown(self, prefix: str, *, known_prefixes: tuple[str, ...] = ()) -> list[str]:
        """Variables with the prefix that nothing reads: most likely typos."""
        names = (name for name in self._environ if name.startswith(prefix))
        return sorted(n for n in names if n not in self.variables and not n.startswith(known_prefixes))

    def _read(self, name: str, accepts: str, default: str) -> str | None:
        self.variables[name] = Variable(name=name, accepts=accepts, default=default)
        return self._environ.get(name, "").strip() or None


def without_password(url: str) -> str:
    """The address without everything before the last @ in its first part."""
    scheme, colon, rest = url.partition("://")
    if not colon:
        return url if "@" not in url else "***@" + url.rpartition("@")[2]
    return f"{scheme}://***@{rest.rpartition('@')[2]}" if "@" in rest else url
