"""Sends every boto3 client for MTurk to the address in AWS_ENDPOINT_URL_MTURK, also where a tool names Amazon's own.

Python runs a module of this name when it starts. Put the folder on the path of the tool that is to be sent elsewhere:

    PYTHONPATH=examples/mturk psiturk

Without the variable everything stays as it is. botocore is older than the variable in some tools' environments; this
works with any of its versions.
"""

import os

try:
    from botocore.session import Session
except ImportError:  # an environment without boto3, or its installer
    Session = None

if Session is not None:
    create_client = Session.create_client

    def create_client_here(self, service_name, *args, **options):
        address = os.environ.get("AWS_ENDPOINT_URL_MTURK")
        if service_name == "mturk" and address:
            options["endpoint_url"] = address
        return create_client(self, service_name, *args, **options)

    Session.create_client = create_client_here
