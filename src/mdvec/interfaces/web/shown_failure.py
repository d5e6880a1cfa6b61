"""Errors in the language of the page, with a step that someone at a browser can take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from mdvec.interfaces.errors import Failure

NO_PAGE = Failure("no_page", "there is nothing at this address", "")
"""An address that is not served."""

OLD_PAGE = Failure("old_page", "the page is out of date", "")
"""A form that no page of this process sent."""

_COMMAND = re.compile(r"\bmdvec |--\w|\b[Rr]un\b")


class _Words(NamedTuple):
    """What is said of an error; in English the error itself says what went wrong."""

    step: str
    sentence_ja: str
    step_ja: str


class ShownFailure(NamedTuple):
    """An error as the page shows it.

    Attributes:
        sentence: What went wrong.
        step: The next step; empty when there is none.
        detail: What the error itself says, in English; empty when the sentence is that.
    """

    sentence: str
    step: str
    detail: str


_LATER = "Try again later.", "しばらくしてからもう一度お試しください。"
_ANY = _Words("", "処理できませんでした。", "")
_KNOWN: Mapping[str, _Words] = {
    "no_page": _Words("Search instead.", "このアドレスにはページがありません。", "検索から探してください。"),
    "old_page": _Words(
        "Go back, load the page again, and repeat it.",
        "ページが古くなっていました。",
        "前のページを再読み込みして、もう一度お試しください。",
    ),
    "document_not_found": _Words(
        "Search for it.", "このファイルは見つかりません。", "題名や内容の言葉で検索してください。"
    ),
    "collection_not_found": _Words(
        "Remove this filter, or choose another collection.",
        "このコレクションはありません。",
        "絞り込みを解除するか、ほかのコレクションを選んでください。",
    ),
    "invalid_query": _Words("", "この検索語では検索できません。", "検索する語を 1 つ以上入力してください。"),
    "usage": _Words("", "この指定では処理できません。", ""),
    "invalid_name": _Words("", "この名前は使えません。", "a-z で始め、a-z、0-9、-、_ だけを使ってください。"),
    "collection_exists": _Words(
        "Choose another name.", "同じ名前のコレクションがすでにあります。", "別の名前にしてください。"
    ),
    "source_missing": _Words(
        "Check its path, and that its disk is connected.",
        "フォルダが見つかりません。",
        "パスと、ディスクの接続を確認してください。",
    ),
    "source_empty": _Words(
        "Check that the folder still holds your files. The index was left as it is.",
        "フォルダに文書がありません。",
        "ファイルがあるか確認してください。索引はそのまま残しています。",
    ),
    "source_unavailable": _Words(_LATER[0], "文書の取得元に接続できません。", _LATER[1]),
    "unreadable_file": _Words("", "ファイルを読み取れません。", "アクセス権を確認してください。"),
    "no_index": _Words(
        "Add a folder on the start page.",
        "索引がまだありません。",
        "最初のページでフォルダを追加してください。",
    ),
    "damaged_database": _Words(
        "Your documents are not touched. Ask whoever runs this server.",
        "索引のデータベースが壊れています。",
        "文書には影響ありません。サーバーの管理者に連絡してください。",
    ),
    "disk_full": _Words("", "ディスクの空きがありません。", "空きを増やしてから、もう一度お試しください。"),
    "store_unavailable": _Words(_LATER[0], "データベースに接続できません。", _LATER[1]),
    "writer_busy": _Words(_LATER[0], "ほかのプロセスが索引を更新しています。", _LATER[1]),
    "no_embedder": _Words(
        "Searching by words works meanwhile.",
        "埋め込みモデルを使えません。",
        "キーワードでの検索は引き続き使えます。",
    ),
    "embedder_busy": _Words(_LATER[0], "埋め込みのサービスを今は使えません。", _LATER[1]),
    "not_allowed": _Words(
        "Sign in with the server's own token.",
        "このトークンでは変更できません。",
        "サーバー本体のトークンでログインしてください。",
    ),
    "internal": _Words(_LATER[0], "mdvec の内部でエラーが起きました。", _LATER[1]),
}


def shown_failure(failure: Failure, language: str) -> ShownFailure:
    """Return an error in a language of the page, without commands."""
    words = _KNOWN.get(failure.code, _ANY)
    hint = "" if _COMMAND.search(failure.hint) else failure.hint
    if language == "ja":
        return ShownFailure(words.sentence_ja, words.step_ja, f"{failure.message} {hint}".strip())
    return ShownFailure(failure.message, f"{hint} {words.step}".strip(), "")
