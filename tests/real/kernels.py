# SPDX-License-Identifier: Apache-2.0
"""Five small kernels that every Triton from 3.1 to 3.9 compiles.

VAR is a constant of each kernel; another VAR is another cache entry.
"""
import triton
import triton.language as tl


@triton.jit
def add(dst, left, right, count, WIDTH: tl.constexpr, VAR: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = at < count
    a = tl.load(left + at, mask=inside)
    b = tl.load(right + at, mask=inside)
    tl.store(dst + at, a + b * VAR, mask=inside)


@triton.jit
def rowsum(dst, src, stride, columns, WIDTH: tl.constexpr,
           VAR: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((WIDTH, ), dtype=tl.float32)
    for first in range(0, columns, WIDTH):
        at = first + tl.arange(0, WIDTH)
        value = tl.load(src + row * stride + at, mask=at < columns, other=0.0)
        total += value.to(tl.float32)
    tl.store(dst + row, tl.sum(total, axis=0) + VAR)


@triton.jit
def softmax(dst, src, stride, columns, WIDTH: tl.constexpr,
            VAR: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    inside = at < columns
    value = tl.load(src + row * stride + at, mask=inside, other=float("-inf"))
    value = value.to(tl.float32) * VAR
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(dst + row * stride + at, power / tl.sum(power, axis=0),
             mask=inside)


@triton.jit
def layernorm(dst, src, weight, bias, stride, columns, epsilon,
              WIDTH: tl.constexpr, VAR: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    inside = at < columns
    value = tl.load(src + row * stride + at, mask=inside, other=0.0)
    value = value.to(tl.float32)
    mean = tl.sum(value, axis=0) / columns
    centred = tl.where(inside, value - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    scale = tl.load(weight + at, mask=inside).to(tl.float32)
    shift = tl.load(bias + at, mask=inside).to(tl.float32)
    value = centred / tl.sqrt(variance + epsilon) * scale + shift * VAR
    tl.store(dst + row * stride + at, value, mask=inside)


@triton.jit
def matmul(dst, left, right, rows, columns, depth, left_stride, right_stride,
           dst_stride, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
           TILE_K: tl.constexpr, VAR: tl.constexpr):
    m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    sums = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for first in range(0, depth, TILE_K):
        k = first + tl.arange(0, TILE_K)
        a = tl.load(left + m[:, None] * left_stride + k[None, :],
                    mask=(m[:, None] < rows) & (k[None, :] < depth), other=0.0)
        b = tl.load(right + k[:, None] * right_stride + n[None, :],
                    mask=(k[:, None] < depth) & (n[None, :] < columns),
                    other=0.0)
        sums += tl.dot(a, b)
    tl.store(dst + m[:, None] * dst_stride + n[None, :], sums * VAR,
             mask=(m[:, None] < rows) & (n[None, :] < columns))
