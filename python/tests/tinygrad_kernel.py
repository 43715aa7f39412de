"""A product of matrices in tinygrad, for `warplab.record`."""


def product(n):
    """Returns the sum of the product of two matrices of ones."""
    from tinygrad import Tensor

    return float((Tensor.ones(n, n).contiguous() @ Tensor.ones(n, n).contiguous()).sum().numpy())
