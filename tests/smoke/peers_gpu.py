"""The lines of experiments/peers/contestants.py that need a GPU, with stand-ins for what PyTorch
does there. Usage: peers_gpu.py FOLDER_OF_CONTESTANTS"""

import contextlib
import sys

sys.path.insert(0, sys.argv[1])
import contestants
import torch

calls = []


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        calls.append("record")

    def synchronize(self):
        calls.append("wait")

    def elapsed_time(self, _):
        return 2.0


class Stream:
    def wait_stream(self, _):
        pass


class Graph:
    def replay(self):
        calls.append("replay")


def refuse(_, pool):
    raise RuntimeError("operation not permitted\n when stream is capturing")


STAND_INS = {
    "is_available": lambda: True, "get_device_name": lambda: "card", "Event": Event,
    "Stream": Stream, "current_stream": Stream, "stream": lambda _: contextlib.nullcontext(),
    "CUDAGraph": Graph, "graph": lambda _, pool: contextlib.nullcontext(),
    "graph_pool_handle": lambda: "pool", "set_stream": lambda _: calls.append("stream"),
    "current_device": lambda: 0, "synchronize": lambda: None, "empty_cache": lambda: None
}
for name, stand_in in STAND_INS.items():
    assert hasattr(torch.cuda, name), name
    setattr(torch.cuda, name, stand_in)

gpu = contestants.Gpu()
assert torch.backends.cudnn.benchmark and gpu.name == "card" and gpu.libraries()
module, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
made = contestants.eager(gpu, module, [x])
assert made.seconds() == 0.002 and calls == ["replay", "record", "replay", "record", "wait"], calls
assert torch.equal(made.output(), module(x)) and not made.remarks
machines = [gpu.machine(name) for name in ("fp32", "tf32", "fp16")]
assert machines == ["cuda", "cuda:tf32", "cuda:fp16"]
for precision in ("tf32", "fp32"):
    contestants.set_precision(precision)
    assert torch.backends.cuda.matmul.allow_tf32 == torch.backends.cudnn.allow_tf32 == (
        precision == "tf32")

torch.cuda.graph = refuse
ENDS = ("_cuda_endAllocateToPool", "_cuda_releasePool")
for name in ENDS:
    setattr(torch._C, name, lambda device, pool, name=name: calls.append((name, device, pool)))
calls.clear()
made = contestants.eager(gpu, module, [x])
assert calls == ["stream", *((name, 0, "pool") for name in ENDS)], calls
for name in ENDS:
    delattr(torch._C, name)
contestants.end_recording("pool")  # of a version without them
assert made.remarks["no_graph"].endswith("operation not permitted when stream is capturing")
assert torch.equal(made.output(), module(x)) and made.seconds() == 0.002
gpu.forget()
