"""``python -m agentic_qt``: the command line."""

import sys

from agentic_qt.cli import main

if __name__ == "__main__":
    sys.exit(main())
