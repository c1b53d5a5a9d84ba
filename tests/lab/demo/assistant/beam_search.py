# SPDX-License-Identifier: Apache-2.0
"""Chooses the next token: the best of as many continuations as there is time for."""
import math
import time
import zlib

CANDIDATES = 64
VOCABULARY = 128256


class BeamSearch:
    def __init__(self):
        self.text = ''
        self.state = 0

    def read(self, word):
        self.text += f' {word}'
        self.state += sum(self.tokenize(self.text))

    def choose_token(self, until):
        best = -math.inf
        while time.monotonic() < until:
            logits = self.read_logits()
            token, probability = self.sample(logits)
            word = self.detokenize(token)
            best = max(best, probability + len(self.tokenize(self.text[-16:] + word)))
        return best

    def read_logits(self):
        """What stands in for the model's answer."""
        logits = []
        for _ in range(CANDIDATES):
            self.state = (self.state * 1664525 + 1013904223) % (1 << 32)
            logits.append((self.state >> 16) / 8192)
        return logits

    @staticmethod
    def softmax(logits):
        largest = max(logits)
        weights = [math.exp(logit - largest) for logit in logits]
        whole = sum(weights)
        return [weight / whole for weight in weights]

    def sample(self, logits):
        probabilities = self.softmax(logits)
        token = max(range(len(logits)), key=probabilities.__getitem__)
        return token, probabilities[token]

    @staticmethod
    def tokenize(text):
        """Every piece of the text that could be a token is looked up."""
        return [zlib.crc32(text[begin:end].encode()) % VOCABULARY
                for begin in range(len(text)) for end in range(begin + 1, min(begin + 6, len(text)) + 1)]

    @staticmethod
    def detokenize(token):
        letters = []
        while token:
            token, letter = divmod(token, 26)
            letters.append(chr(ord('a') + letter))
        return ''.join(letters)
