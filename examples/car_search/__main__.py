"""Starts the car search: ``python -m examples.car_search``."""

import sys

from PySide6.QtWidgets import QApplication

import agentic_qt
from examples.car_search.app import show

if __name__ == "__main__":
    app = QApplication(sys.argv)
    sys.exit(agentic_qt.run(show))
