"""Gymnasium where it can be imported, and else as much of its shape as environments need."""

from __future__ import annotations

import enum
from typing import Any, Iterable, Mapping

import numpy as np

try:
    from gymnasium import Env, Space  # type: ignore
    from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete  # type: ignore
    from gymnasium.vector import AutoresetMode, VectorEnv  # type: ignore

    HAS_GYMNASIUM = True
except ImportError:
    HAS_GYMNASIUM = False

if not HAS_GYMNASIUM:

    class _Random:
        """A random generator that a seed begins anew."""

        _np_random: np.random.Generator | None = None

        @property
        def np_random(self) -> np.random.Generator:
            if self._np_random is None:
                self._np_random = np.random.default_rng()
            return self._np_random

    class Space(_Random):  # type: ignore[no-redef]
        """What an observation or an action can be."""

        def __init__(self, shape=None, dtype=None, seed=None):
            self.shape = None if shape is None else tuple(shape)
            self.dtype = None if dtype is None else np.dtype(dtype)
            if seed is not None:
                self.seed(seed)

        def seed(self, seed=None):
            self._np_random = np.random.default_rng(seed)
            return seed

        def contains(self, x: Any) -> bool:
            raise NotImplementedError

        def __contains__(self, x: Any) -> bool:
            return self.contains(x)

    class Box(Space):  # type: ignore[no-redef]
        """Arrays of one shape with bounds."""

        def __init__(self, low, high, shape=None, dtype=np.float32, seed=None):
            shape = np.shape(low) if shape is None else shape
            super().__init__(shape, dtype, seed)
            self.low = np.full(shape, low, dtype)
            self.high = np.full(shape, high, dtype)

        def contains(self, x):
            return (
                isinstance(x, np.ndarray)
                and x.shape == self.shape
                and np.can_cast(x.dtype, self.dtype)
                and bool(np.all(x >= self.low) and np.all(x <= self.high))
            )

        def sample(self, mask=None):
            drawn = self.np_random.uniform(self.low, self.high)
            return drawn.astype(self.dtype)

    class Discrete(Space):  # type: ignore[no-redef]
        """The numbers from 0 to before n."""

        def __init__(self, n, seed=None, start=0):
            self.n, self.start = int(n), int(start)
            super().__init__((), np.int64, seed)

        def contains(self, x):
            if isinstance(x, np.ndarray) and (x.shape != () or x.dtype.kind not in "iu"):
                return False
            return (
                isinstance(x, (int, np.integer, np.ndarray)) and 0 <= int(x) - self.start < self.n
            )

        def sample(self, mask=None):
            if mask is None:
                return np.int64(self.start + self.np_random.integers(self.n))
            valid = np.flatnonzero(mask)
            return np.int64(self.start + (self.np_random.choice(valid) if len(valid) else 0))

    class MultiDiscrete(Space):  # type: ignore[no-redef]
        """Arrays of numbers, each from 0 to before its own n."""

        def __init__(self, nvec, dtype=np.int64, seed=None):
            self.nvec = np.asarray(nvec, dtype)
            super().__init__(self.nvec.shape, dtype, seed)

        def contains(self, x):
            return (
                isinstance(x, np.ndarray)
                and x.shape == self.shape
                and bool(np.all((0 <= x) & (x < self.nvec)))
            )

        def sample(self, mask=None):
            if mask is None:
                return self.np_random.integers(self.nvec).astype(self.dtype)
            return np.array(
                [self.np_random.choice(np.flatnonzero(one)) for one in mask], self.dtype
            )

    class Dict(Space):  # type: ignore[no-redef]
        """A space for each key."""

        def __init__(self, spaces: Mapping[str, Space] | Iterable[tuple[str, Space]], seed=None):
            self.spaces = dict(spaces)
            super().__init__(None, None, seed)

        def contains(self, x):
            return (
                isinstance(x, dict)
                and x.keys() == self.spaces.keys()
                and all(x[key] in space for key, space in self.spaces.items())
            )

        def sample(self, mask=None):
            return {key: space.sample() for key, space in self.spaces.items()}

        def seed(self, seed=None):
            for space in self.spaces.values():
                space.seed(seed)
            return super().seed(seed)

        def __getitem__(self, key: str) -> Space:
            return self.spaces[key]

        def keys(self):
            return self.spaces.keys()

        def items(self):
            return self.spaces.items()

    class _Base(_Random):
        metadata: dict[str, Any] = {"render_modes": []}
        render_mode: str | None = None
        spec: Any = None

        @property
        def unwrapped(self):
            return self

        def close(self) -> None:
            pass

    class Env(_Base):  # type: ignore[no-redef]
        """An environment as Gymnasium has it."""

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
            if seed is not None:
                self._np_random = random_generator(seed)

        def __enter__(self):
            return self

        def __exit__(self, *unused):
            self.close()
            return False

    class VectorEnv(_Base):  # type: ignore[no-redef]
        """Several environments that step together, as Gymnasium has them."""

        num_envs: int

    class AutoresetMode(enum.Enum):  # type: ignore[no-redef]
        """When the episode that follows one that is over begins."""

        NEXT_STEP = "NextStep"
        SAME_STEP = "SameStep"
        DISABLED = "Disabled"


def random_generator(seed: int | None) -> np.random.Generator:
    """The generator that Gymnasium has for a seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
