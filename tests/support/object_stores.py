"""A server that speaks S3, for tests and benchmarks."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock
from urllib.request import Request, urlopen


@contextmanager
def s3_server(bucket: str = "bucket") -> Iterator[str]:
    """Yields the address of an empty bucket of moto's server; the environment names it and its key meanwhile."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it tells of every request
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    named = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "a-key",
        "AWS_SECRET_ACCESS_KEY": "a-secret",
        "AWS_REGION": "us-east-1",
    }
    try:
        urlopen(Request(f"http://{host}:{port}/{bucket}", method="PUT")).close()
        with mock.patch.dict(os.environ, named):
            yield f"s3://{bucket}"
    finally:
        moto.stop()
