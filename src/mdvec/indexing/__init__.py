"""Brings an index up to date with a source, in four steps: plan, prepare, write, embed.

Read ``imports.py`` first: one function calls the steps in order, each in a module of its name: ``plan.py``,
``prepare.py``, ``write.py`` and ``embed.py``.
Documents that clients write come in through ``pushed.py``. ``watch.py`` decides when a collection is looked
at; ``estimate.py`` counts what an import would embed, and ``transfer.py`` copies an index to another store.
"""
