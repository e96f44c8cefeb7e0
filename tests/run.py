"""Runs the tests on SQLite, then those that may depend on the database again on PostgreSQL. See ``script/test --help``.

Services that have to be started are started once for both. The second run is left out, with a message, when there is
no PostgreSQL. It does not begin when the first has failed, so the last line always shows the result. Up to eight
tests that start processes or drive a browser get a second try, alone, and are named if they pass only then.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests import services
from tests.support import clean_environment, database_with_tables, migrate

FAILED, NO_TESTS = 1, 5
#: More failures than this are not bad luck.
MOST_AGAIN = 8
# More than a small machine has cores: many tests wait for a process, a browser or a lease.
WORKERS = "4"
# Measured on two quiet cores: 3.1 minutes with two workers, 2.3 with three.
FAST_WORKERS = "3"
# Each worker gets whole files as far as possible, so that what the tests of a file share is made once.
FAST = ("-p", "tests.fast", "--dist", "worksteal")


def pytest(arguments: list[str], environment: dict[str, str], workers: str = WORKERS) -> int:
    parallel = [] if any(argument.startswith("-n") for argument in arguments) else ["-n", workers]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *parallel, *arguments]
    return subprocess.run(command, env=environment, cwd=services.ROOT, check=False).returncode


def with_second_try(arguments: list[str], environment: dict[str, str]) -> int:
    """Runs the tests, then once more those that failed while waiting for other programs, if they are few."""
    with tempfile.TemporaryDirectory() as folder:
        failed = Path(folder) / "failed"
        options = ["--durations=25", "-p", "tests.second_try"]
        code = pytest([*options, *arguments], environment | {"HITSERVER_TEST_FAILED": str(failed)})
        again = failed.read_text(encoding="utf-8").splitlines() if failed.exists() else []
    if code != FAILED or not 0 < len(again) <= MOST_AGAIN:
        return code
    print(f"--- {len(again)} failed that wait for other programs: once more, alone ---", flush=True)
    code = pytest(["-n", "0", *again], environment)
    if not code:
        print("Passed only at the second try, alone:", *again, sep="\n  ", flush=True)
    return code


def for_tests() -> dict[str, str]:
    """The environment without the settings of whoever starts the tests, but with where their services are.

    Python saves what it has compiled, even where it was told not to (containers often do). Otherwise each of the
    hundreds of processes that tests start would compile the project again, which doubles the time they take to start.
    """
    kept = ("HITSERVER_TEST_", "HITSERVER_REQUIRE_", "HITSERVER_CHROMIUM")
    environment = clean_environment({name: value for name, value in os.environ.items() if name.startswith(kept)})
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # Threads of four workers that wait for each other by spinning made a test of 12 seconds take 180 on a busy machine.
    return environment | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def find_services(stack: ExitStack, environment: dict[str, str]) -> bool:
    """Starts what is not running and notes where it is. Returns whether there is a PostgreSQL."""
    with suppress(services.Missing):  # its tests report it
        environment["HITSERVER_TEST_REDIS_URL"] = stack.enter_context(services.redis())
    try:
        environment["HITSERVER_TEST_DATABASE_URL"] = stack.enter_context(services.postgres())
    except services.Missing as reason:
        if services.required():
            raise SystemExit(f"HITSERVER_REQUIRE_SERVICES is 1, but: {reason}") from None
        print(f"Nothing is tested on PostgreSQL: {reason}.", flush=True)
        return False
    return True


@contextmanager
def postgres_with_tables(environment: dict[str, str]) -> Iterator[None]:
    """A database to copy for every test that needs its own, named in the environment."""
    with services.new_database(environment["HITSERVER_TEST_DATABASE_URL"]) as url:
        migrate({"DATABASE_URL": url})
        environment["HITSERVER_TEST_POSTGRES_TEMPLATE"] = urlsplit(url).path.lstrip("/")
        yield


def run_fast(arguments: list[str]) -> int:
    """Unit tests on SQLite, without services. With ``--measure`` also those that take long, to list them anew."""
    database_with_tables()
    measure = ["-p", "tests.processor_time"] if "--measure" in arguments else []
    arguments = [argument for argument in arguments if argument not in ("--fast", "--measure")]
    return pytest([*FAST, *measure, *arguments], for_tests(), FAST_WORKERS)


def run_all(arguments: list[str]) -> int:
    with ExitStack() as stack:
        environment = for_tests()
        database_with_tables()
        with_postgres = find_services(stack, environment)
        if with_postgres:
            stack.enter_context(postgres_with_tables(environment))
        arguments = arguments if "--long" in arguments else ["-m", "not long", *arguments]
        arguments = [argument for argument in arguments if argument != "--long"]
        print("--- Tests, on SQLite ---", flush=True)
        code = with_second_try(arguments, environment)
        if code or not with_postgres:
            return code
        print("--- Tests of the database again, on PostgreSQL ---", flush=True)
        environment["DATABASE_URL"] = environment["HITSERVER_TEST_DATABASE_URL"]
        code = with_second_try(arguments, environment)
        return 0 if code == NO_TESTS else code


def main(arguments: list[str]) -> int:
    began = time.monotonic()
    fast = "--fast" in arguments or "--measure" in arguments
    code = run_fast(arguments) if fast else run_all(arguments)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes of tests.", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
