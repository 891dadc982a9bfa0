"""The networks that are compared with PyTorch's, all with ten classes and without dropout, and the
batch each one sees."""

import copy

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from cell_networks import CellNetwork


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, x):
        return self.linear_relu_stack(x.flatten(1))


class Lenet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


class BasicBlock(nn.Module):
    """He et al.'s block; where it halves the image, option A's shortcut: every second pixel, and
    zero channels before and after."""

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.stride, self.n_pad = stride, (n_out - n_in) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride > 1:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.n_pad, self.n_pad))
        return F.relu(x + y)


class Resnet20(nn.Module):
    def __init__(self, n_channels=1):
        super().__init__()
        self.conv1 = nn.Conv2d(n_channels, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = self.stage(16, 16, 1)
        self.layer2 = self.stage(16, 32, 2)
        self.layer3 = self.stage(32, 64, 2)
        self.linear = nn.Linear(64, 10)

    @staticmethod
    def stage(n_in, n_out, stride):
        blocks = [BasicBlock(n_in, n_out, stride), BasicBlock(n_out, n_out, 1)]
        return nn.Sequential(*blocks, BasicBlock(n_out, n_out, 1))

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean((2, 3)))


def make(name):
    if name in OWN:
        return OWN[name]()
    if name.endswith("_cifar"):
        return CellNetwork(name)
    options = {"num_classes": 10}
    if name.startswith(("alexnet", "vgg")):
        options |= {"dropout": 0.0}
    if name == "inception_v3":  # its own initial values take long
        options |= {"dropout": 0.0, "aux_logits": False, "init_weights": False}
    return getattr(torchvision.models, name)(**options)


OWN = {"mlp": Mlp, "lenet5": Lenet5, "resnet20": Resnet20}

# Shapes of the batches: as small as lets every batch norm see eight values or more.
SHAPES = {
    "mlp": (16, 1, 28, 28), "lenet5": (8, 1, 28, 28), "resnet20": (8, 1, 28, 28),
    "alexnet": (2, 3, 63, 63),
    "vgg11": (2, 3, 32, 32), "vgg13": (1, 3, 32, 32),
    "vgg16": (1, 3, 32, 32), "vgg19": (1, 3, 32, 32),
    "resnet18": (4, 3, 32, 32), "resnet34": (4, 3, 32, 32), "resnet50": (4, 3, 32, 32),
    "resnet101": (4, 3, 32, 32), "resnet152": (4, 3, 32, 32),
    "densenet121": (4, 3, 32, 32), "densenet161": (4, 3, 32, 32),
    "densenet169": (4, 3, 32, 32), "densenet201": (4, 3, 32, 32),
    "inception_v3": (2, 3, 107, 107),
    "nasnet_cifar": (2, 3, 16, 16), "amoebanet_cifar": (2, 3, 16, 16),
    "darts_cifar": (2, 3, 16, 16),
}


def float32_kernels(run, model, images):
    """What run(model, images) gives with three sets of float32 kernels: how far rounding alone may
    lead."""
    last = torch.channels_last
    results = [run(copy.deepcopy(model), images),
               run(copy.deepcopy(model).to(memory_format=last), images.to(memory_format=last))]
    with torch.backends.mkldnn.flags(enabled=False):
        return results + [run(copy.deepcopy(model), images)]
