"""Talks to services over HTTP, and to buckets.

Read ``client.py`` first: it sends requests, retries and limits them. ``transfer.py`` is one request and its
response, ``response.py`` what a response says, and ``buckets.py`` reads and writes S3.
"""
