"""What PostgreSQL refuses to its users: emptying the trail, and to a second user as the docs describe, changing it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection, transaction

from accounts.log import record as record_of_server
from annotation.audit import record
from annotation.people.redacting import redact
from common.problems import Invalid
from tests.factories import make_study, make_submission
from tests.services import ROOT

pytestmark = pytest.mark.django_db
SECURITY = (ROOT / "docs" / "security.md").read_text()
EMPTIED = ("annotation_auditentry", "annotation_submission", "accounts_logentry", "marketplace_ledgerentry")


@pytest.fixture
def on_postgres() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has neither TRUNCATE nor users")


@pytest.mark.parametrize("table", [*EMPTIED, "annotation_study", "auth_user"])
def test_no_command_empties_what_is_written_once(on_postgres: None, table: str) -> None:
    """Emptying a table that others refer to would empty those as well."""
    with pytest.raises(DatabaseError, match="is never emptied"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {table} CASCADE")


@pytest.fixture
def second_user(on_postgres: None) -> Iterator[None]:
    """The session has the rights of the user that the docs describe. The name is of this test alone."""
    name = f"hits_app_{uuid.uuid4().hex[:8]}"
    statements = SECURITY.partition("```sql\n")[2].partition("```")[0].replace("hits_app", name)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statements)
        cursor.execute(f"SET LOCAL ROLE {name}")
        yield
        cursor.execute("RESET ROLE")
        transaction.set_rollback(True)  # roles belong to all databases of a server


@pytest.mark.parametrize(
    "command",
    [
        "INSERT INTO annotation_redactiongate (opened_at) VALUES (now())",
        "UPDATE annotation_auditentry SET actor = 'somebody else'",
        "DELETE FROM accounts_logentry",
        "TRUNCATE annotation_auditentry",
        "ALTER TABLE annotation_auditentry DISABLE TRIGGER USER",
        "DROP TRIGGER annotation_auditentry_never_emptied ON annotation_auditentry",
        "CREATE OR REPLACE FUNCTION annotation_refuse_change() RETURNS trigger "
        "AS 'BEGIN RETURN NEW; END' LANGUAGE plpgsql",
        "DROP TABLE annotation_auditentry CASCADE",
        "SET session_replication_role = replica",
    ],
)
def test_the_user_that_the_docs_describe_cannot_change_the_trail(second_user: None, command: str) -> None:
    record_of_server(kind="users", actor="ann", action="made")
    record(study=make_study(), actor="ann", action="change")
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(command)


def test_the_user_that_the_docs_describe_can_run_a_study_and_is_told_what_it_cannot(second_user: None) -> None:
    study = make_study(items=1)
    participant = make_submission(study=study).participant
    with pytest.raises(Invalid, match="may not delete workers' data"), transaction.atomic():
        redact(participants=[participant], actor="ann")
