"""Starts the customer application: with a window, or for one request without one (``--headless``)."""

import sys

from examples.crm.app import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
