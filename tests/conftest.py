"""Fixtures for all tests. `tests/services.py` says where services come from."""

import gc
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connections
from django.test import SimpleTestCase, TransactionTestCase

from annotation.instrument import clear_caches
from common import task_queue
from hitserver import celery_app
from tests import services
from tests.support import Server, running_server, tables_file

# Templates name static files as they are: nothing has been collected. Password hashes need not be slow.
settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Failed sign-ins of one run are not counted in the next.
settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")
# A task runs where it is called; tests of the queue itself start real workers.
celery_app.conf.update(task_always_eager=True, task_eager_propagates=True)


T = TypeVar("T")
STUDY_PAGES = ("arm", "item", "import", "launch", "settings", "setup", "source")
#: Pages and clients whose queries other tests run on both databases.
ON_ONE_DATABASE = (
    "tests/annotation/task_types/",
    "tests/annotation/console/test_access_of_pages.py",
    "tests/annotation/console/test_figures_in_words.py",
    "tests/annotation/console/test_study_pages.py",
    "tests/annotation/models_and_runs/",
    "tests/annotation/people/test_worker_pages.py",
    "tests/annotation/review/test_quality_pages.py",
    *(f"tests/annotation/studies/test_{pages}_pages.py" for pages in STUDY_PAGES),
    "tests/annotation/studies/test_study_file",
    "tests/hitserver/test_permissions.py",
    "tests/marketplace/operate_site/",
    "tests/marketplace/tools/",
    "tests/marketplace/work_site/",
)


def uses_database(item: pytest.Item) -> bool:
    if item.get_closest_marker("django_db"):
        return True
    if {"db", "transactional_db", "django_db_setup", "live_server"} & set(getattr(item, "fixturenames", ())):
        return True
    test_class = getattr(item, "cls", None) or SimpleTestCase
    return issubclass(test_class, TransactionTestCase)


def only_once(item: pytest.Item) -> bool:
    """A slow test or one in a browser, unless its marker says so: `slow(on_every_database=True)`, and some pages."""
    if item.nodeid.startswith(ON_ONE_DATABASE):
        return True
    markers = [marker for marker in map(item.get_closest_marker, ("browser", "slow")) if marker]
    return bool(markers) and not any(marker.kwargs.get("on_every_database") for marker in markers)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without the garbage collector, which would look through a million objects of modules and tests time and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL, runs only tests that use the database, and only a few of the slow ones."""
    if connections["default"].vendor != "postgresql":
        return
    kept = [item for item in items if uses_database(item) and not only_once(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    tmp_path_factory: pytest.TempPathFactory, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """A separate database for this process. On SQLite it is a real file, so that threads can use it at once.

    It begins as a copy of one that `tests.run` has made: each process would need ten seconds to make the tables.
    """
    database = connections["default"].settings_dict
    if connections["default"].vendor == "sqlite":
        file = tmp_path_factory.mktemp("database") / "test.sqlite3"
        database["TEST"]["NAME"] = str(file)
        with suppress(FileNotFoundError):
            shutil.copyfile(tables_file(), file)
    else:
        database["TEST"]["NAME"] = f"test_hitserver_{os.getpid()}"
        database["TEST"]["TEMPLATE"] = services.postgres_template() or None


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None) -> bool:
    """Whether the database is there already. What it lacks is migrated; it is not made anew."""
    return Path(connections["default"].settings_dict["TEST"]["NAME"]).exists()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """After a test with transactions Django empties all tables, on SQLite row by row; those that refuse it, too."""
    operations = type(connections["default"].ops)  # not only of this connection: a browser test has another
    empty = operations.sql_flush
    if connections["default"].vendor != "sqlite":

        def sql_flush_all(self: Any, style: Any, tables: Any, **options: Any) -> list[str]:
            with connections["default"].cursor() as cursor:
                cursor.execute("SELECT tgrelid::regclass FROM pg_trigger WHERE tgname LIKE '%_never_emptied'")
                refusing = [str(table) for (table,) in cursor.fetchall()]
            return [
                *(f"ALTER TABLE {table} DISABLE TRIGGER {table}_never_emptied" for table in refusing),
                *empty(self, style, tables, **options),
                *(f"ALTER TABLE {table} ENABLE TRIGGER {table}_never_emptied" for table in refusing),
            ]

        operations.sql_flush = sql_flush_all  # type: ignore[method-assign]
        return

    def sql_flush(self: Any, style: Any, tables: Any, **options: Any) -> list[str]:
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '% BEFORE delete %'"
            )
            triggers = cursor.fetchall()
        statements = empty(self, style, tables, **options)
        return [*(f"DROP TRIGGER {name}" for name, _ in triggers), *statements, *(sql for _, sql in triggers)]

    operations.sql_flush = sql_flush  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def nothing_cached_from_another_test() -> None:
    """The databases of two tests use the same ids, and no queue of one is away in another."""
    clear_caches()
    cache.clear()
    task_queue.outage.forget()


@pytest.fixture(scope="session", autouse=True)
def own_var_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the code writes under VAR goes to a folder of this run."""
    folder = tmp_path_factory.mktemp("var")
    settings.VAR = folder
    settings.MEDIA_FILES = folder / "media"
    return folder


@pytest.fixture(scope="session")
def released() -> Path:
    """The folder of the released data sets. They are not part of the project, so a test without them is skipped."""
    try:
        return services.released()
    except services.Missing as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium that Playwright can start (`executable_path`)."""
    return _have(services.chromium)


@pytest.fixture(scope="session")
def axe_core() -> Path:
    """The axe-core script, to be added to a page."""
    return _have(services.axe_core)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server on which databases may be created."""
    with ExitStack() as stack:
        yield _have(lambda: stack.enter_context(services.postgres()))


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of a PostgreSQL database without rows for this test alone, to pass to a server as DATABASE_URL."""
    with services.new_database(postgres_server, services.postgres_template()) as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The address of a Redis server that others may use too: name queues and keys so that only this test uses them."""
    with ExitStack() as stack:
        yield _have(lambda: stack.enter_context(services.redis()))


@pytest.fixture(scope="session")
def amqp_url() -> str:
    """The address of a RabbitMQ server that others may use too."""
    return _have(services.rabbitmq)


@pytest.fixture
def live_processes(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts real servers: `live_processes(env={…}, worker=True)`. All are stopped after the test."""
    with ExitStack() as stack:

        def start(var: Path | None = None, **options: object) -> Server:
            folder = var or tmp_path / "var"
            return stack.enter_context(running_server(folder, **options))  # type: ignore[arg-type]

        yield start


def _have(find: Callable[[], T]) -> T:
    try:
        return find()
    except services.Missing as reason:
        services.skip_or_fail(reason)
        raise
