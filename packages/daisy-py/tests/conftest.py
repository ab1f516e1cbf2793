"""What holds for all tests."""

import signal
import sys
from collections.abc import Iterator

import pytest

# A shell that runs the suite in the background has it ignore Ctrl-C, and so would every process started here.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def logs_go_where_they_went() -> Iterator[None]:
    """Where logs go is a setting of the process: no test leaves it to the next."""
    yield
    # The tests of programs in environments of their own have no daisy here.
    if "daisy" in sys.modules:
        logging = sys.modules["daisy"].logging
        logging.set_log_basedir(logging.LOG_BASEDIR)
