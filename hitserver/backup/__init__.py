"""Everything that a server must not lose, in one file: ``manage.py backup`` and ``manage.py restore``.

``archive`` handles the file, ``databases`` the two kinds of database. ``service`` decides what belongs in a backup and
when one can be restored.
"""
