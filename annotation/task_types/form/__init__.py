"""An instrument that a study describes itself: what is shown and what is asked, without Python."""

from annotation.task_types.form.form import FormType

TYPES = (FormType,)
