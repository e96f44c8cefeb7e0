"""The instruments: one package per family, found by looking (``registry``), each described by ``base.TaskType``."""
