"""A few training steps of a small convolutional network: kernels from PTX, later steps as one CUDA graph."""

from tinygrad import Context, Tensor, TinyJit, nn
from tinygrad.nn.optim import SGD


class Net:
    def __init__(self):
        self.convolution = nn.Conv2d(1, 4, 3)
        self.linear = nn.Linear(4 * 6 * 6, 10)

    def __call__(self, x):
        return self.linear(self.convolution(x).relu().flatten(1))


assert (Tensor([1.0, 2.0, 3.0]) + 1).tolist() == [2.0, 3.0, 4.0]
assert Tensor.ones(100, 100).contiguous().sum().item() == 10000.0

Tensor.manual_seed(1)
net = Net()
optimizer = SGD(nn.state.get_parameters(net), lr=0.05)
images = Tensor.rand(8, 1, 8, 8).realize()
labels = Tensor([0, 1, 2, 3, 4, 5, 6, 7]).realize()


@TinyJit
def step(images, labels):
    with Context(TRAINING=1):
        optimizer.zero_grad()
        loss = net(images).sparse_categorical_crossentropy(labels)
        loss.backward()
        optimizer.step()
        return loss.realize()


losses = [step(images, labels).item() for _ in range(6)]
assert all(b < a for a, b in zip(losses, losses[1:])), losses
print("passed")
