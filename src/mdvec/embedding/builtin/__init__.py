"""multilingual-e5-small, offline: the package mdvec-e5, run by onnxruntime or numpy.

Read ``embedder.py`` first. ``model.py`` maps the files of the package, ``tokenizer.py`` cuts texts into
tokens by ``segments.py`` and ``pieces.py``, ``engine.py`` makes batches of them, and one of the two
encoders runs them.
"""

import os

# onnxruntime's published builds store a device id and a queue of events for Microsoft, unless this is set
# before the library is loaded. Only this package loads it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
