#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program to profile: trains a small transformer on random numbers with PyTorch, and prints the steps per second.

usage: train.py [SECONDS [BATCH]]
"""
import sys
import time

import torch
from torch import nn

LAYERS, WIDTH, HEADS, LENGTH = 6, 1024, 16, 512
WARM_UP = 60


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.project_up = nn.Linear(WIDTH, 4 * WIDTH)
        self.project_down = nn.Linear(4 * WIDTH, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))

    def forward(self, values):
        normal = self.norms[0](values)
        values = values + self.attention(normal, normal, normal, need_weights=False)[0]
        return values + self.project_down(nn.functional.gelu(self.project_up(self.norms[1](values))))


def train_step(model, optimizer, batch):
    optimizer.zero_grad(set_to_none=True)
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    torch.manual_seed(1)
    model = nn.Sequential(*(Block() for _ in range(LAYERS))).to('cuda', torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(count, LENGTH, WIDTH, device='cuda', dtype=torch.bfloat16)
    for _ in range(WARM_UP):
        train_step(model, optimizer, batch)
    torch.cuda.synchronize()
    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < seconds:
        for _ in range(10):
            train_step(model, optimizer, batch)
        torch.cuda.synchronize()
        steps += 10
    print(f'{steps / (time.perf_counter() - start):.3f} steps/s', flush=True)


main()
