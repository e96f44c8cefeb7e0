"""An assignment knows what the platform reports about it: same posting, same id there, same worker."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

FILL = """
UPDATE annotation_assignment SET outside_id = (
    SELECT o.id FROM annotation_outsideassignment o
    JOIN annotation_participant p ON p.id = annotation_assignment.participant_id
    JOIN annotation_worker w ON w.id = p.worker_id AND w.platform_id = o.worker_id
    WHERE o.posting_id = annotation_assignment.posting_id
    AND o.external_id = annotation_assignment.platform_assignment_id)
WHERE posting_id IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0011_never_emptied")]

    operations = [
        migrations.AddField(
            "assignment",
            "outside",
            models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="The same assignment as the platform reports it; empty: it does not, or reports another worker.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="assignments",
                to="annotation.outsideassignment",
            ),
        ),
        migrations.AddIndex(
            "assignment",
            models.Index(condition=Q(outside__isnull=False), fields=["outside"], name="assignment_of_outside"),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
