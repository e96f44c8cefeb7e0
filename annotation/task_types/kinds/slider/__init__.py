"""A place on a line."""

from annotation.task_types.kinds.slider.slider import SliderQuestion

KIND = SliderQuestion
__all__ = ["KIND", "SliderQuestion"]
