"""The package beside others in one process."""

import itertools
import subprocess
import sys

import pytest

USE = {
    "reverie": "reverie.make('Rewrite-v0', models=[{model!r}]).reset(seed=1)",
    "onnx": "onnx.checker.check_model(onnx.load({model!r}))",
    "torch": "torch.nn.Linear(3, 3)(torch.ones(1, 3)).sum().backward(); "
    "torch.onnx.export(torch.nn.Linear(3, 3), torch.ones(1, 3), io.BytesIO())",
}


@pytest.mark.parametrize("order", itertools.permutations(USE), ids=",".join)
def test_packages_load_and_work_in_every_order(model, order):
    pytest.importorskip("onnx", minversion="1.0")
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
        pytest.skip("torch cannot be imported")
    script = f"import io, {', '.join(order)}\n" + "\n".join(
        USE[name].format(model=model) for name in order * 2
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_nothing_but_numpy_is_needed():
    """torch and onnx are not imported by the package; Gymnasium is, where it is there."""
    script = (
        "import sys; sys.modules['gymnasium'] = None; import reverie; print(sorted(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert "'torch'" not in loaded and "'onnx'" not in loaded and "'reverie._core'" in loaded
    assert "'reverie._learning'" not in loaded
