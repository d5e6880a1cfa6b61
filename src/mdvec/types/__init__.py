"""The values that travel between the stages: frozen, and without behaviour of their own.

Read ``document.py`` and ``chunk.py`` first, then ``query.py`` and ``hit.py``, what is asked and answered.
``collection.py`` is what a user registers, ``change.py`` what an import finds, ``report.py`` what a door
shows of it. ``fields.py`` says which door shows a field.
"""
