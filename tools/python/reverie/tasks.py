"""Work as tasks: functions of their arguments alone, on whatever machine an executor runs them."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import io
import os
import pathlib
import tarfile
import tempfile
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, TypeVar

from .program import run
from .settings import Setting

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Written:
    """What a command told, and the files that it wrote."""

    told: dict[str, Any]
    archive: bytes

    def extract(self, folder: Any) -> None:
        with tarfile.open(fileobj=io.BytesIO(self.archive)) as files:
            files.extractall(folder)


@dataclasses.dataclass(frozen=True)
class Command:
    """A command as a task. It works in a new folder, for which "{}" stands in its arguments."""

    name: str
    arguments: Sequence[str]
    settings: Sequence[Setting] = ()
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Texts that are there before, by their names in the folder."""
    tells: bool = True

    def __call__(self) -> Written:
        with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
            for name, text in self.files.items():
                pathlib.Path(folder, name).write_text(text)
            words = [word.replace("{}", folder) for word in self.arguments]
            told = run(self.name, words, self.settings, tells=self.tells)
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w") as files:
                files.add(folder, ".")
            return Written(told, buffer.getvalue())


def each(
    executor: concurrent.futures.Executor | None, tasks: Iterable[Callable[[], T]]
) -> Iterator[tuple[int, T]]:
    """Number and result of each task as it ends; without an executor one after the other.

    When one fails no more are begun. What runs is waited for and told before its error is raised.
    """
    if executor is None:
        yield from ((index, task()) for index, task in enumerate(tasks))
        return
    futures = {executor.submit(task): index for index, task in enumerate(tasks)}
    failure = None
    try:
        for done in concurrent.futures.as_completed(futures):
            if done.cancelled():
                continue
            if done.exception() is None:
                yield futures[done], done.result()
            else:
                failure = failure or done.exception()
                _cancel(futures)
    except BaseException:
        _cancel(futures)
        raise
    if failure is not None:
        raise failure


def _cancel(futures: Iterable[concurrent.futures.Future[Any]]) -> None:
    for future in futures:
        future.cancel()


def anywhere(path: Any) -> str:
    """A file's path for any working directory; other words, such as generate:..., as they are."""
    return os.path.abspath(path) if os.path.exists(path) else os.fspath(path)
