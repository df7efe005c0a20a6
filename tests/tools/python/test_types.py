"""The stub says what the module is, and the package keeps to it."""

import os
import pathlib
import subprocess
import sys

import pytest
import reverie

pytest.importorskip("mypy")
PACKAGE = pathlib.Path(reverie.__file__).parent


def mypy(tmp_path, *words):
    paths = dict.fromkeys(("MYPYPATH", "PYTHONPATH"), str(PACKAGE.parent))
    environment = {**os.environ, **paths, "MYPY_CACHE_DIR": str(tmp_path)}
    return subprocess.run(
        [sys.executable, "-m", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )


# pybind11's metaclass has no stub, and classes that only functions make have no __init__.
ALLOWED = r"""
reverie._core.[A-Z][A-Za-z]*
reverie._core.(OptimizedModel|PlacedGraph|Solution).__init__
"""


def test_the_stub_is_the_modules(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED)
    ended = mypy(tmp_path, "mypy.stubtest", "reverie._core", "--allowlist", tmp_path / "allowed")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_package_has_the_types_that_it_says(tmp_path):
    ended = mypy(tmp_path, "mypy", "--no-error-summary", "-p", "reverie")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (PACKAGE / "py.typed").exists()
