"""The instruments: one package per family. ``registry`` finds them; ``base.TaskType`` describes their interface."""
