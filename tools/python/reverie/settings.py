"""Keyword arguments as the keys of a configuration."""

from __future__ import annotations

import os
from typing import Any, Container, Iterable, Mapping, Tuple, Union

Setting = Tuple[str, Union[str, "list[str]"]]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _is_list(value: Any) -> bool:
    return not isinstance(value, (str, bytes, os.PathLike)) and hasattr(value, "__iter__")


def as_list(values: Any) -> list[str]:
    """Texts; a single one is a list of one."""
    return [_text(value) for value in values] if _is_list(values) else [_text(values)]


def bindings(values: Mapping[str, Any] | Iterable[str]) -> list[str]:
    """{"batch": 8, "x": (1, 3)} as "batch=8" and "x=1,3"; texts stay."""
    if not isinstance(values, Mapping):
        return as_list(values)
    return [f"{name}={','.join(as_list(value))}" for name, value in values.items()]


def flatten(known: Container[str], given: Mapping[str, Any], front: str = "") -> list[Setting]:
    """Settings as text; None is left out.

    A dictionary is a section, or a list of NAME=VALUE where `known` has such a key.
    """
    settings: list[Setting] = []
    for name, value in given.items():
        key = front + name
        if isinstance(value, Mapping) and key not in known:
            settings += flatten(known, value, key + ".")
        elif isinstance(value, Mapping):
            settings.append((key, bindings(value)))
        elif value is not None:
            settings.append((key, as_list(value) if _is_list(value) else _text(value)))
    return settings
