"""The steps that learn, from Python, and a policy that acts there."""

import importlib.util
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import reverie
from conftest import CASES, SOURCE, run

if not importlib.util.find_spec("reverie._learning"):
    pytest.skip("built without LibTorch", allow_module_level=True)


def learned(folder, name, settings):
    """A policy after the four steps, hardly trained."""
    path = {step: str(folder / step) for step in ("rollouts", "encoder", "world", "policy")}
    reverie.collect(name, path["rollouts"], episodes=20, **settings)
    vae = reverie.train_vae(path["rollouts"], path["encoder"], vae={"epochs": 1})
    world = reverie.train_mdnrnn(
        path["rollouts"], vae["encoder"], path["world"], mdnrnn={"epochs": 1}
    )
    assert vae["epochs"] == world["epochs"] == 1
    done = reverie.dream_train(
        path["rollouts"], world["world"], path["policy"], dream={"updates": 1}
    )
    assert done["updates"] == 1
    return f"{path['policy']}/policy.pt"


@pytest.fixture(scope="module", params=["knapsack", "rewrite", "placement"])
def trained(request, model, tmp_path_factory):
    """An id, settings of the environment, and a policy that learned there."""
    name, settings = CASES[request.param](model)
    folder = tmp_path_factory.mktemp("learned")
    return name, settings, learned(folder, name, settings)


def episode(policy, env, start, **how):
    """The actions of an episode, and what it found."""
    _, info = env.reset(options={"start": start})
    actions, over = [], False
    while not over:
        actions.append(policy.act(env, **how))
        _, _, terminated, truncated, info = env.step(actions[-1])
        assert not info["invalid_action"]
        over = terminated or truncated
    return actions, info["best"]


def test_a_policy_acts_as_in_evaluate(trained, tmp_path):
    name, settings, file = trained
    report = reverie.evaluate(name, file, tmp_path / "report", solvers=["greedy"], **settings)
    env = reverie.make(name, max_choices=1000, **settings)
    policy = reverie.load_policy(file)
    assert policy.environment_spec.actions == env.environment_spec.actions
    assert len(report["starts"]) == len(env.environment_spec.starts)
    for one in report["starts"]:
        _, best = episode(policy, env, one["start"])
        assert best == pytest.approx(one["methods"]["policy (greedy)"]["best"], rel=1e-9)


def test_an_agent_that_learns_collects_what_it_collects_for_the_command(model, tmp_path):
    ppo = {"updates": 1, "batch": 2}
    done = reverie.collect(
        "Rewrite-v0",
        tmp_path / "here",
        agent="ppo",
        ppo=ppo,
        episodes=3,
        seed=5,
        horizon=6,
        models=[model],
        cost="roofline:t4",
    )
    settings = ["collect.agent=ppo", "collect.episodes=3", "env.horizon=6"]
    settings += [f"ppo.{key}={value}" for key, value in ppo.items()]
    words = [word for one in settings for word in ("--set", one)]
    out = tmp_path / "command"
    run("collect", model, "--cost", "roofline:t4", "--seed", 5, "--out", out, "--quiet", *words)
    assert done["episodes"] == 3 and done["agent_training"]["resets"] == 2
    shard = "shard-00000.h5"
    assert (tmp_path / "here" / shard).read_bytes() == (out / shard).read_bytes()


def test_it_follows_several_episodes_in_turn(trained):
    name, settings, file = trained
    policy = reverie.load_policy(file)
    envs = [reverie.make(name, **settings) for _ in range(2)]
    starts = envs[0].environment_spec.starts
    alone = [episode(policy, env, start)[0] for env, start in zip(envs, (starts[0], starts[-1]))]
    for env, start in zip(envs, (starts[0], starts[-1])):
        env.reset(options={"start": start})
    for step in range(min(map(len, alone)) - 1):
        for env, actions in zip(envs, alone):
            assert policy.act(env) == policy.act(env) == policy.act(env.fork()) == actions[step]
            env.step(actions[step])


def test_it_can_come_in_later(trained):
    name, settings, file = trained
    env, followed = reverie.make(name, **settings), reverie.load_policy(file)
    env.reset(seed=1)
    for _ in range(2):
        env.step(followed.act(env))
    late = reverie.load_policy(file)
    assert env.action_masks()[late.act(env)] == env.action_masks()[followed.act(env)] == 1


def test_its_draws_follow_from_the_seed(trained):
    name, settings, file = trained
    env = reverie.make(name, **settings)
    start = env.environment_spec.starts[0]

    def drawn(seed):
        policy = reverie.load_policy(file, seed=seed)
        return [episode(policy, env, start, greedy=False)[0] for _ in range(4)]

    first = drawn(1)
    assert first == drawn(1) and first != drawn(2)


def test_it_says_what_does_not_fit(trained, tmp_path):
    name, settings, file = trained
    policy = reverie.load_policy(file)
    other = reverie.make("Toy-v0")
    with pytest.raises(reverie.InputError, match="has to be reset"):
        policy.act(other)
    other.reset(seed=1)
    with pytest.raises(reverie.InputError, match="trained on the environment"):
        policy.act(other)
    with pytest.raises(TypeError, match="an environment of reverie"):
        policy.act("north")
    with pytest.raises(reverie.InputError, match="lost.pt"):
        reverie.load_policy(tmp_path / "lost.pt")
    with pytest.raises(reverie.InputError, match="did you mean 'vae.epochs'"):
        reverie.train_vae(tmp_path, tmp_path / "out", vae={"epoch": 1})


def test_actions_that_it_does_not_know_are_named(model, tmp_path):
    given = {"models": [model], "cost": "roofline:t4"}
    few = [SOURCE / "core/rules/library/movement.rules"]
    file = learned(tmp_path, "Rewrite-v0", {**given, "rules": few})
    env = reverie.make("Rewrite-v0", **given)
    env.reset(seed=1)
    with pytest.raises(reverie.InputError, match="not trained with are not taken: "):
        reverie.load_policy(file).act(env)


def test_another_libtorch_in_the_process_is_noticed(tmp_path):
    pytest.importorskip("torch")
    code = (
        "import torch, sys, types, reverie\n"
        "sys.modules['reverie._libtorch'] = types.SimpleNamespace(FOLDER='/elsewhere')\n"
        "reverie.load_policy('policy.pt')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 1
    assert "InputError: policies need the LibTorch in /elsewhere" in ended.stderr


def test_an_interrupted_training_goes_on(tmp_path):
    reverie.collect("Knapsack-v0", tmp_path / "rollouts", episodes=40)
    code = "import reverie; reverie.train_vae('rollouts', 'encoder', vae={'epochs': 150})"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "encoder/training.pt").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in said
    with pytest.raises(reverie.InputError, match="resume"):
        reverie.train_vae(tmp_path / "rollouts", tmp_path / "encoder", vae={"epochs": 150})
    done = reverie.train_vae(
        tmp_path / "rollouts", tmp_path / "encoder", vae={"epochs": 150}, resume=True
    )
    assert pathlib.Path(done["encoder"]).exists()
