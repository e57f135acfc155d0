"""The customer application for tests: a filled store in memory, a window with settings of its own."""

import pytest
from PySide6.QtCore import QSettings

from examples.crm.domain import Store
from examples.crm.sample_data import sample_customers, sample_orders
from examples.crm.window import CrmWindow


@pytest.fixture
def store():
    made = Store(":memory:")
    made.fill(sample_customers(), sample_orders())
    yield made
    made.close()


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def window(qapp, store, settings):
    made = CrmWindow(store, settings)
    made.show()
    made.activateWindow()
    yield made
    made.form.show_customer(None)  # nothing unsaved keeps it open
    made.close()
    made.deleteLater()
