"""Many environments at once: each does what it does alone, whatever the mode and the threads."""

import numpy as np
import pytest
import reverie
from reverie._gym import HAS_GYMNASIUM, AutoresetMode
from test_conformance import equal

COUNT, STEPS = 5, 30


def choose(masks, random):
    """A valid action for each mask, NO-OP now and then."""
    return np.array([random.choice(np.flatnonzero(mask)) for mask in masks])


class Alone:
    """What environments do one by one, with Gymnasium's rules of when the next episode begins."""

    def __init__(self, case, observation, mode, seed):
        name, settings = case
        self.mode = mode
        self.envs = [reverie.make(name, observation=observation, **settings) for _ in range(COUNT)]
        self.over = [False] * COUNT
        self.shown = [env.reset(seed=seed + i) for i, env in enumerate(self.envs)]

    def reset(self, mask):
        for i in np.flatnonzero(mask):
            self.shown[i] = self.envs[i].reset()
            self.over[i] = False

    def step(self, actions):
        rewards, ends, finals = np.zeros(COUNT), np.zeros((2, COUNT), bool), {}
        for i, env in enumerate(self.envs):
            if self.over[i] and self.mode == AutoresetMode.NEXT_STEP:
                self.shown[i], self.over[i] = env.reset(), False
                continue
            shown, rewards[i], ends[0, i], ends[1, i], info = env.step(actions[i])
            self.shown[i], self.over[i] = (shown, info), bool(ends[:, i].any())
            if self.over[i] and self.mode == AutoresetMode.SAME_STEP:
                finals[i] = self.shown[i]
                self.shown[i], self.over[i] = env.reset(), False
        return rewards, ends, finals


def batch(observations, observation):
    if observation == "graph":
        return reverie.collate(observations)
    return {key: np.stack([one[key] for one in observations]) for key in observations[0]}


def check_infos(infos, shown, which):
    for i in which:
        for key, value in shown[i][1].items():
            if key != "cut_nodes":
                assert np.array_equal(infos[key][i], value), key
                assert infos["_" + key][i]


@pytest.mark.parametrize("mode", AutoresetMode)
def test_each_does_what_it_does_alone(case, observation, mode):
    name, settings = case
    envs = reverie.make_vec(
        name, num_envs=COUNT, autoreset_mode=mode, observation=observation, **settings
    )
    assert envs.metadata["autoreset_mode"] is mode and envs.num_envs == COUNT
    alone, random, ended = Alone(case, observation, mode, 3), np.random.default_rng(1), 0
    observations, infos = envs.reset(seed=3)
    for _ in range(STEPS):
        expected = batch([one for one, _ in alone.shown], observation)
        assert equal(dict(observations), dict(expected))
        assert observations in envs.observation_space
        assert observations["action_mask"] is infos["action_mask"] is envs.action_masks()
        check_infos(infos, alone.shown, range(COUNT))
        actions = choose(infos["action_mask"], random)
        rewards, (terminated, truncated), finals = alone.step(actions)
        observations, told, *ends, infos = envs.step(actions)
        assert np.array_equal(told, rewards) and told.dtype == np.float64
        assert np.array_equal(ends, [terminated, truncated]) and ends[0].dtype == np.bool_
        ended += int((terminated | truncated).sum())
        assert ("final_obs" in infos) == bool(finals)
        for i, (last, _) in finals.items():
            assert equal(dict(infos["final_obs"][i]), dict(last))
        if finals:
            assert list(np.flatnonzero(infos["_final_obs"])) == list(finals)
            check_infos(infos["final_info"], finals, finals)
        over = terminated | truncated
        if mode == AutoresetMode.DISABLED and over.any():
            with pytest.raises(reverie.InputError, match="is over; reset it with reset_mask"):
                envs.step(actions)
            alone.reset(over)
            observations, infos = envs.reset(options={"reset_mask": over})
            assert np.array_equal(infos["_objective"], over)
            infos = {key: value for key, value in infos.items() if not key.startswith("_")}
            for i in np.flatnonzero(~over):
                for key in ("start", "objective", "best", "feasible", "metrics", "invalid_action"):
                    infos[key][i] = alone.shown[i][1][key]
            infos.update({f"_{key}": np.ones(COUNT, bool) for key in tuple(infos)})
    assert ended > 0


