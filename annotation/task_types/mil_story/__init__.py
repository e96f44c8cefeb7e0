"""Stories sentence by sentence, every second one from a suggestion already in the box (Clark 2021, §2.4)."""

from annotation.task_types.mil_story.mil_story import MilStory

TYPES = (MilStory,)
