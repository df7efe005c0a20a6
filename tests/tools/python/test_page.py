"""Every block of tools/python/README.md runs, section by section, in one process and folder."""

import importlib.util
import os
import pathlib
import re
import subprocess
import warnings

import numpy as np
import pytest
import reverie
from conftest import SOURCE

PAGE = (SOURCE / "tools/python/README.md").read_text()
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECTIONS = {
    part.split("\n", 1)[0]: BLOCKS.findall(part)
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)
}
SECTIONS = {name: blocks for name, blocks in SECTIONS.items() if blocks}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, before = tmp_path_factory.mktemp("page"), os.getcwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def names():
    """What the blocks define."""
    return {"__name__": "page"}


def run_block(language, text, names):
    if language == "python":
        file = pathlib.Path(f"block_{len(names)}.py").resolve()  # TorchScript reads the source
        file.write_text(text)
        exec(compile(text, str(file), "exec"), names)
        return
    assert language == "sh", f"a block of {language} is not run"
    program = pathlib.Path(os.environ["REVERIE_PROGRAM"]).parent
    path = {**os.environ, "PATH": f"{program}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", text], check=True, env=path)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_blocks_of_a_section_run(section, folder, names):
    text = "".join(text for _, text in SECTIONS[section])
    for word, module in (("torch", "torch"), (".pt", "reverie._learning")):
        if word in text and not importlib.util.find_spec(module):
            pytest.skip(f"{module} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for language, text in SECTIONS[section]:
            run_block(language, text, names)
    check = globals().get("check_" + section.lower().replace(" ", "_"))
    if check:
        check(names)


def test_the_page_has_the_sections_that_are_checked():
    checks = {name.removeprefix("check_") for name in globals() if name.startswith("check_")}
    assert checks <= {name.lower().replace(" ", "_") for name in SECTIONS} and len(checks) == 3


def optimum(env, start):
    """The best of all that can be reached."""
    seen, waiting, best = set(), [env], -np.inf
    env.reset(options={"start": start})
    while waiting:
        here = waiting.pop()
        if here.describe() in seen:
            continue
        seen.add(here.describe())
        _, info = here._observe()
        best = max(best, info["best"])
        for number in np.flatnonzero(info["action_mask"][:-1]):
            waiting.append(here.fork())
            waiting[-1].step(number)
    return best


def check_speed_up_my_model(names):
    assert names["result"].gain_percent > 0 and pathlib.Path("better.onnx").exists()
    assert pathlib.Path("placed.json").exists()


def check_an_agent_of_my_own(names):
    """It finds the best bag from most start states, and from none a much worse one."""
    env = reverie.make("Knapsack-v0", horizon=100)
    best = {start: optimum(env, start) for start in env.environment_spec.starts}
    shares = [names["learned"][start] / best[start] for start in best]
    assert min(shares) >= 0.8 and max(shares) == 1, (names["learned"], best)
    infos = [episode.infos for episode in reverie.rollouts("played")]
    packed = [one["objective"][one["feasible"]].max() for one in infos]
    assert np.mean(packed) >= 0.8 * np.mean(list(best.values())), (packed, best)


def check_a_network_trained_on_rollouts(names):
    assert names["error"] < 0.25 * names["spread"]


def test_the_block_of_the_first_page_runs(model, tmp_path, monkeypatch):
    page = (SOURCE / "README.md").read_text()
    blocks = [text for language, text in BLOCKS.findall(page) if language == "python"]
    assert len(blocks) == 1
    monkeypatch.chdir(tmp_path)
    pathlib.Path("model.onnx").write_bytes(pathlib.Path(model).read_bytes())
    names = {"__name__": "page"}
    run_block("python", blocks[0].replace("time_limit=20", "time_limit=2"), names)
    assert pathlib.Path("better.onnx").exists() and not names["info"]["invalid_action"]
