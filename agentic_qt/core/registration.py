"""One living capability in a registry: the handle that its owner holds."""

import inspect
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from agentic_qt.core.capability import Capability, Risk, Target
from agentic_qt.core.errors import DeclarationError
from agentic_qt.schema.canonical import canonical
from agentic_qt.schema.validate import CompiledSchema, SchemaError, compile_schema

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

MAX_NAME = 128
"""Characters of a capability's name."""
_MAX_TARGET = 1024
_DEFINITIONS = ("$defs", "definitions")
_NAME = re.compile(rf"[^\s\x00-\x1f\x7f\ud800-\udfff]{{1,{MAX_NAME}}}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class ChangeKind(StrEnum):
    """How the catalogue changed."""

    MOUNTED = "mounted"
    REPLACED = "replaced"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    DISPOSED = "disposed"


class Signature:
    """What a callable of the application takes, read once."""

    __slots__ = ("accepts", "context", "positional", "required")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.positional = ""
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # builtins without a signature: Python judges the call
            self.context, self.required, self.accepts = False, frozenset[str](), None
            return
        for parameter in parameters:
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.default is parameter.empty:
                self.positional = parameter.name
        keyword = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.context = any(p.name == "ctx" for p in keyword)
        self.required = frozenset(p.name for p in keyword if p.default is p.empty and p.name != "ctx")
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.accepts = None if takes_all else frozenset(p.name for p in keyword)


class Declared:
    """A capability that was checked: everything the pipeline needs of it, computed once."""

    __slots__ = (
        "accepts",
        "handler",
        "input_schema",
        "is_plain",
        "is_read",
        "output",
        "payload_tail",
        "preview",
        "required",
        "risk",
        "schema",
        "secret_elsewhere",
        "secrets",
    )

    def __init__(self, capability: Capability) -> None:
        _check_fields(capability)
        name = capability.name
        self.schema = _compile(name, "input_schema", closed(capability.input_schema))
        # A copy of our own, in the programmer's order: nobody can change it behind the compiled one.
        self.input_schema: Mapping[str, Any] = json.loads(json.dumps(closed(capability.input_schema)))
        self.output: CompiledSchema | None = None
        if capability.output_schema is not None:
            self.output = _compile(name, "output_schema", capability.output_schema, root="any")
        self.handler = _check_handler(capability)
        self.preview = _check_preview(capability, self.handler)
        # What an open schema lets through must still be something that the handler can be called with.
        self.required = self.handler.required - set(self.input_schema.get("required", ()))
        self.accepts = self.handler.accepts if is_open(self.input_schema) else None
        self.is_plain = not self.required and self.accepts is None
        may_hold_secrets = self.schema.mentions("writeOnly") or self.schema.mentions("password")
        self.secrets = secret_properties(self.input_schema) if may_hold_secrets else frozenset()
        self.secret_elsewhere = may_hold_secrets and has_secret_elsewhere(self.input_schema)
        self.risk = capability.effective_risk
        self.is_read = self.risk is Risk.READ
        target_id = None if capability.target is None else capability.target.id
        # The canonical JSON of {name, targetId, input}: the properties in the order of RFC 8785.
        self.payload_tail = b',"name":' + canonical(name) + b',"targetId":' + canonical(target_id) + b"}"


class Registration:
    """A capability's place in the catalogue, bound to its own identity.

    Attributes:
        capability: As declared.
        mounted_revision: The catalogue's revision at which this name and target appeared.
        breaking_revision: The revision of the last change of name, target, schema, risk or handler.
        visible_revision: The revision since which it has been in the catalogue without a break.
        hidden_revision: The revision at which it was last suspended, or 0.
        busy_key: What stays busy when a handler does not end: the target, or the name where there is none.
    """

    __slots__ = (
        "_registry",
        "breaking_revision",
        "busy_key",
        "capability",
        "declared",
        "disposed",
        "hidden_revision",
        "mounted_revision",
        "reason",
        "suspended",
        "target_id",
        "visible_revision",
    )

    def __init__(self, registry: "Registry", capability: Capability, declared: Declared) -> None:
        self._registry = registry
        self.capability = capability
        self.declared = declared
        self.target_id = None if capability.target is None else capability.target.id
        self.busy_key = (self.target_id,) if self.target_id is not None else (None, capability.name)
        self.suspended = False
        self.disposed = False
        self.reason = ""
        self.mounted_revision = 0
        self.breaking_revision = 0
        self.visible_revision = 0
        self.hidden_revision = 0

    @property
    def name(self) -> str:
        """The capability's name."""
        return self.capability.name

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The schema that calls are judged by: the declared one, closed to unknown properties."""
        return self.declared.input_schema

    @property
    def target(self) -> Target | None:
        """The capability's target."""
        return self.capability.target

    def suspend(self, reason: str = "") -> None:
        """Take the capability out of the catalogue for a while; calls are ``unavailable`` with the reason."""
        if not self.disposed and not self.suspended:
            self.suspended = True
            self.reason = reason
            self._registry._changed(ChangeKind.SUSPENDED, self)  # noqa: SLF001 - the registry's own handle

    def resume(self) -> None:
        """Put a suspended capability back where it was."""
        if not self.disposed and self.suspended:
            self.suspended = False
            self.reason = ""
            self._registry._changed(ChangeKind.RESUMED, self)  # noqa: SLF001 - the registry's own handle

    def replace(self, capability: Capability | None = None, **changes: Any) -> "Registration":
        """Put another declaration in this place; remembered approvals are void.

        Args:
            capability: The whole new declaration; its name and target may differ. Without it, today's is taken.
            changes: Fields to change in it.

        Returns:
            The successor; this registration is disposed and can do no harm to it.

        Raises:
            DeclarationError: The new declaration is malformed, its place is taken, or this registration was disposed.
        """
        try:
            successor = replace(capability or self.capability, **changes)
        except TypeError as error:
            raise DeclarationError(f"{self!r} cannot be replaced: {error}") from error
        return self._registry._replace(self, successor)

    def dispose(self) -> None:
        """Remove the capability; the second time does nothing."""
        if not self.disposed:
            self._registry._remove(self)  # noqa: SLF001 - the registry's own handle

    def __repr__(self) -> str:
        state = "disposed" if self.disposed else "suspended" if self.suspended else "living"
        return f"<Registration {self.name!r} target={self.target_id!r} {state}>"


def closed(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse unknown properties unless the schema itself says what they may be: no argument sneaks past the person."""
    if not isinstance(schema, Mapping) or "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return schema
    return {**schema, "additionalProperties": False}


def is_open(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema lets properties through that it does not name."""
    return schema.get("additionalProperties", True) is not False or bool(schema.get("patternProperties"))


def secret_properties(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the properties that are, or hold, a secret (``writeOnly``, or a string of the format ``password``).

    References are followed by their text alone: a property that refers to anything counts when any definition of the
    schema is secret.
    """
    shared = _shares_secrets(schema)
    properties = schema.get("properties", {})
    return frozenset(name for name, inner in properties.items() if _is_secret(inner, shared=shared))


def has_secret_elsewhere(schema: Mapping[str, Any]) -> bool:
    """Return whether something is secret that stands in no property of its own: of a pattern, or of any other name."""
    rest = {keyword: inner for keyword, inner in schema.items() if keyword not in ("properties", *_DEFINITIONS)}
    return _is_secret(rest, shared=_shares_secrets(schema))


def _shares_secrets(schema: Mapping[str, Any]) -> bool:
    return any(_is_secret(schema.get(keyword, {}), shared=False) for keyword in _DEFINITIONS)


def _is_secret(part: Any, *, shared: bool) -> bool:
    if isinstance(part, Mapping):
        own = part.get("writeOnly") is True or part.get("format") == "password" or (shared and "$ref" in part)
        return own or any(_is_secret(inner, shared=shared) for inner in part.values())
    return isinstance(part, list) and any(_is_secret(inner, shared=shared) for inner in part)


def is_breaking(old: Registration, new: Registration) -> bool:
    """Whether a call planned on `old` must not run on `new`."""
    return (
        old.name != new.name
        or old.target_id != new.target_id
        or old.declared.schema.fingerprint != new.declared.schema.fingerprint
        or old.declared.risk is not new.declared.risk
        or old.capability.handler != new.capability.handler
    )


def _check_fields(capability: Capability) -> None:
    if not isinstance(capability, Capability):
        raise DeclarationError(f"only a Capability can be registered, not {capability!r}")
    name = capability.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DeclarationError(f"a capability's name must be 1 to 128 characters without spaces, not {name!r}")
    for field in ("description", "title"):
        if not isinstance(getattr(capability, field), str):
            raise DeclarationError(f"{name!r}: {field} must be a string, not {getattr(capability, field)!r}")
    for field in ("egress", "confirms_itself", "nested"):
        if not isinstance(getattr(capability, field), bool):
            raise DeclarationError(f"{name!r}: {field} must be True or False, not {getattr(capability, field)!r}")
    _check_callables(capability)
    timeout = capability.timeout
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise DeclarationError(f"{name!r}: timeout must be a number of seconds above 0, not {timeout!r}")
    target = capability.target
    if target is not None and not _is_target(target):
        raise DeclarationError(f"{name!r}: target must be a Target with an id and a label (strings), not {target!r}")


def _is_target(target: Any) -> bool:
    if not isinstance(target, Target) or not isinstance(target.id, str) or not isinstance(target.label, str):
        return False
    return 0 < len(target.id) <= _MAX_TARGET and not _SURROGATE.search(target.id)


def _check_callables(capability: Capability) -> None:
    name = capability.name
    if not callable(capability.handler):
        raise DeclarationError(f"{name!r}: the handler must be callable, not {capability.handler!r}")
    try:
        Risk(capability.risk)
    except ValueError:
        known = ", ".join(risk.value for risk in Risk)
        raise DeclarationError(f"{name!r}: risk must be one of {known}, not {capability.risk!r}") from None
    for field in ("available", "preview", "approver"):
        value = getattr(capability, field)
        if value is not None and not callable(value):
            raise DeclarationError(f"{name!r}: {field} must be callable, not {value!r}")
    for field in ("handler", "available", "preview", "approver"):
        if getattr(capability, field) is not None and _is_generator(getattr(capability, field)):
            raise DeclarationError(f"{name!r}: {field} must return or be awaited, and not yield")
    if capability.available is not None and _is_async(capability.available):
        raise DeclarationError(f"{name!r}: available must answer at once, so it cannot be async")


def _bare(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    if function is None or inspect.isroutine(function) or inspect.isclass(function):
        return function
    return getattr(type(function), "__call__", function)  # noqa: B004 - the code behind an object that is called


def _is_generator(function: Any) -> bool:
    bare = _bare(function)
    if inspect.isasyncgenfunction(bare):
        return True
    code = getattr(inspect.unwrap(bare) if bare is not None else None, "__code__", None)
    is_old_coroutine = code is not None and bool(code.co_flags & inspect.CO_ITERABLE_COROUTINE)
    return inspect.isgeneratorfunction(bare) and not is_old_coroutine


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(_bare(function))


def _compile(name: str, field: str, schema: Any, **options: Any) -> CompiledSchema:
    try:
        return compile_schema(schema, **options)
    except SchemaError as error:
        raise DeclarationError(f"{name!r}: {field}: {error}") from error


def _check_handler(capability: Capability) -> Signature:
    name, handler = capability.name, capability.handler
    signature = Signature(handler)
    properties = capability.input_schema.get("properties", {})
    if signature.positional:
        raise DeclarationError(
            f"{name!r}: {handler!r} takes {signature.positional!r} by position only; it is called by keywords"
        )
    if "_target" in properties:
        raise DeclarationError(f"{name!r}: the property '_target' is reserved for choosing a target")
    if signature.context and "ctx" in properties:
        raise DeclarationError(f"{name!r}: the property 'ctx' collides with the handler's context parameter")
    if signature.accepts is None:
        return signature
    extra = sorted(set(properties) - signature.accepts)
    if extra:
        raise DeclarationError(
            f"{name!r}: {handler!r} has no parameter for the schema's properties {extra}; "
            f"it takes {sorted(signature.accepts)}"
        )
    missing = sorted(signature.required - set(properties))
    if missing and capability.input_schema.get("additionalProperties", False) is False:
        raise DeclarationError(
            f"{name!r}: {handler!r} needs {missing}, which the schema does not have; it has {sorted(properties)}"
        )
    return signature


def _check_preview(capability: Capability, handler: Signature) -> Signature | None:
    """The preview is called with what the handler is called with, so it may need no more than is always there."""
    if capability.preview is None:
        return None
    signature = Signature(capability.preview)
    there = handler.required | set(capability.input_schema.get("required", ()))
    missing = sorted(signature.required - there)
    if missing or signature.positional:
        raise DeclarationError(
            f"{capability.name!r}: the preview {capability.preview!r} needs {missing or [signature.positional]} by "
            f"keyword; of the input only {sorted(there)} is always there"
        )
    return signature
