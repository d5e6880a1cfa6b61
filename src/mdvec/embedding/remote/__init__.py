"""What embedders and rerankers that use a service over HTTP have in common.

Read ``provider.py`` first, which says what a service differs in. ``remote_embedder.py`` and
``remote_reranker.py`` send texts to one in batches (``batches.py``), several at a time, and check what comes
back (``vectors.py``, ``failures.py``).
"""
