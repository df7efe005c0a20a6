"""What runs a network in peers.py, and the device that it runs on."""

import time

import torch

AUTOTUNE_MODE = "max-autotune-no-cudagraphs"  # for it is recorded here, as all others are
WARM_UPS = 3


def set_precision(precision):
    """Whether products of float32 are computed in TF32. These are the older names: compiling fails
    in PyTorch 2.9 to 2.11 where the newer ones (fp32_precision) were used."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


class Gpu:
    """A CUDA device. A call is recorded as a CUDA graph; a launch is timed by events."""
    kind = "cuda"
    half = torch.float16
    rounds = (30, 500)  # at least, at most
    seconds_of_rounds = 1.5

    def __init__(self):
        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch finds no GPU; --dry-run needs none")
        torch.backends.cudnn.benchmark = True
        self.name = torch.cuda.get_device_name()
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def libraries(self):
        return f"CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"

    def machine(self, precision):
        return "cuda" if precision == "fp32" else f"cuda:{precision}"

    def costs(self, precision):
        return self.machine(precision)

    def synchronize(self):
        torch.cuda.synchronize()

    def recorded(self, call):
        """What launches it, and what it returns."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                call()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
        before = torch.cuda.current_stream()
        try:
            with torch.cuda.graph(graph, pool=pool):
                result = call()
        except RuntimeError:
            torch.cuda.set_stream(before)
            end_recording(pool)
            raise
        return graph.replay, result

    def seconds(self, launch):
        launch()  # while it runs the host queues the one that is timed
        self.begin.record()
        launch()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end) / 1000

    def forget(self):
        torch.cuda.empty_cache()


def end_recording(pool):
    """PyTorch 2.11 believes that a recording that failed goes on, and refuses all later ones."""
    for end in ("_cuda_endAllocateToPool", "_cuda_releasePool"):
        try:
            getattr(torch._C, end)(torch.cuda.current_device(), pool)
        except (AttributeError, RuntimeError):
            pass


class Processor:
    """Stands for a GPU in a dry run, with the clock in place of events and nothing recorded."""
    kind = "cpu"
    half = torch.bfloat16  # what more of its kernels know
    rounds = (6, 6)
    seconds_of_rounds = 0
    name = "dry run"

    def libraries(self):
        return "on the processor"

    def machine(self, _):
        return "cpu"

    def costs(self, _):
        return "roofline:h200"

    def synchronize(self):
        pass

    def recorded(self, call):
        return call, call()

    def seconds(self, launch):
        launch()
        begin = time.perf_counter()
        launch()
        return time.perf_counter() - begin

    def forget(self):
        pass


class Recorded:
    """A call of PyTorch's that is launched as one; launch by launch where it cannot be recorded."""
    def __init__(self, device, call):
        self.device, self.remarks = device, {}
        try:
            self.launch, self.result = device.recorded(call)
        except RuntimeError as error:
            device.synchronize()
            self.launch, self.result = call, None
            self.remarks["no_graph"] = in_one_line(error)
        self.call = call

    def output(self):
        if self.result is None:
            return self.call()
        self.launch()
        return self.result

    def seconds(self):
        return self.device.seconds(self.launch)

    def close(self):
        pass


class Ours:
    def __init__(self, library, file, machine, costs, inputs):
        self.model = library.open(file, machine, costs)
        self.inputs = inputs
        self.remarks = {"machine": self.model.machine(), "nodes": self.model.nodes(),
                        "fallbacks": self.model.fallbacks()}
        self.output = lambda: self.model.run(self.inputs)
        self.seconds, self.close = self.model.seconds, self.model.close


def eager(device, module, inputs):
    return Recorded(device, lambda: module(*inputs))


def compiled(device, module, inputs, mode):
    if not hasattr(torch, "compile"):
        raise RuntimeError(f"PyTorch {torch.__version__} has no torch.compile")
    fast = torch.compile(module, mode=mode)
    begin = time.perf_counter()
    fast(*inputs)
    device.synchronize()
    seconds = time.perf_counter() - begin
    made = Recorded(device, lambda: fast(*inputs))
    made.remarks["compile_seconds"] = seconds
    return made


def forget_compiled():
    """One network's forward is another's, too: after eight compiled forms there is no ninth."""
    if hasattr(torch, "_dynamo"):
        torch._dynamo.reset()


def largest_error(output, reference):
    """max|a-b| / max|reference|."""
    difference = output.detach().double().cpu() - reference
    return (difference.abs().max() / reference.abs().max()).item()


def in_one_line(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
