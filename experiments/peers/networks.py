"""The networks of peers.py as PyTorch modules with seeded random weights, and their inputs."""

import math

import torch
import torchvision
from torch import nn
from torch.nn import functional


class NasRnn(nn.Module):
    """The recurrent cell that architecture search found (Zoph and Le, 2017), unrolled; every step
    has weights of its own, as in the benchmark of TASO (Jia et al., SOSP 2019)."""
    def __init__(self, hidden, steps):
        super().__init__()

        def products():
            return nn.ModuleList(nn.Linear(hidden, hidden, bias=False) for _ in range(8))

        self.of_input = nn.ModuleList(products() for _ in range(steps))
        self.of_state = nn.ModuleList(products() for _ in range(steps))
        self.start = nn.Parameter(torch.zeros(1, hidden))

    def forward(self, *inputs):
        state = self.start
        for x, of_input, of_state in zip(inputs, self.of_input, self.of_state):
            p = [left(x) + right(state) for left, right in zip(of_input, of_state)]
            add = torch.relu(p[0]) + torch.sigmoid(p[3])
            sigmoid = torch.sigmoid(torch.sigmoid(p[1]) + torch.tanh(p[2]))
            product = torch.tanh(torch.sigmoid(p[4]) * torch.tanh(p[5]))
            gate = torch.sigmoid(p[6]) * torch.relu(p[7])
            left, right = torch.tanh(sigmoid + product), torch.tanh(add) * torch.tanh(gate)
            state = torch.tanh(left * torch.tanh(right))
        return state


class BertLayer(nn.Module):
    def __init__(self, hidden, heads, inner):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(hidden, hidden) for _ in range(4))
        self.up, self.down = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.norm1, self.norm2 = (nn.LayerNorm(hidden, eps=1e-12) for _ in range(2))

    def split(self, x):
        batch, length, hidden = x.shape
        return x.view(batch, length, self.heads, hidden // self.heads).transpose(1, 2)

    def forward(self, x):
        query, key, value = (self.split(of(x)) for of in (self.query, self.key, self.value))
        context = attention(query, key, value).transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + self.out(context))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


def attention(query, key, value):
    if hasattr(functional, "scaled_dot_product_attention"):  # since PyTorch 2.0
        return functional.scaled_dot_product_attention(query, key, value)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=-1) @ value


class Bert(nn.Module):
    """BERT's encoder (Devlin et al., 2018) with absolute positions and one segment."""
    def __init__(self, layers, hidden, heads, inner, vocabulary, length):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, hidden), nn.Embedding(length, hidden)
        self.segment = nn.Parameter(torch.zeros(hidden))
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.Sequential(*(BertLayer(hidden, heads, inner) for _ in range(layers)))

    def forward(self, tokens):
        positions = self.positions.weight[:tokens.shape[1]]
        return self.layers(self.norm(self.tokens(tokens) + self.segment + positions))


BERT = {"layers": 12, "hidden": 768, "heads": 12, "inner": 3072, "vocabulary": 30522, "length": 128}
SMALL_BERT = {"layers": 1, "hidden": 64, "heads": 2, "inner": 128, "vocabulary": 100, "length": 16}
SMALL_VIT = {
    "image_size": 32, "patch_size": 16, "num_layers": 1, "num_heads": 2, "hidden_dim": 64,
    "mlp_dim": 128
}


def made(name, small):
    if name == "bert_base":
        return Bert(**(SMALL_BERT if small else BERT))
    if name == "nasrnn":
        return NasRnn(*((32, 2) if small else (512, 5)))
    if name == "vit_b_16" and small:
        return torchvision.models.VisionTransformer(**SMALL_VIT)
    options = {"aux_logits": False, "init_weights": False} if name == "inception_v3" else {}
    return getattr(torchvision.models, name)(weights=None, **options)


def inputs(name, batch, small):
    generator = torch.Generator().manual_seed(batch)
    if name == "bert_base":
        sizes = SMALL_BERT if small else BERT
        return (torch.randint(0, sizes["vocabulary"], (batch, sizes["length"]),
                              generator=generator),)
    if name == "nasrnn":
        hidden, steps = (32, 2) if small else (512, 5)
        return tuple(torch.randn(batch, hidden, generator=generator) for _ in range(steps))
    sides = {"inception_v3": (299, 96), "vit_b_16": (224, 32)}
    side = sides.get(name, (224, 64))[small]
    return (torch.randn(batch, 3, side, side, generator=generator),)


def built(name, small):
    """In evaluation mode. Weights are drawn by fan-in; batch normalization has the statistics of
    random inputs, so that activations stay bounded and no rewrite hides behind zeros."""
    module = made(name, small)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter_name, parameter in module.named_parameters():
            if parameter.dim() > 1:
                gain = 2 if parameter.dim() == 4 else 1
                spread = math.sqrt(gain / parameter[0].numel())
                parameter.copy_(spread * torch.randn(parameter.shape, generator=generator))
            elif parameter_name.endswith("weight"):
                parameter.copy_(0.5 + torch.rand(parameter.shape, generator=generator))
            else:
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
        norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
        for norm in norms:
            norm.momentum = None  # the mean over all batches, of which there is one
        if norms:
            module.train()(*inputs(name, 16 if small else 4, small))
    return module.eval()
