"""Closed formulas for weights and batches, so that expected values need no weights beside them.

Every random number has a name: number i of a tensor is the SplitMix64 finaliser of key + (i + 1)
0x9E3779B97F4A7C15, key being the FNV-1a hash of the tensor's name and i the row-major index; all
modulo 2^64. Its upper 24 bits make u in [-1, 1), its lowest bit a sign. Computed in float64 and
rounded to float32 once; float64 runs start from the rounded numbers too.

    weight of rank >= 2     u sqrt(6 / product of dims[1:])      He et al.'s, uniform
    batch norm's weight     1 + 0.1 u      (the other parameters of rank 1 whose name ends in
    bias                    u               ".weight" / ".bias")
    both of these in bn2 and bn3           a fifth of that
    running_mean 0, running_var 1
    image                   u sqrt(3) over the whole batch, of the name "images"
    label of sample k       (7 k + 3) mod 10

Small branches beside a ResNet's trunk and biases of the size of what they are added to keep a
hundred layers from amplifying rounding: an error of 1e-3 is then an error.
"""

import math

import numpy
import torch

GOLDEN = 0x9E3779B97F4A7C15


def key(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def bits(name, n):
    z = numpy.arange(1, n + 1, dtype=numpy.uint64)
    z *= numpy.uint64(GOLDEN)
    z += numpy.uint64(key(name))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z ^= z >> numpy.uint64(shift)
        z *= numpy.uint64(factor)
    return z ^ (z >> numpy.uint64(31))


def uniform(name, shape):
    upper = bits(name, math.prod(shape)) >> numpy.uint64(40)
    return (upper.astype(numpy.float64) / 2**23 - 1).reshape(shape)


def signs(name, n):
    lowest = bits(name, n) & numpy.uint64(1)
    return torch.from_numpy(lowest.astype(numpy.float64) * 2 - 1)


def rounded(values):
    return torch.from_numpy(values.astype(numpy.float32))


def initial(name, shape):
    u = uniform(name, shape)
    if len(shape) > 1:
        return rounded(u * math.sqrt(6 / math.prod(shape[1:])))
    value = 1 + 0.1 * u if name.endswith(".weight") else u
    return rounded(value / 5 if ".bn2." in name or ".bn3." in name else value)


def fill(model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(initial(name, tuple(parameter.shape)))
    return model


def batch(shape):
    labels = torch.tensor([(7 * k + 3) % 10 for k in range(shape[0])])
    return rounded(uniform("images", shape) * math.sqrt(3)), labels
