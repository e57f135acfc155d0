"""Random forms with random inputs, as many as are asked for: ``python -m tests.soak.forms --count 5000``.

The suite plays 500. A valid input must be read back as it was given, an invalid one must change nothing.
"""

import argparse
import os
import sys
import time

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.form_laws import refuses_and_changes_nothing, takes_and_gives_back
from tests.support.random_forms import FORMS


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tests.soak.forms", description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="how many cases (5000)")
    count = parser.parse_args(arguments).count
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    application = QApplication.instance() or QApplication([])
    start = time.monotonic()
    for law in (takes_and_gives_back, refuses_and_changes_nothing):
        play = settings(
            max_examples=count // 2,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )(given(specs=FORMS, data=st.data())(law))
        play()
        application.sendPostedEvents()
    sys.stdout.write(f"{count} cases held in {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
