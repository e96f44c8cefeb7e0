"""Commands of ``python -m analysis``, one module each.

A command module has ``add_parser(subparsers)``, which adds its parser or parsers and calls
``set_defaults(run=function)`` on each; `analysis.__main__.COMMANDS` has a line for every command.
``function(arguments) -> int`` does the work and returns the exit status. It raises `analysis.tables.InputError` for
unusable input; the caller prints the error and exits with 2.
"""
