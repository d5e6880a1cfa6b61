"""Makes judged sets of what real collections hold and judged sets lack: other languages and repeated text.

    python -m benchmarks.altered SETS_DIR OUT_DIR

Each set is one of SETS_DIR with its questions and judgements as they are, and its documents changed:

- ``NAME_mixed``: documents in the other writing stand among them, and some documents hold code and addresses;
- ``NAME_repeated``: every document has navigation, a licence, an empty template and a footer with addresses.

No answer is taken away, so each figure is to be compared with that of the set itself, as
``benchmarks.altered_quality`` does.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MIXED = {"ja_localgovfaq": "til_titles", "ja_niilc": "en_stackfaq", "en_stackfaq": "ja_localgovfaq"}
"""Sets that get documents of another one."""

REPEATED = ("en_stackfaq", "ja_localgovfaq", "vault_jzhao", "vault_obsidian_help")

ADDED_DOCUMENTS = 300
ADDED_PREFIX = "other-"

# Every so many documents get code and addresses.
_EVERY = 4

_LINKS = """

## Links

- https://docs.example.com/en/latest/reference/api/index.html
- https://github.com/example/toolkit/blob/main/packages/core/src/index.ts
- ![](attachments/screenshot-{number}.png)
"""
_CODE = """

```python
def fetch_records(client: Client, *, batch_size: int = 500) -> Iterator[Record]:
    cursor = client.query("SELECT id, name, created_at FROM records ORDER BY id")
    while rows := cursor.fetchmany(batch_size):
        for identifier, name, created_at in rows:
            yield Record(identifier, name.strip(), created_at)


def main() -> None:
    with connect(os.environ["DATABASE_URL"]) as client:
        for record in fetch_records(client):
            print(record.identifier, record.name)
```
"""


@dataclass(frozen=True, slots=True)
class Boilerplate:
    """What stands in every document, before and after its text; ``{name}`` is the document."""

    before: str
    after: str


_ENGLISH = Boilerplate(
    before="""[Home](index.md) | [All answers](all.md) | [Search by tag](tags.md) | [Your account](account.md)

> Licensed under CC BY-SA 4.0. You may share and change this page when you name its authors and link to it.

""",
    after="""

## See also

- Related:
- Source:
- Reviewed by:

## This page in GitHub

<span class="links">[Edit {name} in GitHub](https://github.com/help-pages/google-account-help/edit/main/{name}.md)
[Open it in GitHub.dev](https://github.dev/help-pages/google-account-help/blob/main/{name}.md)
[How to sync the notes of this vault with git](https://help.example.com/obsidian/sync/git/{name})</span>
""",
)
_JAPANESE = Boilerplate(
    before="""[ホーム](index.md) | [よくある質問](faq.md) | [手続き](life.md) | [問い合わせ](contact.md)

> このページの著作権は市にあります。転載するときは担当課に連絡してください。

""",
    after="""

## 関連する手続き

- 必要なもの:
- 受付時間:
- 手数料:

## このページについてのお問い合わせ

市役所の担当課の窓口、電話、メールで受け付けています。
[{name} を編集する](https://www.city.example.lg.jp/kurashi/tetsuzuki/shiyakusho/faq/{name}.html)
""",
)


BOILERPLATES = (_ENGLISH, _JAPANESE)
"""What the documents of ``NAME_repeated`` hold beside their own text."""


def make_sets(sets: Path, folder: Path) -> Iterator[Path]:
    """Write all altered sets whose originals are there.

    Args:
        sets: Folder of the judged sets.
        folder: Where to write; a set that is there is written anew.

    Yields:
        The folder of each.
    """
    for name, other in MIXED.items():
        if (sets / name).is_dir() and (sets / other).is_dir():
            yield _written(sets / name, folder / f"{name}_mixed", _with_links_and_code, _added(sets / other))
    for name in REPEATED:
        if (sets / name).is_dir():
            yield _written(sets / name, folder / f"{name}_repeated", _with_boilerplate, {})


def _with_links_and_code(text: str, number: int) -> str:
    if number % _EVERY:
        return text
    return text + (_LINKS.format(number=number) if number % (2 * _EVERY) else _CODE)


def _with_boilerplate(text: str, number: int) -> str:
    boilerplate = _ENGLISH if text.isascii() or sum(map(str.isascii, text)) * 2 > len(text) else _JAPANESE
    head, body = "", text
    if text.startswith("---\n") and (end := text.find("\n---\n", 4)) > 0:
        head, body = text[: end + 5], text[end + 5 :]
    return f"{head}{boilerplate.before}{body}{boilerplate.after.format(name=f'page-{number}')}"


def _added(other: Path) -> dict[str, str]:
    """Return the first documents of another set, by their new names."""
    documents = dict(sorted(_documents(other).items())[:ADDED_DOCUMENTS])
    return {f"{ADDED_PREFIX}{at}": text for at, text in enumerate(documents.values())}


def _documents(folder: Path) -> dict[str, str]:
    if (corpus := folder / "corpus.jsonl").exists():
        rows = map(json.loads, corpus.read_text(encoding="utf-8").splitlines())
        return {row["_id"]: f"# {row['title']}\n\n{row['text']}" for row in rows}
    return {
        path.relative_to(folder / "tree").as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted((folder / "tree").rglob("*.md"))
    }


def _written(source: Path, target: Path, alter: Callable[[str, int], str], added: Mapping[str, str]) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    if (source / "tree").is_dir():
        shutil.copytree(source / "tree", target / "tree")
        for number, (path, text) in enumerate(_documents(source).items()):
            (target / "tree" / path).write_text(alter(text, number), encoding="utf-8")
        for name, text in added.items():
            (target / "tree" / f"{name}.md").write_text(text, encoding="utf-8")
    else:
        target.mkdir(parents=True)
        rows = list(map(json.loads, (source / "corpus.jsonl").read_text(encoding="utf-8").splitlines()))
        altered = [{**row, "text": alter(row["text"], number)} for number, row in enumerate(rows)]
        altered += [{"_id": name, "title": "", "text": text} for name, text in added.items()]
        lines = (json.dumps(row, ensure_ascii=False) for row in altered)
        (target / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for judged in (*source.glob("queries*.jsonl"), *source.glob("qrels*.tsv")):
        shutil.copy(judged, target / judged.name)
    return target


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="SETS_DIR")
    parser.add_argument("output", type=Path, metavar="OUT_DIR")
    arguments = parser.parse_args()
    for path in make_sets(arguments.folder, arguments.output):
        print(path)


if __name__ == "__main__":
    main()
