"""What holds for all tests."""

import signal

# A shell that runs the suite in the background has it ignore Ctrl-C, and so would every process started here.
signal.signal(signal.SIGINT, signal.default_int_handler)
