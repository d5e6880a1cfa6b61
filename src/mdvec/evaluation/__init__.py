"""Measures how good the answers of a workspace are, on judged questions.

Read ``runner.py`` first: it searches each question. ``corpus.py`` and ``judgements.py`` are what is
measured on, ``own_questions.py`` and ``automatic.py`` make questions for one's own documents,
``metrics.py`` has the formulas, ``baselines.py`` other rankings, and ``report.py``, ``page.py`` and
``gate.py`` show and compare results.
"""
