"""Numbers: QSpinBox, QDoubleSpinBox, QSlider, QDial, QScrollBar, and a QLineEdit that only takes numbers.

``toolMinimum`` and ``toolMaximum`` stand in place of the widget's bounds (``"none"``: no bound worth telling),
``toolStep`` in place of its single step (``"any"``: every number), counted from ``toolStepBase``, if that is given,
else from the minimum or, without one, from the value.
"""

from decimal import Decimal, InvalidOperation
from typing import Any, Final

from PySide6.QtCore import QLocale, QRegularExpression, SignalInstance
from PySide6.QtGui import QDoubleValidator, QIntValidator
from PySide6.QtWidgets import QAbstractSlider, QDoubleSpinBox, QLineEdit, QSpinBox

from agentic_qt.qt.forms.adapters.base import Adapter, JsonSchema, Profile
from agentic_qt.qt.forms.adapters.text import LineEditAdapter, line_refusal, replace_text

Number = int | float
_MAX_DECIMALS: Final = 9
"""More places than these are no limit that anybody declared, and floats do not keep them."""


class SpinBoxAdapter(Adapter):
    """QSpinBox and QDoubleSpinBox; with ``toolParamType = "range"`` one that is described as a slider."""

    def usable(self, control: QSpinBox | QDoubleSpinBox, profile: Profile) -> bool:
        """Return whether it may be written."""
        return not control.isReadOnly() or (profile == "chromium" and _is_range(control))

    def schema(
        self,
        control: QSpinBox | QDoubleSpinBox,
        profile: Profile,
        *,
        required: bool = False,  # noqa: ARG002 - a number is never empty
        live: bool = True,
    ) -> JsonSchema:
        """Return a number schema with the bounds; an integer one where the widget holds nothing else."""
        if profile == "chromium":
            return _as_browser(control, is_range=_is_range(control))
        schema = _strict(control, whole=isinstance(control, QSpinBox), live=live)
        if isinstance(control, QDoubleSpinBox) and "multipleOf" not in schema:
            if control.decimals() == 0:
                schema["type"] = "integer"
            elif control.decimals() <= _MAX_DECIMALS:
                schema["multipleOf"] = float(Decimal(1).scaleb(-control.decimals()))
        return schema

    def note(self, control: QSpinBox | QDoubleSpinBox) -> str:
        """Return the unit in prefix and suffix, and what the minimum is called."""
        unit = " ".join(part.strip() for part in (control.prefix(), control.suffix()) if part.strip())
        special = control.specialValueText()
        parts = [f"in {unit}"] if unit else []
        parts += [f"{tidy(control.minimum())} = {special}"] if special else []
        return "; ".join(parts)

    def get(self, control: QSpinBox | QDoubleSpinBox) -> Number:
        """Return the value."""
        return tidy(control.value())

    def normal(self, control: QSpinBox | QDoubleSpinBox, value: Any) -> Any:  # noqa: ARG002
        """Return 1 for 1.0."""
        return tidy(value) if isinstance(value, float) else value

    def refusal(self, control: QSpinBox | QDoubleSpinBox, value: Number) -> str:
        """Return the bounds or the decimal places that the widget would silently force upon the value."""
        low, high = tidy(control.minimum()), tidy(control.maximum())
        if not low <= value <= high:
            return f"a number from {low} to {high}"
        if isinstance(control, QDoubleSpinBox) and Decimal(repr(value)) != round(
            Decimal(repr(value)), control.decimals()
        ):
            return f"a number with at most {control.decimals()} decimal places"
        return ""

    def set(self, control: QSpinBox | QDoubleSpinBox, value: Number) -> None:
        """Set the value and commit it, as leaving the field does."""
        if control.value() == value:
            return
        if isinstance(control, QSpinBox):
            control.setValue(int(value))
        else:
            control.setValue(float(value))
        control.editingFinished.emit()

    def changed(self, control: QSpinBox | QDoubleSpinBox) -> tuple[SignalInstance, ...]:
        """Return valueChanged."""
        return (control.valueChanged,)


class SliderAdapter(Adapter):
    """QSlider, QDial, QScrollBar."""

    def schema(
        self,
        control: QAbstractSlider,
        profile: Profile,
        *,
        required: bool = False,  # noqa: ARG002 - a number is never empty
        live: bool = True,
    ) -> JsonSchema:
        """Return an integer schema with the bounds."""
        if profile == "chromium":
            return _as_browser(control, is_range=True)
        return _strict(control, whole=True, live=live)

    def get(self, control: QAbstractSlider) -> int:
        """Return the value."""
        return control.value()

    def normal(self, control: QAbstractSlider, value: Any) -> Any:  # noqa: ARG002
        """Return 1 for 1.0."""
        return tidy(value) if isinstance(value, float) else value

    def refusal(self, control: QAbstractSlider, value: Number) -> str:
        """Return the bounds that the widget would silently force upon the value."""
        low, high = control.minimum(), control.maximum()
        return "" if low <= value <= high and value == int(value) else f"an integer from {low} to {high}"

    def set(self, control: QAbstractSlider, value: int) -> None:
        """Press, drag and release: a slider that does not track follows on release."""
        if control.value() == value:
            return
        control.setSliderDown(True)
        control.setSliderPosition(int(value))
        control.setSliderDown(False)

    def changed(self, control: QAbstractSlider) -> tuple[SignalInstance, ...]:
        """Return valueChanged."""
        return (control.valueChanged,)


