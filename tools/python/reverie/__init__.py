"""Reverie: model-based reinforcement learning for systems problems that are graphs.

Environments (`make`), rollouts of them (`collect`), the steps that learn (`train_vae`,
`train_mdnrnn`, `dream_train`, `evaluate`, `load_policy`), a faster model (`optimize`), and a placement
on devices (`place`). Gymnasium is optional: where it is there, the environments are registered as
reverie/Rewrite-v0 and so on.
"""

from ._core import InputError
from ._gym import HAS_GYMNASIUM
from .collecting import collect
from .environments import Action, Environment, Solution, Spec, make, settings_of
from .episodes import Episode, Rollouts, rollouts
from .learning import dream_train, evaluate, train_mdnrnn, train_vae
from .measuring import profile, record
from .observations import Graph, collate
from .policies import Policy, load_policy
from .vector import VectorEnvironment, make_vec
from .tools import Optimized, Placed, optimize, place

__all__ = [
    "Action",
    "Environment",
    "Episode",
    "Graph",
    "InputError",
    "Optimized",
    "Placed",
    "Policy",
    "Rollouts",
    "Solution",
    "Spec",
    "VectorEnvironment",
    "collate",
    "collect",
    "dream_train",
    "evaluate",
    "load_policy",
    "make",
    "make_vec",
    "optimize",
    "place",
    "profile",
    "record",
    "rollouts",
    "settings_of",
    "train_mdnrnn",
    "train_vae",
]


def _register() -> None:
    import gymnasium  # type: ignore

    from .environments import CLASSES, id_of

    from .vector import CLASSES as VECTOR_CLASSES

    for kind, environment in CLASSES.items():
        if id_of(kind) not in gymnasium.registry:
            gymnasium.register(
                id_of(kind),
                entry_point=f"reverie.environments:{environment.__name__}",
                vector_entry_point=f"reverie.vector:{VECTOR_CLASSES[kind].__name__}",
            )


if HAS_GYMNASIUM:
    _register()
