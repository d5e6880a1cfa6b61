"""Stage 4: from texts to vectors, and the rerankers.

Read ``interface.py`` first, the port of an embedder. ``builtin/`` is the model that comes with mdvec,
``local/`` runs others on this machine, and ``remote/`` is what services have in common: ``openai.py``,
``gemini.py``, ``voyage.py`` and ``cohere.py``. ``ray_cluster.py`` embeds on many machines; ``unrelated.py``
measures a model.
"""