class NumberEditAdapter(LineEditAdapter):
    """QLineEdit with a QIntValidator or a QDoubleValidator: a number, written as the validator's locale has it."""

    def schema(self, control: QLineEdit, profile: Profile, *, required: bool = False, live: bool = True) -> JsonSchema:
        """Return a number schema with the validator's bounds; a browser knows such a field as a text."""
        validator = control.validator()
        if profile == "chromium" or not isinstance(validator, QIntValidator | QDoubleValidator):
            return super().schema(control, profile, required=required, live=live)
        schema: JsonSchema = {"type": "integer" if isinstance(validator, QIntValidator) else "number"}
        if not live:
            return schema
        low, high = tidy(validator.bottom()), tidy(validator.top())
        if abs(low) < _unbounded(validator):
            schema["minimum"] = low
        if abs(high) < _unbounded(validator):
            schema["maximum"] = high
        return schema

    def get(self, control: QLineEdit) -> Any:
        """Return the number; None when the field is empty or half written."""
        locale = _locale(control)
        text = control.text()
        whole, is_whole = locale.toLongLong(text)
        if is_whole:
            return whole
        number, is_number = locale.toDouble(text)
        return tidy(number) if is_number else None

    def default(self, control: QLineEdit) -> Any:
        """Return the number, if there is one."""
        return self.get(control)

    def normal(self, control: QLineEdit, value: Any) -> Any:  # noqa: ARG002
        """Return 1 for 1.0."""
        return tidy(value) if isinstance(value, float) else value

    def refusal(self, control: QLineEdit, value: Any) -> str:
        """Return what the validator wants instead."""
        return line_refusal(control, _written(control, value))

    def set(self, control: QLineEdit, value: Any) -> None:
        """Type the number and commit it."""
        if self.get(control) != value:
            replace_text(control, _written(control, value))

    def snapshot(self, control: QLineEdit) -> str:
        """Return the text."""
        return control.text()


def tidy(value: Number) -> Number:
    """Return an integral float as an integer, which is what JSON readers take it for."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _as_browser(control: Any, *, is_range: bool) -> JsonSchema:
    low, high = _bound(control, "toolMinimum"), _bound(control, "toolMaximum")
    low = tidy(control.minimum()) if low is None else low
    high = tidy(control.maximum()) if high is None else high
    base = _number(control.property("toolStepBase"))
    if base is None:
        base = tidy(control.value()) if isinstance(low, str) else low
    schema: JsonSchema = {"type": "number"}
    if is_range:
        low = tidy(control.minimum()) if low == "none" else low
        high = tidy(control.maximum()) if high == "none" else high
        high = max(high, low)
    if low != "none":
        schema["minimum"] = low
    if high != "none":
        schema["maximum"] = high
    step = _step(control, is_range=is_range)
    if step is not None and _is_multiple(base, step):
        schema["multipleOf"] = step
    pattern = control.property("toolPattern")
    if not is_range and isinstance(pattern, str) and QRegularExpression(pattern).isValid():
        schema["pattern"] = pattern
    return schema


def _step(control: Any, *, is_range: bool) -> Number | None:
    declared = control.property("toolStep")
    if declared == "any":
        return 1 if is_range else None
    return _number(declared) or tidy(control.singleStep())


def _strict(control: Any, *, whole: bool, live: bool) -> JsonSchema:
    low, high = tidy(control.minimum()), tidy(control.maximum())
    named_low, named_high = _bound(control, "toolMinimum"), _bound(control, "toolMaximum")
    least = low if isinstance(named_low, str | None) else max(low, named_low)
    most = high if isinstance(named_high, str | None) else min(high, named_high)
    schema: JsonSchema = {"type": "integer" if whole else "number"}
    if live:
        schema |= {"minimum": least, "maximum": most}
    step = _number(control.property("toolStep"))
    if step is not None and _is_multiple(least, step) and not (whole and step == 1):
        schema["multipleOf"] = step
    return schema


def _bound(control: Any, name: str) -> Number | str | None:
    value = control.property(name)
    if isinstance(value, str) and value.strip().lower() == "none":
        return "none"
    return _number(value)


def _number(value: Any) -> Number | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return tidy(number)


def _is_multiple(base: Number, step: Number) -> bool:
    try:
        return Decimal(repr(base)) % Decimal(repr(step)) == 0
    except InvalidOperation:  # a quotient of more digits than decimals keep
        return False


def _is_range(control: Any) -> bool:
    return bool(control.property("toolParamType") == "range")


def _unbounded(validator: QIntValidator | QDoubleValidator) -> float:
    return 2**31 - 1 if isinstance(validator, QIntValidator) else 1e300


def _locale(control: QLineEdit) -> QLocale:
    validator = control.validator()
    return validator.locale() if validator is not None else QLocale.c()


def _written(control: QLineEdit, value: Number) -> str:
    locale = _locale(control)
    locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator | QLocale.NumberOption.RejectGroupSeparator)
    if isinstance(value, int):
        return locale.toString(value)
    places = max(0, -int(Decimal(repr(value)).as_tuple().exponent))
    return locale.toString(value, "f", places)
