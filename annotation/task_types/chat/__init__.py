"""People talk with one language model, or with two side by side, and judge what they said."""

from annotation.task_types.chat.chat import Chat

TYPES = (Chat,)
