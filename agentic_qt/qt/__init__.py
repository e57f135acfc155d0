"""An application's widgets become capabilities: the event loop, a window's scope, the binder and its sugar."""

from agentic_qt.qt.platform_check import check_platform

check_platform()
