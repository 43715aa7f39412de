"""Trains a small convolutional network with tinygrad, to be run and recorded on Warplab without a GPU:

    DEV=CUDA emu record -o train.wtrace -- python3 tinygrad_train.py

The images are made here: ten patterns of 12 by 12 pixels, under noise.
"""

import time

import numpy as np
from tinygrad import Context, Tensor, TinyJit, nn

STEPS, BATCH, SIDE, CLASSES = 8, 32, 12, 10


class Net:
    def __init__(self):
        self.first = nn.Conv2d(1, 8, 3)
        self.second = nn.Conv2d(8, 16, 3)
        self.last = nn.Linear(16 * 3 * 3, CLASSES)

    def __call__(self, x):
        x = self.first(x).relu().max_pool2d(2)
        return self.last(self.second(x).relu().flatten(1))


random = np.random.default_rng(1)
patterns = random.standard_normal((CLASSES, 1, SIDE, SIDE)).astype(np.float32)


def batch():
    labels = random.integers(0, CLASSES, BATCH).astype(np.int32)
    images = patterns[labels] + 0.5 * random.standard_normal((BATCH, 1, SIDE, SIDE)).astype(np.float32)
    return Tensor(images.astype(np.float32)).realize(), Tensor(labels).realize()


Tensor.manual_seed(1)
net = Net()
optimizer = nn.optim.SGD(nn.state.get_parameters(net), lr=0.1, momentum=0.9)


@TinyJit
def step(images, labels):
    with Context(TRAINING=1):
        optimizer.zero_grad()
        loss = net(images).sparse_categorical_crossentropy(labels)
        loss.backward()
        optimizer.step()
        return loss.realize()


for i in range(STEPS):
    start = time.perf_counter()
    loss = step(*batch()).item()
    print(f"step {i}: loss {loss:.3f}, {time.perf_counter() - start:.2f} s")
