"""What tests of the package share: models, and an environment of each kind."""

import os
import pathlib
import subprocess

import pytest
import reverie

SOURCE = pathlib.Path(__file__).parents[3]
TABLE = SOURCE / "tests/golden/adapt_table.json"


def run(*words):
    """Runs the program by its command line."""
    return subprocess.run(
        [os.environ["REVERIE_PROGRAM"], *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A small convolutional network as ONNX."""
    path = tmp_path_factory.mktemp("models") / "small.onnx"
    run("model", "squeezenet_small", "-o", path)
    return str(path)


CASES = {
    "knapsack": lambda model: ("Knapsack-v0", {"items": 3}),
    "toy": lambda model: ("Toy-v0", {"blocks": 2, "start_states": 2}),
    "toy_entities": lambda model: ("Toy-v0", {"blocks": 2, "entities": True}),
    "placement": lambda model: (
        "Placement-v0",
        {"graphs": ["generate:layers:100:1", "generate:layers:120:2"], "max_groups": 12},
    ),
    "improving": lambda model: (
        "Placement-v0",
        {"graphs": ["generate:layers:100:1"], "form": "improving", "max_groups": 8},
    ),
    "rewrite": lambda model: ("Rewrite-v0", {"models": [model], "cost": "roofline:t4"}),
    "adapt": lambda model: ("Adapt-v0", {"scenarios": [TABLE]}),
}


@pytest.fixture(params=CASES)
def case(request, model):
    """The id and the settings of an environment."""
    return CASES[request.param](model)


@pytest.fixture(params=["padded", "graph"])
def observation(request):
    return request.param


@pytest.fixture
def env(case, observation):
    name, settings = case
    return reverie.make(name, observation=observation, **settings)
