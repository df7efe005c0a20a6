"""Reverie in this process: libreverie_run.so (tools/run/run_library.h)."""

import ctypes

import torch

DTYPES = {"float32": torch.float32, "int64": torch.int64}


class Described(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("extents", ctypes.POINTER(ctypes.c_int64))]

    def empty(self):
        return torch.empty(self.extents[:self.rank], dtype=DTYPES[self.dtype.decode()])


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        model, described = ctypes.c_void_p, ctypes.POINTER(Described)
        pointers = ctypes.POINTER(ctypes.c_void_p)
        for name, result, arguments in (
            ("error", ctypes.c_char_p, []),
            ("open", model, [ctypes.c_char_p] * 3),
            ("close", None, [model]),
            ("input", described, [model, ctypes.c_int32]),
            ("output", described, [model, ctypes.c_int32]),
            ("machine", ctypes.c_char_p, [model]),
            ("nodes", ctypes.c_int32, [model]),
            ("fallbacks", ctypes.c_int32, [model]),
            ("run", ctypes.c_int32, [model, pointers, pointers]),
            ("seconds", ctypes.c_double, [model]),
        ):
            function = getattr(self.c, f"reverie_{name}")
            function.restype, function.argtypes = result, arguments

    def error(self):
        return RuntimeError(self.c.reverie_error().decode())

    def open(self, file, machine, costs):
        """Fused where that gains by the costs; as it is without."""
        model = self.c.reverie_open(str(file).encode(), machine.encode(), costs and costs.encode())
        if not model:
            raise self.error()
        return Model(self, model)


class Model:
    def __init__(self, library, model):
        self.library, self.c, self.model = library, library.c, model

    def close(self):
        self.c.reverie_close(self.model)

    def machine(self):
        return self.c.reverie_machine(self.model).decode()

    def nodes(self):
        return self.c.reverie_nodes(self.model)

    def fallbacks(self):
        return self.c.reverie_fallbacks(self.model)

    def tensors(self, describe):
        found = []
        while described := describe(self.model, len(found)):
            found.append(described.contents.empty())
        return found

    def run(self, inputs):
        """The first output, of inputs on the host in the order of the file."""
        taken = self.tensors(self.c.reverie_input)
        for to, given in zip(taken, inputs, strict=True):
            if to.shape != given.shape:
                raise ValueError(f"an input is {list(to.shape)}, not {list(given.shape)}")
            to.copy_(given)
        results = self.tensors(self.c.reverie_output)
        if self.c.reverie_run(self.model, addresses(taken), addresses(results)) != 0:
            raise self.library.error()
        return results[0]

    def seconds(self):
        """Of one run, timed behind another one."""
        seconds = self.c.reverie_seconds(self.model)
        if seconds < 0:
            raise self.library.error()
        return seconds


def addresses(tensors):
    return (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
