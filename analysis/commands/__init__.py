"""Commands of ``python -m analysis``, one module each.

A command module has ``add_parser(subparsers)``, which adds its parser or parsers and on each calls
``set_defaults(run=function)``, where ``function(arguments) -> int`` does the work and returns the exit status. It
raises `analysis.commands.reading.InputError` for input that cannot be used; the caller prints that and exits with 2.
"""
