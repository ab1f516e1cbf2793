"""Which kind of function a task has: decided once, from its signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any


class FunctionKind(Enum):
    """What a function of a task is called with."""

    BLOCK = "block"
    """Called with each block; daisy owns the loop."""

    WORKER = "worker"
    """Called with nothing; it drives a ``daisy.Client`` of its own."""

    WORKER_WITH_CONTEXT = "worker_with_context"
    """Called with the keyword ``context`` only."""


def kind_of(function: Callable[..., Any]) -> FunctionKind:
    """The kind of ``function``.

    Raises:
        TypeError: If it is not callable, is asynchronous or a generator, or cannot be called with one
            block or with nothing.
    """
    if not callable(function):
        raise TypeError(
            f"argument 'process_function': expected a function, got {function!r} "
            f"({type(function).__name__})"
        )
    refuse_asynchronous(function)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # Some functions written in C do not tell; a function that is handed over is called with a block.
        return FunctionKind.BLOCK
    return _kind_of_parameters(function, list(parameters))


def _kind_of_parameters(
    function: Callable[..., Any], parameters: list[inspect.Parameter]
) -> FunctionKind:
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p.name for p in positional if p.default is p.empty]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(required) > 1:
        raise TypeError(
            f"argument 'process_function': {name_of(function)} has {len(required)} required "
            f"arguments ({', '.join(required)}), expected one (the block) or none (a function that "
            "drives a daisy.Client); bind the others with functools.partial"
        )
    takes_block = bool(positional) or takes_any
    if keywords and (takes_block or keywords != ["context"]):
        raise TypeError(
            f"argument 'process_function': {name_of(function)} has required keyword-only arguments "
            f"({', '.join(keywords)}), expected none; bind them with functools.partial"
        )
    if takes_block:
        return FunctionKind.BLOCK
    if any(p.name == "context" and p.kind is p.KEYWORD_ONLY for p in parameters):
        return FunctionKind.WORKER_WITH_CONTEXT
    return FunctionKind.WORKER


def refuse_asynchronous(function: Callable[..., Any], argument: str = "process_function") -> None:
    """Refuse a function whose body does not run when it is called, however it is wrapped."""
    for layer in _layers(function):
        if inspect.iscoroutinefunction(layer) or inspect.isasyncgenfunction(layer):
            what, remedy = "an async function", "lambda block: asyncio.run(function(block))"
        elif inspect.isgeneratorfunction(layer):
            what, remedy = "a generator function", "lambda block: list(function(block))"
        else:
            continue
        raise TypeError(
            f"argument {argument!r}: {name_of(function)} is {what}, whose body does not run when "
            f"it is called; expected a plain function, for example {remedy}"
        )


def _layers(function: Any) -> list[Any]:
    """The function and what partials, methods, callable objects and decorators wrap."""
    layers: list[Any] = []
    while function is not None and not any(function is layer for layer in layers):
        layers.append(function)
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function) and not inspect.isclass(function):
            function = getattr(type(function), "__call__", None)  # noqa: B004 - to look at it, not to test
        else:
            break
    return layers


def name_of(function: Any) -> str:
    """How messages call a function."""
    name = getattr(function, "__qualname__", None)
    return f"{name}()" if isinstance(name, str) else repr(function)
