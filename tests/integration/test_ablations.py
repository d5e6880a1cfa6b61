"""The ablations run, measure what is shipped, and change what they say they change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from benchmarks.ablations.__main__ import chosen_variants
from benchmarks.ablations.index import Index, shipped_index
from benchmarks.ablations.measuring import MODES, Found, score_questions
from benchmarks.ablations.report import result_of, table
from benchmarks.ablations.running import by_documents, measure, prepared
from benchmarks.ablations.variant import SHIPPED, Evidence, Stage, Variant, applied
from benchmarks.ablations.variants import all_variants

from mdvec import open_workspace
from mdvec.config import Config
from mdvec.embedding.interface import Role
from mdvec.evaluation.corpus import Indexing, judged_task
from mdvec.evaluation.judgements import JudgedSet, read_judged_set
from mdvec.evaluation.metrics import PRIMARY
from mdvec.evaluation.naming import Naming
from mdvec.evaluation.runner import Options, evaluate
from mdvec.testing.embedder import HashingEmbedder

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

# About 350 tokens: one chunk as shipped, two with smaller ones.
_LONG = " ".join(f"Sentence {number} is about drive number {number}." for number in range(34))

DOCUMENTS = {
    "en/drives.md": f"# Connected drives\n\nThe drives are connected by cable.\n\n## Long story\n\n{_LONG}\n",
    "en/notes.md": "---\naliases: [logbook]\ntags: [diary]\nmood: soup\n---\n"
    "# Daily notes\n\n## Walks\n\nShort.\n\n## Meals\n\nThe soup was of the day.\n",
    "en/docker.md": "# Ｄｏｃｋｅｒ\n\nContainers run on the server.\n",
    "ja/inn.md": "# 京都の旅館\n\n静かな旅館に泊まった。静かな庭がある。\n\n## 食事\n\n静かな朝食。\n",
    "ja/server.md": "# サーバーの設定\n\nDockerのコンテナをサーバに置く。サーバーは静か。\n",
    "ja/zoo.md": "# 動物園\n\n猿山の猿は元気。犬はいない。\n",
}
QUESTIONS = (
    ("connecting the drives by cable", "en/drives.md"),
    ("the soup of the day", "en/notes.md"),
    ("logbook", "en/notes.md"),
    ("long story of sentence 33", "en/drives.md"),
    ("Dockerのコンテナの設定", "ja/server.md"),
    ("サーバーを静かに置く", "ja/server.md"),
    ("静かな旅館", "ja/inn.md"),
    ("犬猿の仲", "ja/zoo.md"),
)

EVIDENCE_CHANGES = [each for each in all_variants() if each.stage is not Stage.FUSING]


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> list[JudgedSet]:
    """Two sets over the same six documents; some questions have a scope or leave a document out."""
    folder = tmp_path_factory.mktemp("sets") / "tiny"
    for path, text in DOCUMENTS.items():
        target = folder / "tree" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    _write(folder, "", QUESTIONS)
    _write(folder, "_scoped", QUESTIONS[2:4], scope="en", exclude=["en/docker.md"])
    return [read_judged_set(folder, suffix=suffix) for suffix in ("", "_scoped")]


def _write(folder: Path, suffix: str, questions: Sequence[tuple[str, str]], **more: Any) -> None:
    lines = [{"_id": str(number), "text": text, **more} for number, (text, _) in enumerate(questions)]
    judged = [f"{number}\t{path}\t1" for number, (_, path) in enumerate(questions)]
    (folder / f"queries{suffix}.jsonl").write_text(
        "\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8"
    )
    (folder / f"qrels{suffix}.tsv").write_text("\n".join(judged), encoding="utf-8")


class _TwoRoles(HashingEmbedder):
    """Embeds a passage in another way than a question."""

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        prefix = "passage " if role is Role.DOCUMENT else ""
        yield from super().embed([prefix + text for text in texts], role, titles)


@pytest.fixture(scope="module")
def shipped(sets: list[JudgedSet]) -> Iterator[tuple[Index, Naming]]:
    """The index of both sets as it is shipped."""
    with shipped_index(sets, _TwoRoles(), None) as opened:
        yield opened


def evidence_of(variant: Variant, sets: list[JudgedSet], shipped: tuple[Index, Naming]) -> list[object]:
    """Return what a variant finds for every question, in terms of paths and positions."""
    index, naming = shipped
    found: Found = {}
    with prepared(variant, index, None) as searched:
        score_questions(sets[0].set.questions, naming, searched, variant, found)
        places = {chunk.id: (chunk.path, chunk.start) for chunk in searched.chunks}
        return [_portable(evidence, places) for evidence, _ in found.values()]


def _portable(evidence: Evidence, places: dict[Any, tuple[str, int]]) -> object:
    words, dense = evidence.lexical, evidence.dense
    return (
        sorted((places[chunk], round(score, 6)) for chunk, score in words.ranking),
        round(words.max_score, 6),
        round(words.matched_weight, 6),
        sorted(places[chunk] for chunk in words.named),
        sorted((places[chunk], round(value, 5)) for chunk, value in dense.nearness.items()),
    )


def test_what_is_shipped_scores_as_in_an_evaluation(sets: list[JudgedSet], tmp_path: Path) -> None:
    """Question by question, in all modes, the shipped search is judged as ``mdvec eval`` judges it."""
    embedder = HashingEmbedder()
    mine = measure(sets, [], embedder=embedder, cache=None)

    def opener(config: Config | None = None, *, database: Path | str | None = None) -> Any:
        return open_workspace(config, database=database, embedder=embedder)

    tasks = [judged_task(each, Indexing(opener, Config(), tmp_path)) for each in sets]
    for report in evaluate(tasks, Options()).sets:
        for system in report.systems:
            theirs = [outcome.metrics[PRIMARY] for outcome in system.outcomes]
            scores = {mode.value: values for mode, values in mine[report.set.name][SHIPPED.name].items()}
            assert scores[system.system].tolist() == theirs


@pytest.mark.parametrize("variant", EVIDENCE_CHANGES, ids=lambda variant: variant.name)
def test_a_variant_changes_what_is_found(
    variant: Variant, sets: list[JudgedSet], shipped: tuple[Index, Naming]
) -> None:
    """Each variant of indexing or finding bites: a name of the code that is read elsewhere now shows here."""
    assert evidence_of(variant, sets, shipped) != evidence_of(SHIPPED, sets, shipped)


def test_nothing_stays_changed(sets: list[JudgedSet], shipped: tuple[Index, Naming]) -> None:
    """After all variants have run, the code has its own values again."""
    patches = [patch for variant in all_variants() for patch in variant.patches]
    before = [getattr(patch.owner, patch.name) for patch in patches]
    evidence = evidence_of(SHIPPED, sets, shipped)
    for variant in all_variants():
        with applied(variant.patches):
            pass
    assert [getattr(patch.owner, patch.name) for patch in patches] == before
    assert evidence_of(SHIPPED, sets, shipped) == evidence


def test_every_variant_is_measured(sets: list[JudgedSet], tmp_path: Path) -> None:
    """All that run without another model give scores for every question, a verdict and a row of the table."""
    variants = [each for each in all_variants() if each.name != "sparse-head"]
    assert [len(group) for group in by_documents(sets)] == [2]
    embedder = HashingEmbedder()
    scores = measure(sets, variants, embedder=embedder, cache=tmp_path)
    for judged in sets:
        of_set = scores[judged.set.name]
        assert list(of_set) == ["shipped", *(each.name for each in variants)]
        for of_variant in of_set.values():
            values = np.stack([of_variant[mode] for mode in MODES])
            assert values.shape == (3, len(judged.set.questions))
            assert values.min() >= 0.0
            assert values.max() <= 1.0
    questions = {each.set.name: each.set.questions for each in sets}
    result = result_of(scores, questions, {each.name: each.change for each in variants})
    shown = table(json.loads(json.dumps(result)))
    assert all(f"\n{each.name} " in shown for each in variants)
    # Other chunks had to be embedded; a second run finds their vectors where the first one left them.
    slow = [each for each in variants if each.slow]
    assert slow
    embedder.forget()
    measure(sets, slow, embedder=embedder, cache=tmp_path)
    assert embedder.embedded == []


def test_names_of_variants() -> None:
    """Names are unique; the slow ones run when they are named or asked for, an unknown one is refused."""
    names = [each.name for each in all_variants()]
    assert len(set(names)) == len(names)
    assert [each.name for each in chosen_variants(["chunks-200", "no-stems"], slow=False)] == [
        "no-stems",
        "chunks-200",
    ]
    assert [each.name for each in chosen_variants([], slow=True)] == names
    assert not any(each.slow for each in chosen_variants([], slow=False))
    with pytest.raises(ValueError, match=r"no variant is called nonsense; there are no-stems, "):
        chosen_variants(["nonsense"], slow=False)
