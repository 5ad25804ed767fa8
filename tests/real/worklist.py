# SPDX-License-Identifier: Apache-2.0
"""What compile.py and hit.py ask of Triton: the same list in both.

A request is one kernel with types, constants and options, for one target,
through one of two doors:

  compile  triton.compile(ASTSource(...), target=...)
  warmup   the way a launch goes, kernel.warmup(...), up to the launch itself

Neither needs a GPU or a driver. Request number i depends on the options of the
command line alone, so that two processes mean the same cache entries.
"""
import argparse
import os
import warnings
from collections import namedtuple

Request = namedtuple("Request", "kernel types constants options target door")

DOORS = ("compile", "warmup")

# Types of the arguments that are no constants; T is the element type.
ARGUMENTS = {
    "add": ("*T", "*T", "*T", "i32"),
    "rowsum": ("*fp32", "*T", "i32", "i32"),
    "softmax": ("*T", "*T", "i32", "i32"),
    "layernorm": ("*T", "*T", "*T", "*T", "i32", "i32", "fp32"),
    "matmul": ("*fp32", "*T", "*T") + ("i32", ) * 6,
}
ELEMENTS = {"fp32": "float32", "fp16": "float16"}


def parse_target(text):
    """"cuda:90" or "hip:gfx942" -> (backend, arch, warp size)"""
    backend, arch = text.split(":")
    if backend == "cuda":
        return backend, int(arch), 32
    return backend, arch, 64


def pick(number, *choices):
    """One of each, so that successive numbers go through all combinations."""
    for choice in choices:
        number, digit = divmod(number, len(choice))
        yield choice[digit]


def request(i, targets, doors):
    turn, place = divmod(i, len(ARGUMENTS))
    kernel = list(ARGUMENTS)[place]
    target = targets[(i + turn) % len(targets)]
    turn //= len(targets)
    if kernel == "matmul":
        element = "fp16"
        m, n, k, warps, stages = pick(turn, (16, 32, 64), (32, 64), (32, 64),
                                      (4, 2), (2, 3))
        constants = {"TILE_M": m, "TILE_N": n, "TILE_K": k}
    else:
        element, width, warps, stages = pick(
            turn, ("fp32", "fp16"), (256, 128, 512, 1024), (4, 2, 1, 8),
            (2, 3))
        constants = {"WIDTH": width}
    constants["VAR"] = i + 1
    types = tuple(kind.replace("T", element) for kind in ARGUMENTS[kernel])
    options = {"num_warps": warps, "num_stages": stages}
    return Request(kernel, types, constants, options, target,
                   doors[i % len(doors)])


def arguments(description):
    """The options that say which requests there are."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("cache", help="cache directory (TRITON_CACHE_DIR)")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--targets", default="cuda:75,cuda:80,cuda:90",
                        help="such as cuda:80,hip:gfx942")
    parser.add_argument("--doors", default=",".join(DOORS))
    parser.add_argument("--autotune", action="store_true",
                        help="one autotune result too (Triton 3.4 and later)")
    return parser


def requests(options):
    targets = options.targets.split(",")
    doors = options.doors.split(",")
    return [request(i, targets, doors) for i in range(options.count)]


def use_cache(path):
    """To be called before Triton is loaded."""
    os.environ["TRITON_CACHE_DIR"] = os.path.abspath(path)
    # 3.9 announces a default of 3.10, once per process
    warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


class Driver:
    """As much of a driver as the way to the launch asks for."""
    seen = []

    def __init__(self, target):
        from triton.backends.compiler import GPUTarget
        self.target = GPUTarget(*parse_target(target))
        if target not in self.seen:
            self.seen.append(target)
        # a kernel remembers what it compiled by the number of the device
        self.device = self.seen.index(target)

    def get_current_device(self):
        return self.device

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self):
        return self.target


class dtype:
    """What warmup takes for a torch.dtype, by the names of its class."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "torch." + self.name


dtype.__module__ = "torch"
DTYPES = {name: dtype(torch) for name, torch in ELEMENTS.items()}


def argument(kind):
    if kind.startswith("*"):
        return DTYPES[kind[1:]]
    return 1e-5 if kind == "fp32" else 3


def source(fn, wanted):
    """The ASTSource of a request, in the words of the Triton at hand."""
    import triton
    from triton.compiler import ASTSource
    version = tuple(int(n) for n in triton.__version__.split(".")[:2])
    names = fn.arg_names
    signature = dict(zip(names, wanted.types))
    aligned = [i for i, kind in enumerate(wanted.types) if kind[0] == "*"]
    if version >= (3, 3):
        signature.update((name, "constexpr") for name in wanted.constants)
        return ASTSource(
            fn, signature, constexprs=dict(wanted.constants),
            attrs={(i, ): [["tt.divisibility", 16]] for i in aligned})
    if version >= (3, 2):
        from triton.backends.compiler import AttrsDescriptor
        attributes = AttrsDescriptor.from_hints({i: 16 for i in aligned})
    else:
        from triton.compiler import AttrsDescriptor
        attributes = AttrsDescriptor(divisible_by_16=set(aligned),
                                     equal_to_1=set())
    return ASTSource(fn, signature, constants=dict(wanted.constants),
                     attrs=attributes)


def ask(wanted):
    """Asks Triton for a kernel; returns its machine code."""
    import triton
    from triton.runtime.driver import driver

    import kernels
    fn = getattr(kernels, wanted.kernel)
    active = Driver(wanted.target)
    driver.set_active(active)
    if wanted.door == "compile":
        kernel = triton.compile(source(fn, wanted), target=active.target,
                                options=dict(wanted.options))
    else:
        kernel = fn.warmup(*map(argument, wanted.types), grid=(1, ),
                           **wanted.constants, **wanted.options)
    binary = kernel.asm["cubin" if active.target.backend == "cuda"
                        else "hsaco"]
    if binary[:4] != b"\x7fELF":
        raise ValueError("the machine code is no ELF file")
    return binary


def ask_autotune(target, benchmark):
    """Asks for an autotune result; benchmark() is called if there is none.

    Returns whether the cache had it."""
    import triton
    from triton.runtime.driver import driver

    import kernels
    driver.set_active(Driver(target))
    configs = [triton.Config({"WIDTH": 128}, num_warps=4),
               triton.Config({"WIDTH": 256}, num_warps=8)]
    tuner = triton.autotune(configs, key=["count"], cache_results=True,
                            do_bench=benchmark)(kernels.add)

    def run():
        # as Triton notes a configuration that did not run
        never = [float("inf")] * 3
        tuner.configs_timings = dict(zip(configs, (benchmark(), never)))

    return tuner.check_disk_cache((4096, "torch.float32"), configs, run)
