"""Nobody judges the same item twice in one study, whatever hits it lies in: a table that triggers write, with a unique
constraint.

Practice, exam, gold and attention items may come again; a row says that the participant has had them. Main items that
somebody has judged twice already keep the first assignment's row. Arms learn whether their hits overlap. The
triggers come last: on SQLite, a later migration that rebuilds the tables `annotation_assignment`, `annotation_hititem`
or `annotation_item` must call `drop_triggers` before and `create_triggers` after it.
"""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

TAKEN = "('accepted', 'submitted', 'released', 'stopped')"
# Scalar subqueries, because they have one plan: look up one row. PostgreSQL keeps the plan of a trigger, and a join that
# it planned while the tables were new reads all items whenever a hit is given out.
_TAKE = """
INSERT INTO annotation_takenitem (assignment_id, participant_id, item_id)
SELECT {row}.id, {row}.participant_id, p.item_id FROM annotation_hititem p
WHERE p.hit_id = {row}.hit_id AND (
    (SELECT i.role FROM annotation_item i WHERE i.id = p.item_id) = 'main'
    OR (SELECT t.id FROM annotation_takenitem t
        WHERE t.participant_id = {row}.participant_id AND t.item_id = p.item_id) IS NULL)
"""
_GIVE_BACK = """
DELETE FROM annotation_takenitem WHERE participant_id = OLD.participant_id AND assignment_id = OLD.id
"""
#: By name: the event, the condition, and whether the assignment takes its items or gives them back.
TRIGGERS = {
    "annotation_takenitem_new": ("INSERT", f"NEW.state IN {TAKEN}", True),
    "annotation_takenitem_again": ("UPDATE OF state", f"NEW.state IN {TAKEN} AND OLD.state NOT IN {TAKEN}", True),
    "annotation_takenitem_back": ("UPDATE OF state", f"NEW.state NOT IN {TAKEN} AND OLD.state IN {TAKEN}", False),
}
FILL = f"""
INSERT INTO annotation_takenitem (assignment_id, participant_id, item_id)
SELECT MIN(a.id), a.participant_id, p.item_id
FROM annotation_assignment a
JOIN annotation_hititem p ON p.hit_id = a.hit_id
WHERE a.state IN {TAKEN}
GROUP BY a.participant_id, p.item_id
"""  # noqa: S608 - a constant
SHARES_ITEMS = """
UPDATE annotation_arm SET shares_items = TRUE WHERE id IN (
    SELECT h.arm_id FROM annotation_hititem p
    JOIN annotation_item i ON i.id = p.item_id
    JOIN annotation_hit h ON h.id = p.hit_id
    WHERE i.role = 'main' GROUP BY h.arm_id, p.item_id HAVING COUNT(*) > 1)
"""


def create_triggers(apps: Any, editor: Any) -> None:
    postgres = editor.connection.vendor == "postgresql"
    if postgres:
        for takes, text in ((True, _TAKE.format(row="NEW")), (False, _GIVE_BACK)):
            editor.execute(
                f"CREATE FUNCTION {_function(takes)}() RETURNS trigger AS $$ BEGIN {text}; RETURN NULL; END $$ "
                "LANGUAGE plpgsql",
                params=None,
            )
    for name, (event, condition, takes) in TRIGGERS.items():
        body = f"BEGIN {_TAKE.format(row='NEW') if takes else _GIVE_BACK}; END"
        act = f"EXECUTE FUNCTION {_function(takes)}()" if postgres else body
        on = f"AFTER {event} ON annotation_assignment FOR EACH ROW WHEN ({condition})"
        editor.execute(f"CREATE TRIGGER {name} {on} {act}", params=None)


def drop_triggers(apps: Any, editor: Any) -> None:
    postgres = editor.connection.vendor == "postgresql"
    for name in TRIGGERS:
        editor.execute(f"DROP TRIGGER {name}" + (" ON annotation_assignment" if postgres else ""))
    if postgres:
        for takes in (True, False):
            editor.execute(f"DROP FUNCTION {_function(takes)}()")


def _function(takes: bool) -> str:
    return "annotation_take_items" if takes else "annotation_give_items_back"


class Migration(migrations.Migration):
    dependencies = [("annotation", "0006_prolific_states")]

    operations = [
        migrations.AddField("arm", "shares_items", models.BooleanField(db_default=False, default=False)),
        migrations.AddField(
            "assignment",
            "extra",
            models.BooleanField(
                db_default=False, default=False, help_text="Finished late, when somebody else had the place."
            ),
        ),
        migrations.AddField(
            "bulkaction",
            "exclude",
            models.BooleanField(
                db_default=False, default=False, help_text="Leave what is rejected out of the analysis, too."
            ),
        ),
        migrations.AddField("hit", "layer", models.PositiveIntegerField(db_default=0, default=0)),
        migrations.AddConstraint(
            "assignment",
            models.CheckConstraint(
                condition=models.Q(("extra", True), ("state", "submitted"), _negated=True),
                name="assignment_extra_has_no_place",
            ),
        ),
        migrations.CreateModel(
            "TakenItem",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                *(
                    (
                        name,
                        models.ForeignKey(
                            db_constraint=checked,
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name=related,
                            to=f"annotation.{name}",
                        ),
                    )
                    for name, related, checked in (
                        ("assignment", "taken_items", True),
                        ("participant", "taken_items", False),
                        ("item", "taken_by", False),
                    )
                ),
            ],
            {"constraints": [models.UniqueConstraint(fields=["participant", "item"], name="takenitem_once")]},
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(SHARES_ITEMS, migrations.RunSQL.noop),
        migrations.RunPython(create_triggers, drop_triggers),
    ]
