"""Django's command line for this project."""

import os
import sys

from django.core.management import execute_from_command_line

from hitserver.private import keep_new_files_private

if __name__ == "__main__":
    keep_new_files_private()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
    execute_from_command_line(sys.argv)
