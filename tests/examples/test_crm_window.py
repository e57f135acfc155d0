"""The window of the customer application, with real keys and mouse clicks, and no assistant."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton

from examples.crm.dialogs import NewOrderDialog
from examples.crm.models import ID_ROLE
from examples.crm.window import CrmWindow
from tests.support.approval_stage import until

pytestmark = pytest.mark.anyio
ADA, GRACE, ALAN = 1, 2, 3


def shown_ids(window):
    proxy = window.list.proxy
    return [proxy.index(row, 0).data(ID_ROLE) for row in range(proxy.rowCount())]


def click_row(window, customer_id):
    table = window.list.table
    row = window.list.proxy.row_of(customer_id)
    assert row >= 0
    index = window.list.proxy.index(row, 0)
    table.scrollTo(index)
    place = table.visualRect(index).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)


def retype(window, field, text):
    editor = window.form.editor(field)
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(editor, text) if text else QTest.keyClick(editor, Qt.Key.Key_Delete)


def box():
    found = [
        widget for widget in QApplication.topLevelWidgets() if isinstance(widget, QMessageBox) and widget.isVisible()
    ]
    assert len(found) == 1
    return found[0]


def press(message_box, text):
    for button in message_box.buttons():
        if button.text().replace("&", "").startswith(text):
            QTest.mouseClick(button, Qt.MouseButton.LeftButton)
            return
    raise AssertionError([button.text() for button in message_box.buttons()])


async def idle(window):
    await until(lambda: not window.clerk.is_busy)


def test_click_on_a_row_shows_the_customer_and_the_orders(window):
    click_row(window, GRACE)
    assert window.form.values()["name"] == "Grace Hopper"
    assert window.detail.orders.model.rowCount() == 3
    assert window.detail.tabs.tabText(1) == "O&rders (3)"


def test_arrow_keys_move_through_the_table_and_the_form_follows(window):
    click_row(window, ADA)
    QTest.keyClick(window.list.table, Qt.Key.Key_Down)
    assert window.form.customer.id != ADA
    QTest.keyClick(window.list.table, Qt.Key.Key_Up)
    assert window.form.customer.id == ADA


def test_typing_into_the_search_narrows_the_table_and_escape_widens_it(window):
    QTest.keyClicks(window.list.search, "nguyen van an")
    assert set(shown_ids(window)) == {5, 6}
    assert window._count.text() == "2 of 240 customers"
    QTest.keyClick(window.list.search, Qt.Key.Key_Escape)
    assert len(shown_ids(window)) == 240


def test_down_in_the_search_goes_to_the_first_row(window):
    window.list.search.setFocus()
    QTest.keyClicks(window.list.search, "grace hopper")
    QTest.keyClick(window.list.search, Qt.Key.Key_Down)
    assert window.focusWidget() is window.list.table
    assert window.form.customer.id == GRACE


def test_search_without_a_match_says_so(window):
    QTest.keyClicks(window.list.search, "zzzz")
    assert window.list._nothing.isVisible()
    assert window.list._nothing.text() == "No customer matches."
    QTest.keyClick(window.list.search, Qt.Key.Key_Escape)
    assert window.list.table.isVisible()


def test_status_filter_works_together_with_the_search(window):
    QTest.keyClicks(window.list.search, "nguyen van an")
    window.list.status.setFocus()
    QTest.keyClicks(window.list.status, "Le")
    assert window.list.status.currentData() == "lead"
    assert shown_ids(window) == [6]


def test_click_on_a_heading_sorts_and_accents_do_not_matter(window):
    header = window.list.table.horizontalHeader()
    city = 3
    place = QPoint(header.sectionViewportPosition(city) + 8, header.height() // 2)
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert header.sortIndicatorSection() == city
    customers = {customer.id: customer for customer in window.store.customers()}
    cities = [customers[number].city for number in shown_ids(window)]
    assert cities.index("Đà Nẵng") < cities.index("Geneva") < cities.index("Göttingen") < cities.index("London")


async def test_typing_makes_the_form_dirty_and_return_saves_it(window):
    click_row(window, ADA)
    assert not window.form.save_button.isEnabled()
    retype(window, "email", "ada@example.com")
    assert window.isWindowModified()
    assert window.edited_customer == ADA
    QTest.keyClick(window.form.editor("email"), Qt.Key.Key_Return)
    await idle(window)
    assert window.store.customer(ADA).email == "ada@example.com"
    assert not window.isWindowModified()
    assert window.edited_customer is None
    assert "ada@example.com" in [window.list.proxy.index(r, 4).data() for r in range(240)]


async def test_save_shortcut_saves(window):
    click_row(window, ADA)
    retype(window, "city", "Paris")
    QTest.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    await idle(window)
    assert window.store.customer(ADA).city == "Paris"


def test_invalid_input_is_explained_beside_the_field_and_cannot_be_saved(window):
    click_row(window, ADA)
    retype(window, "email", "ada")
    label = window.form._errors["email"]
    assert label.isVisible()
    assert "not an e-mail address" in label.text()
    assert window.form.editor("email").accessibleDescription() == label.text()
    assert not window.form.save_button.isEnabled()
    QTest.keyClick(window.form.editor("email"), Qt.Key.Key_Return)
    assert window.store.customer(ADA).email == "ada.lovelace@example.org"
    QTest.keyClicks(window.form.editor("email"), "@example.com")
    assert not label.isVisible()
    assert window.form.save_button.isEnabled()


def test_revert_brings_back_what_is_stored(window):
    click_row(window, ADA)
    retype(window, "name", "Augusta")
    QTest.mouseClick(window.form.revert_button, Qt.MouseButton.LeftButton)
    assert window.form.values()["name"] == "Ada Lovelace"
    assert not window.form.dirty


async def test_undo_and_redo_move_one_edit_back_and_forth(window):
    click_row(window, ADA)
    retype(window, "city", "Paris")
    window.actions_.save.trigger()
    await idle(window)
    window.actions_.undo.trigger()
    await idle(window)
    assert window.store.customer(ADA).city == "London"
    assert window.form.values()["city"] == "London"
    window.actions_.redo.trigger()
    await idle(window)
    assert window.store.customer(ADA).city == "Paris"


async def test_undo_of_a_row_that_somebody_changed_since_does_nothing_and_says_so(window, elsewhere):
    """FC-22"""
    click_row(window, ADA)
    retype(window, "city", "Paris")
    window.actions_.save.trigger()
    await idle(window)
    elsewhere.update_customer(ADA, {"city": "Rome"})
    window.actions_.undo.trigger()
    await idle(window)
    assert window.store.customer(ADA).city == "Rome"
    assert "changed since" in window.statusBar().currentMessage()
    assert not window.history.stack.canUndo()
    assert not window.actions_.undo.isEnabled()


def test_other_row_while_dirty_asks_and_discard_goes_on(window):
    click_row(window, ADA)
    retype(window, "city", "Paris")
    click_row(window, GRACE)
    assert window.form.customer.id == ADA
    assert window.list.current_id == ADA
    press(box(), "Discard")
    assert window.form.customer.id == GRACE
    assert window.store.customer(ADA).city == "London"


async def test_other_row_while_dirty_can_save_first_or_stay(window):
    click_row(window, ADA)
    retype(window, "city", "Paris")
    click_row(window, GRACE)
    press(box(), "Cancel")
    assert window.form.values()["city"] == "Paris"
    click_row(window, GRACE)
    press(box(), "Save")
    await idle(window)
    assert window.store.customer(ADA).city == "Paris"
    assert window.form.customer.id == GRACE


def test_close_while_dirty_asks_first(window):
    click_row(window, ADA)
    retype(window, "city", "Paris")
    assert not window.close()
    assert window.isVisible()
    press(box(), "Discard")
    assert not window.isVisible()


async def test_new_customer_is_stored_when_name_and_address_are_there(window):
    QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    assert window.focusWidget() is window.form.editor("name")
    QTest.keyClicks(window.form.editor("name"), "Barbara Liskov")
    assert not window.form.save_button.isEnabled()
    QTest.keyClicks(window.form.editor("email"), "barbara@example.com")
    QTest.keyClick(window.form.editor("email"), Qt.Key.Key_Return)
    await idle(window)
    (customer,) = window.store.find_customers("Barbara Liskov")
    assert window.form.customer == customer
    assert window.list.current_id == customer.id
    window.actions_.undo.trigger()
    await idle(window)
    assert window.store.find_customers("Barbara Liskov") == []
    assert window.form.customer is None


async def test_delete_asks_and_only_delete_deletes(window):
    click_row(window, ALAN)
    window.actions_.delete.trigger()
    asked = box()
    assert asked.defaultButton().text().replace("&", "") == "Cancel"
    press(asked, "Cancel")
    assert window.store.customer(ALAN)
    window.actions_.delete.trigger()
    press(box(), "Delete")
    await idle(window)
    assert ALAN not in shown_ids(window)
    assert window.form.customer is None


def test_delete_with_open_orders_is_refused_and_names_them(window):
    click_row(window, GRACE)
    window.actions_.delete.trigger()
    message = box()
    assert "1004" in message.informativeText()
    assert "1005" in message.informativeText()
    assert [button.text().replace("&", "") for button in message.buttons()] == ["OK"]
    press(message, "OK")
    assert window.store.customer(GRACE)


async def test_order_gets_a_status_from_the_menu(window):
    click_row(window, GRACE)
    window.detail.tabs.setCurrentIndex(1)
    orders = window.detail.orders
    assert not orders.status_button.isEnabled()
    orders.table.selectRow(1)
    order = orders.model.order_at(1)
    assert (order.id, order.status) == (1005, "open")
    next(action for action in orders.status_menu.actions() if action.text() == "Shipped").trigger()
    await idle(window)
    assert window.store.order(1005).status == "shipped"
    assert orders.status_button.isEnabled()
    window.actions_.undo.trigger()
    await idle(window)
    assert window.store.order(1005).status == "open"


async def test_new_order_needs_an_item_and_is_added_to_the_customer_shown(window):
    click_row(window, ALAN)
    window.detail.tabs.setCurrentIndex(1)
    QTest.mouseClick(window.detail.orders.new_button, Qt.MouseButton.LeftButton)
    dialog = window.findChild(NewOrderDialog)
    assert not dialog.ok.isEnabled()
    QTest.keyClicks(dialog.item, "Bombe")
    dialog.amount.setValue(12.5)
    QTest.mouseClick(dialog.ok, Qt.MouseButton.LeftButton)
    await idle(window)
    added = next(order for order in window.store.orders(ALAN) if order.item == "Bombe")
    assert (added.amount_cents, added.status) == (1250, "open")
    assert window.detail.orders.model.rowCount() == len(window.store.orders(ALAN))


def test_theme_is_applied_checked_and_remembered(window, settings, backend, qapp):
    light = qapp.palette().window().color()
    window.actions_.themes["dark"].trigger()
    assert qapp.palette().window().color().lightness() < 80
    assert window.actions_.themes["dark"].isChecked()
    again = CrmWindow(backend.store, settings, service=backend.service, actor=backend.actor)
    assert again.actions_.themes["dark"].isChecked()
    again.show_theme("light")
    assert qapp.palette().window().color().lightness() > 200
    again.show_theme("system")
    assert light.isValid()


def test_what_another_process_wrote_is_seen_when_the_window_is_activated(window, elsewhere):
    window.show_customer(ADA)
    elsewhere.update_customer(ADA, {"city": "Paris"})
    window._look_for_changes()
    assert window.form.values()["city"] == "Paris"


async def test_refresh_keeps_what_the_person_is_typing(window, elsewhere):
    """FC-22, FC-25"""
    click_row(window, ADA)
    retype(window, "city", "Paris")
    elsewhere.update_customer(ADA, {"phone": "+44 20 7946 0999"})
    window.actions_.refresh.trigger()
    assert window.form.values()["city"] == "Paris"
    window.actions_.save.trigger()
    await idle(window)
    assert box().informativeText() == ("It was changed meanwhile by another window. Revert to see what is stored.")
    press(box(), "OK")
    assert window.store.customer(ADA).city == "London"


def test_every_control_has_a_name_for_screen_readers(window):
    click_row(window, ADA)
    for field in window.form.values():
        assert window.form.editor(field).accessibleName()
    assert window.list.table.accessibleName() == "Customers"
    assert window.list.search.accessibleName()
    for button in window.findChildren(QPushButton):
        assert button.text() or button.accessibleName()


def test_shortcuts_are_unique(window):
    taken = [
        key.toString()
        for action in window.findChildren(type(window.actions_.new))
        for key in action.shortcuts()[:1]
        if not action.shortcut().isEmpty()
    ]
    assert len(taken) == len(set(taken))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_status_words_can_be_read_on_their_background(window, scheme):
    from examples.crm.domain import CUSTOMER_STATUSES, ORDER_STATUSES
    from examples.crm.look import error_colour, status_colours

    window.show_theme(scheme)
    palette = window.palette()
    pairs = [status_colours(status, palette) for status in (*CUSTOMER_STATUSES, *ORDER_STATUSES)]
    pairs.append((error_colour(palette), palette.window().color()))
    for text, background in pairs:
        lighter, darker = sorted((luminance(text), luminance(background)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5
    window.show_theme("system")


def luminance(colour):
    def linear(part):
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF())


def test_search_that_hides_the_customer_in_the_form_leaves_the_form_alone(window):
    click_row(window, ADA)
    QTest.keyClicks(window.list.search, "grace")
    assert window.form.customer.id == ADA
    assert window.list.current_id is None
    QTest.keyClick(window.list.search, Qt.Key.Key_Escape)
    assert window.list.current_id == ADA
