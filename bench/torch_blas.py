"""Which BLAS PyTorch really uses: the reference BLAS would make any comparison worthless."""

import ctypes
import os
import sys

import torch

FAST = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "libtorch": "built in"}


class DlInfo(ctypes.Structure):
    _fields_ = [("file_name", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("symbol_name", ctypes.c_char_p), ("symbol", ctypes.c_void_p)]


def file_of_sgemm():
    """Path of the library whose sgemm PyTorch calls.

    Looking for names among the loaded libraries is not enough: LAPACK may bring OpenBLAS in while
    the matrix products go to the reference BLAS.
    """
    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps") as maps:
        loaded = {line.split(maxsplit=5)[-1].strip() for line in maps if "libtorch_cpu" in line}
    for path in loaded:
        try:
            sgemm = ctypes.CDLL(path).sgemm_
        except AttributeError:
            return path  # not exported: it is inside
        info = DlInfo()
        address = ctypes.cast(sgemm, ctypes.c_void_p)
        if ctypes.CDLL(None).dladdr(address, ctypes.byref(info)):
            return os.path.realpath(info.file_name.decode())  # past Debian's alternatives
    return "unknown"


def require_fast_blas():
    """The BLAS's name; ends the process with the way out where it is the reference one."""
    path = file_of_sgemm()
    for mark, name in FAST.items():
        if mark in path:
            return name
    sys.exit(f"PyTorch's BLAS is '{path}', the reference one: no fair comparison\n"
             "  apt-get install libopenblas0-pthread\n"
             "  update-alternatives --auto libblas.so.3-x86_64-linux-gnu")
