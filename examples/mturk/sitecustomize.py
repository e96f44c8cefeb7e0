"""Sends every boto3 client for MTurk to the address in AWS_ENDPOINT_URL_MTURK, even if a tool sets Amazon's.

Python runs a module with this name when it starts. Put this folder on the Python path of the tool:

    PYTHONPATH=examples/mturk psiturk

Without the variable, nothing changes. Some tools use a botocore that is too old to know the variable; this works with
every version.
"""

import os

try:
    from botocore.session import Session
except ImportError:  # an environment without boto3, or one that is just being installed
    Session = None

if Session is not None:
    create_client = Session.create_client

    def create_client_here(self, service_name, *args, **options):
        address = os.environ.get("AWS_ENDPOINT_URL_MTURK")
        if service_name == "mturk" and address:
            options["endpoint_url"] = address
        return create_client(self, service_name, *args, **options)

    Session.create_client = create_client_here
