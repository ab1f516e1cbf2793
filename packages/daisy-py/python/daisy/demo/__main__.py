"""``python -m daisy.demo``."""

import sys

from daisy.demo import main

if __name__ == "__main__":
    sys.exit(main())
