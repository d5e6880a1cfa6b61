"""Models that run here, on torch: any model that sentence-transformers can load, and PLaMo.

Read ``local_embedder.py`` first. ``files.py`` and ``layout.py`` find a model and its facts without loading
it, ``local_model.py`` loads and frees it, and ``engines.py`` and ``inference.py`` run it in batches.
"""

import os

# Hugging Face's libraries read these when they are first imported. What the user has set stands.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
# Texts are tokenised one batch at a time: its threads gain little, and complain after a fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
