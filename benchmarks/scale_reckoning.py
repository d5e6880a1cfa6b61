"""What a hundred million chunks take: the recorded figures of a million, multiplied, and prices."""

from __future__ import annotations

from typing import Any

from benchmarks.memory import SECTION_CHARS
from mdvec.config.known_models import known_models

MILLIONS = 100
SHARD = 10
"""Millions of chunks in each of the databases that hold them."""

TOKENS = 200
"""Of a chunk: assumed; the builtin model takes 512 at most."""

USD_CORE_HOUR = 0.04
USD_GB_MONTH = 0.023
USD_MEMORY_GB_HOUR = 0.005
"""Assumed: about what the large clouds ask for a core, for object storage, and for memory."""

_HOURS_A_MONTH = 730


def sizes_table(served: dict[str, Any]) -> str:
    """Return what a million chunks take and what more would, in Markdown."""
    millions = served["chunks"] / 1e6
    second, disk = served["served"]["second"], served["served"]["disk_mb"]
    published = served["published"]
    gigabytes = {
        "database": served["index_mb"],
        "in the bucket, one version": published["sent_mb"],
        "disk of a server, one version": disk,
        "memory of a server": second["rss_mb"],
    }
    lines = [
        f"| | {millions:g} million: measured | {SHARD} million: × {SHARD} "
        f"| {MILLIONS} million on {MILLIONS // SHARD} servers: × {MILLIONS} |",
        "|---|---:|---:|---:|",
    ]
    for name, megabytes in gigabytes.items():
        each = megabytes / 1000 / millions
        lines.append(
            f"| {name} | {each * millions:.1f} GB | {each * SHARD:.0f} GB | {each * MILLIONS:,.0f} GB |"
        )
    cpu_s = published["cpu_s"] / millions
    lines.append(
        f"| processor time of publishing | {published['cpu_s']:.0f} s | {cpu_s * SHARD / 60:.0f} min "
        f"| {cpu_s * MILLIONS / 3600:.1f} h |"
    )
    p50 = second["p50_ms"] / millions
    lines.append(
        f"| hybrid search, p50 | {second['p50_ms']:.0f} ms | {p50 * SHARD / 1000:.1f} s "
        f"| {p50 * SHARD / 1000:.1f} s each |"
    )
    return "\n".join(lines) + "\n"


def costs_table(figures: dict[str, Any]) -> str:
    """Return what making and serving a hundred million chunks costs, in Markdown."""
    served, embedding, nodes = figures["served"], figures["embedding"], figures["nodes"]
    chunks = MILLIONS * 1e6
    tokens = chunks * TOKENS
    rate = embedding["tokens_per_cpu_s"]
    core_hours = tokens / rate / 3600
    most = nodes["nodes"][max(nodes["nodes"], key=int)]
    driver = nodes["chunks"] / most["import_cpu_s"]
    prices = sorted(
        (model.price.usd_per_million_tokens, model.spec, model.price.as_of)
        for model in known_models()
        if model.price is not None
    )
    (low, cheap, as_of), (high, dear, _) = prices[0], prices[-1]
    per_million = served["chunks"] / 1e6
    bucket_gb = served["published"]["sent_mb"] / 1000 / per_million * MILLIONS
    memory_gb = served["served"]["second"]["rss_mb"] / 1000 / per_million * MILLIONS
    rows = [
        ("tokens", f"{tokens / 1e9:,.0f} billion", f"arithmetic: {TOKENS} a chunk, assumed"),
        ("builtin model, tokens/s of a core", f"{rate:,.0f}", "measured"),
        ("embedding, builtin model", f"{core_hours:,.0f} core hours", "arithmetic: tokens / rate"),
        (
            "… on 16 machines of 16 cores",
            f"{core_hours / 256:.0f} h",
            "arithmetic; needs databases of their own, below",
        ),
        (
            "… cost",
            f"$ {core_hours * USD_CORE_HOUR:,.0f}",
            f"arithmetic: $ {USD_CORE_HOUR:g} an hour of a core, assumed",
        ),
        (f"embedding, {cheap}", f"$ {tokens / 1e6 * low:,.0f}", f"arithmetic: price of {as_of}"),
        (f"embedding, {dear}", f"$ {tokens / 1e6 * high:,.0f}", f"arithmetic: price of {as_of}"),
        (
            "reading, cutting, writing: chunks/s of a core",
            f"{driver:,.0f}",
            f"measured: the import on nodes above, chunks of {SECTION_CHARS} characters",
        ),
        ("… in one process", f"{chunks / driver / 3600:.0f} h", "arithmetic"),
        (
            f"… in {MILLIONS // SHARD} processes",
            f"{chunks / driver / 3600 / (MILLIONS // SHARD):.1f} h",
            "arithmetic",
        ),
        (
            "bucket, a month",
            f"$ {bucket_gb * USD_GB_MONTH:,.0f}",
            f"arithmetic: $ {USD_GB_MONTH:g} a GB, assumed; one version",
        ),
        (
            "memory of servers, a month",
            f"$ {memory_gb * USD_MEMORY_GB_HOUR * _HOURS_A_MONTH:,.0f}",
            f"arithmetic: $ {USD_MEMORY_GB_HOUR:g} a GB and hour, assumed; each shard served once",
        ),
    ]
    return "| what | figure | from |\n|---|---:|---|\n" + "".join(
        f"| {a} | {b} | {c} |\n" for a, b, c in rows
    )
