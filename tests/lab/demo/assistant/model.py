# SPDX-License-Identifier: Apache-2.0
"""The language model: which kernels a token takes, layer by layer."""
import gpu

LAYERS = 2


class Attention:
    def forward(self):
        self.normalize()
        self.score_keys()
        self.weigh_values()

    def normalize(self):
        gpu.launch('rms_norm')

    def score_keys(self):
        gpu.launch('attention_scores')

    def weigh_values(self):
        gpu.launch('softmax')


class FeedForward:
    def forward(self):
        self.normalize()
        self.project_up()
        self.activate()

    def normalize(self):
        gpu.launch('rms_norm')

    def project_up(self):
        gpu.launch('feed_forward')

    def activate(self):
        gpu.launch('bias_gelu')


class LanguageModel:
    def __init__(self, path):
        self.kernels = gpu.load(path)
        self.layers = [layer for _ in range(LAYERS) for layer in (Attention(), FeedForward())]

    def plan_token(self):
        """Every token takes the same launches: they are recorded once."""
        for layer in self.layers:
            layer.forward()
        gpu.close()

    def decode_token(self):
        gpu.execute()
