"""The networks of the ten-losses test, with the batch each one sees."""

import torch
import torchvision
from torch import nn
from torch.nn import functional as F


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


# name: (make, shape of the batch, learning rate). Batch and rate are such that float32 arithmetic
# of any kernel stays near float64's path: no ReLU or maximum lies on the edge of flipping.
NETWORKS = {
    "mlp": (Mlp, (16, 1, 28, 28), 0.01),
    "lenet5": (Lenet5, (8, 1, 28, 28), 0.01),
    "resnet20": (Resnet20, (8, 1, 28, 28), 0.01),
    "vgg11": (lambda: torchvision.models.vgg11(num_classes=10, dropout=0.0), (4, 3, 32, 32), 1e-5),
    "resnet18": (lambda: torchvision.models.resnet18(num_classes=10), (3, 3, 64, 64), 0.003),
}
