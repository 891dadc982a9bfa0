"""The networks of searched cells in PyTorch, written from their published description.

NASNet-A, AmoebaNet-A and DARTS for CIFAR: 20 cells of 36 channels, no auxiliary head, no drop-path,
no ReLU in place, every batch norm with scale and shift. Modules and parameters have the names of
the code published with DARTS (cells.3._ops.0.op.1.weight).

    python3 tests/oracle/cell_networks.py     prints each network's number of parameters
"""

import torch
from torch import nn


class Separable(nn.Module):
    """(ReLU, depthwise, 1x1, batch norm) twice, the stride in the first."""

    def __init__(self, channels, kernel, stride):
        super().__init__()
        layers = []
        for first_stride in (stride, 1):
            layers += [nn.ReLU(), *depthwise_separable(channels, kernel, first_stride, 1)]
        self.op = nn.Sequential(*layers)

    def forward(self, x):
        return self.op(x)


class Dilated(nn.Module):
    def __init__(self, channels, kernel, stride):
        super().__init__()
        self.op = nn.Sequential(nn.ReLU(), *depthwise_separable(channels, kernel, stride, 2))

    def forward(self, x):
        return self.op(x)


def depthwise_separable(channels, kernel, stride, dilation):
    padding = dilation * (kernel - 1) // 2
    return [nn.Conv2d(channels, channels, kernel, stride, padding, dilation, groups=channels,
                      bias=False),
            nn.Conv2d(channels, channels, 1, bias=False),
            nn.BatchNorm2d(channels)]


def cross(channels, kernel, stride):
    """ReLU, 1xk, kx1, batch norm."""
    half = kernel // 2
    return nn.Sequential(
        nn.ReLU(),
        nn.Conv2d(channels, channels, (1, kernel), (1, stride), (0, half), bias=False),
        nn.Conv2d(channels, channels, (kernel, 1), (stride, 1), (half, 0), bias=False),
        nn.BatchNorm2d(channels))


class ReluConvBn(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.op = nn.Sequential(nn.ReLU(), nn.Conv2d(n_in, n_out, 1, bias=False),
                                nn.BatchNorm2d(n_out))

    def forward(self, x):
        return self.op(x)


class FactorizedReduce(nn.Module):
    """Half the size: the second convolution reads the input shifted by one pixel both ways."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv_1 = nn.Conv2d(n_in, n_out // 2, 1, stride=2, bias=False)
        self.conv_2 = nn.Conv2d(n_in, n_out - n_out // 2, 1, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(n_out)

    def forward(self, x):
        x = self.relu(x)
        return self.bn(torch.cat([self.conv_1(x), self.conv_2(x[:, :, 1:, 1:])], 1))


def skip(channels, _, stride):
    return nn.Identity() if stride == 1 else FactorizedReduce(channels, channels)


OPERATIONS = {
    "sep": Separable,
    "dil": Dilated,
    "7x1": lambda channels, _, stride: cross(channels, 7, stride),
    "max": lambda _, kernel, stride: nn.MaxPool2d(3, stride, 1),
    "avg": lambda _, kernel, stride: nn.AvgPool2d(3, stride, 1, count_include_pad=False),
    "skip": skip,
}

# name: (normal cell, states it joins, reducing cell, states it joins); two operations a step, each
# with the state it reads: 0 and 1 are the outputs of the two cells before.
CELLS = {
    "nasnet_cifar": (
        "sep5-1 sep3-0 sep5-0 sep3-0 avg-1 skip-0 avg-0 avg-0 sep3-1 skip-1", (2, 3, 4, 5, 6),
        "sep5-1 sep7-0 max-1 sep7-0 avg-1 sep5-0 skip-3 avg-2 sep3-2 max-1", (4, 5, 6)),
    "amoebanet_cifar": (
        "avg-0 max-1 sep3-0 sep5-2 sep3-0 avg-3 sep3-1 skip-1 skip-0 avg-1", (4, 5, 6),
        "avg-0 sep3-1 max-0 sep7-2 sep7-0 avg-1 max-0 max-1 7x1-0 sep3-5", (3, 4, 6)),
    "darts_cifar": (
        "sep3-0 sep3-1 sep3-0 sep3-1 sep3-1 skip-0 skip-0 dil3-2", (2, 3, 4, 5),
        "max-0 max-1 skip-2 max-1 max-0 skip-2 skip-2 max-1", (2, 3, 4, 5)),
}


def operation(word, channels, stride):
    """'sep5' is an operation and its kernel, '7x1' an operation."""
    if word in OPERATIONS:
        return OPERATIONS[word](channels, None, stride)
    return OPERATIONS[word[:-1]](channels, int(word[-1]), stride)


class Cell(nn.Module):
    def __init__(self, edges, joined, n_before, n_last, channels, reduces, halved):
        super().__init__()
        self.preprocess0 = (FactorizedReduce if halved else ReluConvBn)(n_before, channels)
        self.preprocess1 = ReluConvBn(n_last, channels)
        pairs = [edge.split("-") for edge in edges.split()]
        self.sources = [int(source) for _, source in pairs]
        self.joined = joined
        self._ops = nn.ModuleList(
            operation(word, channels, 2 if reduces and int(source) < 2 else 1)
            for word, source in pairs)

    def forward(self, before, last):
        states = [self.preprocess0(before), self.preprocess1(last)]
        for step in range(0, len(self._ops), 2):
            states.append(sum(self._ops[i](states[self.sources[i]]) for i in (step, step + 1)))
        return torch.cat([states[i] for i in self.joined], 1)


class CellNetwork(nn.Module):
    def __init__(self, name, n_classes=10, channels=36, n_cells=20):
        super().__init__()
        normal, normal_joined, reducing, reducing_joined = CELLS[name]
        self.stem = nn.Sequential(nn.Conv2d(3, 3 * channels, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(3 * channels))
        n_before = n_last = 3 * channels
        halved = False
        self.cells = nn.ModuleList()
        for i in range(n_cells):
            reduces = i in (n_cells // 3, 2 * n_cells // 3)
            channels *= 1 + reduces
            edges, joined = (reducing, reducing_joined) if reduces else (normal, normal_joined)
            self.cells.append(Cell(edges, joined, n_before, n_last, channels, reduces, halved))
            n_before, n_last, halved = n_last, len(joined) * channels, reduces
        self.classifier = nn.Linear(n_last, n_classes)

    def forward(self, x):
        before = last = self.stem(x)
        for cell in self.cells:
            before, last = last, cell(before, last)
        return self.classifier(last.mean((2, 3)))


if __name__ == "__main__":
    for cells in CELLS:
        print(cells, sum(p.numel() for p in CellNetwork(cells).parameters()))
