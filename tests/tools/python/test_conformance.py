"""What Gymnasium asks of an environment, and what is promised beyond it, for every kind."""

import numpy as np
import pytest
import reverie
from reverie._gym import HAS_GYMNASIUM, Box, Dict


def equal(a, b):
    """Whether two observations or infos are the same, of the same types."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool(np.all(a == b))
    return bool(a == b)


def play(env, seed, steps=40):
    """A random episode: everything that the environment returned, and the actions."""
    random = np.random.default_rng(seed)
    returned, actions = [env.reset(seed=seed)], []
    for _ in range(steps):
        valid = np.flatnonzero(env.action_masks()[:-1])
        actions.append(int(random.choice(valid)) if len(valid) else env.action_space.n - 1)
        returned.append(env.step(actions[-1]))
        if returned[-1][2] or returned[-1][3]:
            break
    return returned, actions


def test_reset_and_step_return_what_gymnasium_says(env):
    observation, info = env.reset(seed=3)
    assert observation in env.observation_space and isinstance(info, dict)
    result = env.step(env.action_space.sample(mask=info["action_mask"]))
    assert isinstance(result, tuple) and len(result) == 5
    observation, reward, terminated, truncated, info = result
    assert observation in env.observation_space
    assert type(reward) is float and type(terminated) is bool and type(truncated) is bool
    assert np.isfinite(reward) and isinstance(info, dict)
    assert env.metadata["render_modes"] == ["ansi"] and env.unwrapped is env


def test_every_state_of_an_episode_is_in_the_space(env):
    for returned in play(env, 5)[0]:
        assert returned[0] in env.observation_space


def test_seeds_reproduce(env):
    first, actions = play(env, 7)
    again, actions_again = play(env, 7)
    assert actions == actions_again
    assert len(first) == len(again) and all(equal(a, b) for a, b in zip(first, again))
    env.reset(seed=7)
    following = env.reset()
    env.reset(seed=7)
    assert equal(following, env.reset()), "what comes after a seed follows from it"


def test_seeds_choose_the_start_state(env):
    starts = set(env.environment_spec.starts)
    assert {env.reset(seed=seed)[1]["start"] for seed in range(20)} == starts
    for name in starts:
        for seed in range(3):
            assert env.reset(seed=seed, options={"start": name})[1]["start"] == name
    with pytest.raises(reverie.InputError, match="there is no start state 'nowhere'"):
        env.reset(options={"start": "nowhere"})
    with pytest.raises(reverie.InputError, match="reset has no option 'strat'"):
        env.reset(options={"strat": "nowhere"})


def test_the_mask_is_one_array_in_three_places(env):
    for returned in play(env, 2)[0]:
        observation, info = returned[0], returned[-1]
        assert observation["action_mask"] is info["action_mask"]
        assert observation["action_mask"].dtype == np.int8
    assert env.action_masks() is info["action_mask"]


def test_the_mask_is_right(env):
    """Every valid action can be taken; one that is not leaves the state, gives 0 and says so."""
    _, info = env.reset(seed=1)
    before = env.describe(), env._observe()
    for number in range(env.action_space.n):
        other = env.fork()
        if info["action_mask"][number]:
            assert other.step(number)[-1]["invalid_action"] is False
            continue
        observation, reward, terminated, truncated, told = other.step(number)
        assert (reward, terminated, truncated, told["invalid_action"]) == (0.0, False, False, True)
        assert other.describe() == before[0] and equal(observation, before[1][0])
        with pytest.raises(reverie.InputError):
            env.action_of(number)
    for number in (-1, env.action_space.n):
        assert env.step(number)[-1]["invalid_action"] is True
        with pytest.raises(reverie.InputError, match=f"there is no action {number}"):
            env.action_of(number)


def test_strict_refuses_invalid_actions(case):
    name, settings = case
    env = reverie.make(name, strict=True, **settings)
    _, info = env.reset(seed=1)
    invalid = int(np.flatnonzero(info["action_mask"] == 0)[0])
    with pytest.raises(reverie.InputError, match=f"action {invalid} .* is not valid in this state"):
        env.step(invalid)


def test_no_op_is_the_last_action_and_ends_the_episode(env):
    env.reset(seed=1)
    before = env.describe()
    assert env.action_of(env.action_space.n - 1).primary == len(env.environment_spec.actions) - 1
    _, _, terminated, truncated, _ = env.step(env.action_space.n - 1)
    assert terminated and not truncated and env.describe() == before
    with pytest.raises(reverie.InputError, match="over"):
        env.step(env.action_space.n - 1)


def test_numbers_and_actions_are_one_to_one(env):
    for _ in range(3):
        observation, info = env.reset(seed=4)
        for _ in range(6):
            numbers = np.flatnonzero(info["action_mask"])
            actions = [env.action_of(number) for number in numbers]
            assert [env.number_of(*action) for action in actions] == list(numbers)
            assert len({env.describe(number) for number in numbers}) == len(numbers)
            if env.observation == "graph":
                assert np.array_equal(observation.actions, actions)
                assert len(observation.action_attr) == len(actions)
            *returned, info = env.step(numbers[len(numbers) // 2])
            observation = returned[0]
            if returned[2] or returned[3]:
                break


def test_a_choice_that_has_an_identity_keeps_its_number(env):
    spec = env.environment_spec
    if spec.max_choices > 1:
        pytest.skip("choices are counted")
    random, seen = np.random.default_rng(1), {}
    for episode in range(5):
        _, info = env.reset(seed=episode)
        for _ in range(20):
            for number in np.flatnonzero(info["action_mask"]):
                action = env.action_of(number)
                assert seen.setdefault(number, action) == action
                assert (
                    number == env.action_space.n - 1
                    or number == action.primary * env.slots + action.entity
                )
            *_, terminated, truncated, info = env.step(
                int(random.choice(np.flatnonzero(info["action_mask"])))
            )
            if terminated or truncated:
                break


def test_max_choices_bounds_the_actions(model):
    few = reverie.make("Rewrite-v0", models=[model], max_choices=2)
    many = reverie.make("Rewrite-v0", models=[model], max_choices=8)
    rules = len(few.environment_spec.actions) - 1
    assert (few.action_space.n, many.action_space.n) == (2 * rules + 1, 8 * rules + 1)
    few.reset(seed=1), many.reset(seed=1)
    offered = [many.action_of(number) for number in np.flatnonzero(many.action_masks())]
    rule, _, _ = next(
        action
        for action in offered
        if sum(other.primary == action.primary for other in offered) > 2
    )
    third = [action for action in offered if action.primary == rule][2]
    with pytest.raises(reverie.InputError, match="more than max_choices = 2 choices"):
        few.number_of(*third)


def boxes_of(space):
    if isinstance(space, Dict):
        for inner in space.spaces.values():
            yield from boxes_of(inner)
    elif isinstance(space, Box):
        yield space


def test_boxes_have_finite_bounds(case):
    name, settings = case
    boxes = list(boxes_of(reverie.make(name, **settings).observation_space))
    assert len(boxes) == 9
    for box in boxes:
        assert (
            np.all(np.isfinite(box.low))
            and np.all(np.isfinite(box.high))
            and np.all(box.low < box.high)
        )


def test_padded_and_graph_show_the_same(case):
    name, settings = case
    padded, graph = (
        reverie.make(name, observation=kind, **settings) for kind in ("padded", "graph")
    )
    for one, other in zip(play(padded, 3)[0], play(graph, 3)[0]):
        arrays, ragged = one[0], other[0]
        nodes, edges = ragged.num_nodes, ragged.edge_index.shape[1]
        assert one[-1]["cut_nodes"] == 0
        assert arrays["node_mask"].sum() == nodes and arrays["edge_mask"].sum() == edges
        for key in ("x", "node_type", "node_entity"):
            assert (
                np.array_equal(arrays[key][:nodes], ragged[key]) and not arrays[key][nodes:].any()
            )
        assert np.array_equal(arrays["edge_index"][:, :edges], ragged.edge_index)
        assert np.array_equal(arrays["edge_attr"][:edges], ragged.edge_attr)
        valid = np.flatnonzero(ragged.action_mask)
        assert np.array_equal(arrays["action_mask"], ragged.action_mask)
        assert np.array_equal(arrays["action_attr"][valid], ragged.action_attr)


def test_what_does_not_fit_is_cut_and_counted(case):
    name, settings = case
    graph = reverie.make(name, observation="graph", **settings)
    nodes = graph.reset(seed=1)[0].num_nodes
    env = reverie.make(name, max_nodes=nodes - 1, **settings)
    observation, info = env.reset(seed=1)
    assert info["cut_nodes"] == 1 and observation["node_mask"].all()
    assert observation["edge_index"].max() < nodes - 1 and observation in env.observation_space


def test_arrays_own_their_memory(env):
    """A later step, and the end of the environment, leave what was returned."""
    returned, _ = play(env, 6)
    kept = [{key: np.array(value) for key, value in one[0].items()} for one in returned]
    play(env, 8)
    del env
    for one, copy in zip(returned, kept):
        for key, value in one[0].items():
            if isinstance(value, np.ndarray):
                assert value.base is None and value.flags.owndata and value.flags.writeable
                assert np.array_equal(value, copy[key])


def test_a_fork_goes_its_own_way(env):
    _, info = env.reset(seed=1)
    other = env.fork()
    before = env.describe()
    assert equal(env._observe(), other._observe())
    other.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert env.describe() == before
    other.reset(), other.reset()
    assert env.np_random.bit_generator.state != other.np_random.bit_generator.state


def test_infos_hold_no_times(env):
    for returned in play(env, 1)[0]:
        info = returned[-1]
        expected = {
            "start",
            "objective",
            "best",
            "feasible",
            "metrics",
            "action_mask",
            "invalid_action",
        }
        assert set(info) == expected | ({"cut_nodes"} if env.observation == "padded" else set())
        assert len(info["metrics"]) == len(env.environment_spec.metrics)
        assert info["objective"] == info["metrics"][env.environment_spec.objective]


def test_rendering(case):
    name, settings = case
    env = reverie.make(name, render_mode="ansi", **settings)
    env.reset(seed=1)
    assert env.render() == env.describe() and "\n" not in env.render()
    env.close()


def test_wrong_settings_are_one_line(case):
    name, settings = case
    with pytest.raises(ValueError, match="^unknown setting 'horizn'; did you mean 'horizon'\\?$"):
        reverie.make(name, horizn=3, **settings)
    with pytest.raises(
        reverie.InputError, match="^observation is 'image'; it can be padded or graph$"
    ):
        reverie.make(name, observation="image", **settings)
    with pytest.raises(reverie.InputError, match="max_choices is 0"):
        reverie.make(name, max_choices=0, **settings)
    assert "horizon" in reverie.settings_of(name)


def test_an_unknown_environment_is_named():
    with pytest.raises(
        reverie.InputError,
        match="^there is no environment 'Chess-v0'; known are reverie/Adapt-v0, ",
    ):
        reverie.make("Chess-v0")


@pytest.mark.skipif(not HAS_GYMNASIUM, reason="Gymnasium cannot be imported")
@pytest.mark.filterwarnings("error")
def test_gymnasiums_own_check(case, observation):
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    name, settings = case
    made = gymnasium.make(f"reverie/{name}", observation=observation, **settings)
    assert made.spec.nondeterministic is False
    check_env(made.unwrapped)
