#!/usr/bin/env python3
"""Measures training speed in Python's PyTorch, for comparison with the trainer: samples per second.

The same SE-ResNet as in trainer/src/learn/torch/families (convolutional policy head, BatchNorm, ReLU), channels last, with the same
losses, gradient clipping and AdamW, on synthetic tensors that are already on the device. bf16 as in the trainer: inputs
and weights of convolutions and matrix products are cast; parameters, normalisation and losses stay fp32. The trainer's
side of the comparison is `cargo bench -p trainer --bench step`.

Needs PyTorch for Python, which scripts/setup.sh does not install, in its own environment:
  python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch==2.11.0 numpy

Examples:
  /tmp/torch/bin/python scripts/torch_speed.py --steps 20
  /tmp/torch/bin/python scripts/torch_speed.py --device cuda --batch 4096 --precision bf16
"""

import argparse
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    sys.exit(f"{error}: see torch_speed.py --help for how to get PyTorch")

PLANES, TYPES, POLICY = 72, 73, 4672
ROUNDS = 3


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--device", default="cpu", help="cpu or cuda (default: %(default)s)")
    add("--precision", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"], help="default: both")
    add("--batch", type=int, default=1024, help="samples per step (default: %(default)s)")
    add("--filters", type=int, default=64, help="channels of the residual tower (default: %(default)s)")
    add("--blocks", type=int, default=6, help="residual blocks (default: %(default)s)")
    add("--steps", type=int, default=10, help=f"timed steps per round, of {ROUNDS} rounds (default: %(default)s)")
    add("--threads", type=int, help="CPU threads of PyTorch (default: its own choice)")
    return parser.parse_args()


class Cast:
    """The precision of convolutions and matrix products."""

    kind = torch.float32


class Conv(nn.Conv2d):
    def forward(self, x):
        bias = None if self.bias is None else self.bias.to(Cast.kind)
        return F.conv2d(x, self.weight.to(Cast.kind), bias, padding=self.padding)


class Linear(nn.Linear):
    def forward(self, x):
        return F.linear(x, self.weight.to(Cast.kind), self.bias.to(Cast.kind))


class ConvNorm(nn.Module):
    def __init__(self, inputs, outputs, kernel):
        super().__init__()
        self.conv = Conv(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        # Computes in fp32, for activations of either precision.
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.norm(self.conv(x))


class Block(nn.Module):
    def __init__(self, filters, se_ratio=8):
        super().__init__()
        self.first, self.second = ConvNorm(filters, filters, 3), ConvNorm(filters, filters, 3)
        self.reduce, self.expand = Linear(filters, filters // se_ratio), Linear(filters // se_ratio, filters)

    def forward(self, x):
        y = self.second(self.first(x).relu())
        gate = self.expand(self.reduce(y.mean((2, 3))).relu()).sigmoid()
        return (y * gate[:, :, None, None] + x).relu()


class Net(nn.Module):
    def __init__(self, filters, blocks, value_channels=8, value_hidden=128):
        super().__init__()
        self.stem = ConvNorm(PLANES, filters, 3)
        self.blocks = nn.Sequential(*(Block(filters) for _ in range(blocks)))
        self.policy_hidden, self.policy_out = ConvNorm(filters, filters, 3), Conv(filters, TYPES, 1)
        self.squeeze = ConvNorm(filters, value_channels, 1)
        self.hidden, self.out = Linear(64 * value_channels, value_hidden), Linear(value_hidden, 3)

    def forward(self, x):
        x = self.blocks(self.stem(x).relu())
        # Index = square * 73 + type.
        policy = self.policy_out(self.policy_hidden(x).relu()).permute(0, 2, 3, 1).reshape(-1, POLICY)
        return policy, self.out(self.hidden(self.squeeze(x).relu().flatten(1)).relu())


def synthetic(batch, device):
    """Input planes, mask of illegal moves, moves played, WDL targets."""
    planes = (torch.rand(batch, PLANES, 8, 8, device=device) < 0.2).to(Cast.kind)
    illegal = torch.rand(batch, POLICY, device=device) > 0.01
    played = torch.randint(POLICY, (batch,), device=device)
    illegal[torch.arange(batch), played] = False
    wdl = torch.tensor([0.4, 0.3, 0.3], device=device).repeat(batch, 1)
    return planes.to(memory_format=torch.channels_last), illegal, played, wdl


def step(net, optimiser, planes, illegal, played, wdl):
    policy, value = net(planes)
    log = policy.masked_fill(illegal, -1e9).log_softmax(-1, dtype=torch.float32)
    loss = -log.gather(1, played[:, None]).mean()
    loss = loss - (value.log_softmax(-1, dtype=torch.float32) * wdl).sum(-1).mean()
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimiser.step()
    return loss


def measure(args):
    torch.manual_seed(1)
    net = Net(args.filters, args.blocks).to(args.device, memory_format=torch.channels_last).train()
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4, betas=(0.9, 0.98), weight_decay=0.02, fused=True)
    batch = synthetic(args.batch, args.device)
    for _ in range(3):
        step(net, optimiser, *batch).item()
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(args.steps):
            loss = step(net, optimiser, *batch)
        # Waits for the device.
        loss.item()
        rounds.append(time.perf_counter() - start)
    seconds = statistics.median(rounds) / args.steps
    return args.batch / seconds, 1000 * seconds, sum(p.numel() for p in net.parameters())


def main():
    args = parse()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.backends.cudnn.benchmark = True
    for precision in args.precision:
        Cast.kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        rate, milliseconds, parameters = measure(args)
        print(
            f"PyTorch {torch.__version__}, {parameters} parameters, batch {args.batch}, {precision} on {args.device}: "
            f"{rate:.0f} samples/s, {milliseconds:.2f} ms per step",
            flush=True,
        )


if __name__ == "__main__":
    main()