def test_threads_change_nothing(case, observation):
    name, settings = case
    returned = []
    for workers in (1, 3):
        envs = reverie.make_vec(name, 4, workers=workers, observation=observation, **settings)
        random = np.random.default_rng(2)
        returned.append([envs.reset(seed=9)])
        for _ in range(10):
            returned[-1].append(envs.step(choose(envs.action_masks(), random)))
    assert equal(tuple(map(tuple, returned[0])), tuple(map(tuple, returned[1])))


def test_invalid_actions_leave_the_state(case):
    name, settings = case
    envs = reverie.make_vec(name, 3, **settings)
    before, infos = envs.reset(seed=1)
    actions = np.array([np.flatnonzero(mask == 0)[0] for mask in infos["action_mask"]])
    after, rewards, terminated, truncated, infos = envs.step(actions)
    assert equal(before, after) and infos["invalid_action"].all()
    assert not (rewards.any() or terminated.any() or truncated.any())
    strict = reverie.make_vec(name, 3, strict=True, **settings)
    strict.reset(seed=1)
    with pytest.raises(
        reverie.InputError, match=f"action {actions[0]} is not valid in environment 0"
    ):
        strict.step(actions)


def test_arrays_own_their_memory(case, observation):
    name, settings = case
    envs = reverie.make_vec(name, 3, observation=observation, **settings)
    first, infos = envs.reset(seed=1)
    kept = {key: np.array(value) for key, value in first.items()}
    envs.step(choose(infos["action_mask"], np.random.default_rng(1)))
    del envs
    for key, value in first.items():
        assert np.array_equal(value, kept[key])
        assert not isinstance(value, np.ndarray) or value.flags.owndata


def test_start_states_seeds_and_masks():
    envs = reverie.make_vec("Knapsack-v0", 3, start_states=2)
    assert set(envs.reset(seed=1, options={"start": "knapsack-1"})[1]["start"]) == {"knapsack-1"}
    by_number, by_list = envs.reset(seed=4)[0], envs.reset(seed=[4, 5, 6])[0]
    assert equal(by_number, by_list)
    envs.reset(seed=4), envs.step([12, 12, 12])
    with pytest.raises(reverie.InputError, match="there are 2 seeds for 3 environments"):
        envs.reset(seed=[1, 2])
    with pytest.raises(reverie.InputError, match="actions are of shape"):
        envs.step([1])
    for mask in ([False] * 3, [True], [1, 0, 0]):
        with pytest.raises(
            reverie.InputError, match="reset_mask is not an array of 3 truth values"
        ):
            envs.reset(options={"reset_mask": mask})
    with pytest.raises(reverie.InputError, match="reset comes before the first step"):
        reverie.make_vec("Knapsack-v0", 3).step([1, 1, 1])
    with pytest.raises(reverie.InputError, match="num_envs is 0"):
        reverie.make_vec("Knapsack-v0", 0)


def test_solutions_of_single_environments(tmp_path):
    envs = reverie.make_vec("Placement-v0", 2, graphs="generate:layers:100:1", render_mode="ansi")
    _, infos = envs.reset(seed=1)
    assert envs.solution(1).objective == infos["best"][1]
    assert envs.render() == (envs.describe(0), envs.describe(1))
    envs.solution(1).save(tmp_path / "placed.json")
    envs.close()


@pytest.mark.skipif(not HAS_GYMNASIUM, reason="Gymnasium cannot be imported")
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.filterwarnings("error")
def test_gymnasiums_own_vector_does_the_same(case, mode):
    import gymnasium

    name, settings = case
    arguments = {"num_envs": 3, **settings}
    ours = gymnasium.make_vec(f"reverie/{name}", autoreset_mode=mode, **arguments)
    theirs = gymnasium.make_vec(
        f"reverie/{name}",
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **arguments,
    )
    assert type(ours).__name__.startswith("Vector") and ours.action_space == theirs.action_space
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.observation_space == theirs.observation_space
    random = np.random.default_rng(1)
    one, other = ours.reset(seed=5), theirs.reset(seed=5)
    for _ in range(20):
        assert equal(one[0], other[0])
        for key in set(other[-1]) - {"cut_nodes", "_cut_nodes", "final_obs", "final_info", "start"}:
            assert np.array_equal(one[-1][key], other[-1][key]), key
        assert list(one[-1]["start"]) == list(other[-1]["start"])
        actions = choose(one[-1]["action_mask"], random)
        one, other = ours.step(actions), theirs.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(one[1:4], other[1:4]))
        over = one[2] | one[3]
        if mode == AutoresetMode.DISABLED and over.any():
            return
