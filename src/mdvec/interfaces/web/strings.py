"""The words of the page and of its errors, in English and Japanese."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import NamedTuple

from mdvec.interfaces.errors import Failure
from mdvec.interfaces.present import LIKE_IT, ONE_WEAKER, WEAKER

LANGUAGES = ("en", "ja")
"""The languages of the page; browsers that want another get the first."""

# A language and its weight in an Accept-Language header.
_ACCEPTED = re.compile(r"(?:^|,)\s*([a-z]+)(?:-[\w-]*)?\s*(?:;\s*q=(\d(?:\.\d*)?)\s*)?(?=,|$)")

_WORDS: Mapping[str, tuple[str, str]] = {
    # --- around everything
    "search": ("Search", "検索"),
    "status": ("Status", "状態"),
    "skip": ("Skip to the content", "本文へ移動"),
    "skip_filters": ("Skip to the results", "検索結果へ移動"),
    "theme": ("Light or dark", "明暗の切り替え"),
    "help": ("Keyboard", "キーボード操作"),
    "close": ("Close", "閉じる"),
    "key_search": ("search", "検索欄へ移動"),
    "key_move": ("next and previous result", "次・前の結果"),
    "key_open": ("open the result", "結果を開く"),
    "key_tab": ("open it in a new tab", "新しいタブで開く"),
    "key_back": ("back: from a result to the search, from a note to its results", "検索欄や結果の一覧に戻る"),
    "key_help": ("this help", "このヘルプ"),
    "operators": ("In a search", "検索で使える記号"),
    "op_phrase": ("two words", "完全一致"),
    "op_phrase_means": ("these words, in this order", "この語句をそのまま含む"),
    "op_word": ("word", "語"),
    "op_without_means": ("no passage with this word", "この語を含む箇所を除く"),
    "op_prefix_means": ("words that begin like this", "この文字で始まる語"),
    "op_fields_mean": (
        "in this folder or file, with this tag, with this word in the title; also with a - before it",
        "フォルダやファイル、タグ、題名の語で絞り込む。前に - を付けると除外",
    ),
    "sign_out": ("Sign out", "ログアウト"),
    # --- search
    "placeholder": ("Search your notes by meaning and by words", "ノートを意味とキーワードで検索"),
    "filters": ("Filters", "絞り込み"),
    "collections": ("Collections", "コレクション"),
    "tags": ("Tags", "タグ"),
    "folders": ("Folders", "フォルダ"),
    "dates": ("Changed", "更新日"),
    "any_time": ("Any time", "すべて"),
    "since_1d": ("last 24 hours", "24 時間以内"),
    "since_7d": ("last 7 days", "7 日以内"),
    "since_30d": ("last 30 days", "30 日以内"),
    "since_365d": ("last year", "1 年以内"),
    "older_versions": ("Also older versions", "古い版も含める"),
    "one_each": ("One result for each document", "文書ごとに 1 件"),
    "weak_too": ("Also weaker passages", "関連の弱い箇所も含める"),
    "newest_first": ("Newest first", "新しい順"),
    "apply": ("Apply", "適用"),
    "reset": ("Remove filters", "絞り込みを解除"),
    "results": ("Results", "検索結果"),
    "passages_1": ("1 passage", "1 件"),
    "passages": ("{n} passages", "{n} 件"),
    "more": ("More results", "さらに表示"),
    "mode_hybrid": ("by meaning and words", "意味とキーワードで検索"),
    "mode_lexical": ("by words", "キーワードで検索"),
    "mode_dense": ("by meaning", "意味で検索"),
    "enter_for_meaning": ("Enter also searches by meaning", "Enter で意味でも検索"),
    "confidence_high": ("Very likely answers this", "答えが含まれている可能性が高いです"),
    "confidence_medium": ("Likely answers this", "答えが含まれていそうです"),
    "confidence_low": ("May not answer this", "答えが含まれていないかもしれません"),
    "confidence_none": (
        "Probably no answer here; this comes closest",
        "おそらく答えはありません。近い箇所を示します",
    ),
    "like_it": (LIKE_IT, "ほか{n}件はほぼ同じ内容"),
    "weaker_1": (ONE_WEAKER, "関連の弱い1件を省略"),
    "weaker": (WEAKER, "関連の弱い{n}件を省略"),
    "show_all": ("Show all", "すべて表示"),
    "nothing": ("Nothing matches.", "一致するものがありません。"),
    "corrected": (
        "Searched for “{known}” instead of “{typed}”; put it in quotation marks to search for it as typed.",
        '「{typed}」ではなく「{known}」を検索しました。入力どおりに検索するには引用符 " で囲んでください。',
    ),
    "unknown_words": ("No document contains: {words}", "どの文書にもない語：{words}"),
    "nothing_hint": (
        "Try other words, a whole question, or fewer filters.",
        "ほかの言葉や質問文で試すか、絞り込みを減らしてください。",
    ),
    "without_quotes": ("Search without the quotation marks", "引用符を外して検索"),
    "pending_n": (
        "{n} of {total} passages are found by words only so far",
        "{total} 件中 {n} 件は、まだキーワードでしか見つかりません",
    ),
    "notices": ("Notices", "お知らせ"),
    "stale": ("changed or gone since it was indexed", "索引の作成後に変更または削除"),
    "pending": ("by words only so far", "まだキーワードのみ"),
    "superseded": ("older version", "古い版"),
    "why": ("Why this?", "一致の理由"),
    "why_meaning": ("Rank by meaning", "意味での順位"),
    "why_words": ("Rank by words", "キーワードの順位"),
    "why_similarity": ("Similarity", "類似度"),
    "why_score": ("Score", "スコア"),
    "why_found_words": ("Words found", "見つかった語"),
    "why_no_words": ("none: it is close in meaning", "なし（意味が近い）"),
    "not_found_so": ("not found", "上位になし"),
    "recent": ("Recently changed", "最近の更新"),
    "try": (
        "Ask a question or type a few words. Press ? for the keyboard.",
        "質問文や言葉を入力してください。? でキーボード操作を表示します。",
    ),
    "failed": ("That did not work.", "処理できませんでした。"),
    "offline": (
        "The server does not answer. Is it still running?",
        "サーバーが応答しません。動作を確認してください。",
    ),
    # --- reading
    "outline": ("Outline", "目次"),
    "properties": ("Properties", "プロパティ"),
    "aliases": ("Also called", "別名"),
    "updated": ("Changed", "更新"),
    "backlinks": ("Linked from", "このノートへのリンク"),
    "similar": ("Similar notes", "似ているノート"),
    "older": ("Older versions", "古い版"),
    "superseded_note": ("There is a newer version:", "新しい版があります："),
    "stale_note": (
        "The file has changed since it was indexed.",
        "索引の作成後にファイルが変更されています。",
    ),
    "open_in": ("Open in", "開く"),
    "obsidian": ("Obsidian", "Obsidian"),
    "vscode": ("VS Code", "VS Code"),
    "file_manager": ("File manager", "ファイルマネージャー"),
    "back_to_results": ("Results", "検索結果"),
    "to_passage": ("To the passage found", "該当箇所へ"),
    "no_passage": (
        "The lines in the address are not among those shown here.",
        "アドレスが示す行は、ここには表示されていません。",
    ),
    "nothing_similar": ("Nothing similar yet", "まだありません"),
    "original": ("Original", "元のファイル"),
    "copy_place": ("Copy path:line", "path:line をコピー"),
    "copied": ("Copied", "コピーしました"),
    # --- status
    "index": ("Index", "索引"),
    "size": ("Size", "サイズ"),
    "free": ("Free on the disk", "ディスクの空き"),
    "memory": ("Memory of this process", "このプロセスのメモリ"),
    "model": ("Model", "モデル"),
    "documents": ("documents", "文書"),
    "chunks": ("passages", "箇所"),
    "state_ready": ("ready", "検索可能"),
    "state_dirty": ("changed", "変更あり"),
    "state_superseded": ("older version", "古い版"),
    "state_pending": ("pending", "処理待ち"),
    "state_failed": ("failed", "失敗"),
    "state_excluded": ("left out", "対象外"),
    "last_indexed": ("Last indexed", "最終更新"),
    "never": ("never", "未実行"),
    "up_to_date": ("Bring up to date", "更新する"),
    "cancel": ("Cancel", "中止"),
    "disabled": ("disabled", "無効"),
    "files": ("Files", "ファイル"),
    "all_files": ("All files", "すべて"),
    "earlier_files": ("Previous files", "前のファイル"),
    "later_files": ("More files", "次のファイル"),
    "file": ("File", "ファイル"),
    "state": ("State", "状態"),
    "reason": ("Reason", "理由"),
    "changing": ("Changing to {model}", "{model} へ切り替え中"),
    "per_second": ("{n}/s", "毎秒 {n}"),
    "left_s": ("about {n} s left", "残り約 {n} 秒"),
    "left_min": ("about {n} min left", "残り約 {n} 分"),
    "other_process": ("by process {pid}", "プロセス {pid}"),
    "stopped": ("Stopped; what was done is kept", "中止しました。処理済みの分は残ります"),
    "stage_wait": ("Waiting for another process", "ほかのプロセスを待っています"),
    "stage_limit": ("Waiting for the service", "サービスを待っています"),
    "stage_scan": ("Listing files", "ファイルを確認しています"),
    "stage_fetch": ("Fetching documents", "文書を取得しています"),
    "stage_text": ("Reading documents", "文書を読み込んでいます"),
    "stage_model": ("Preparing the model", "モデルを準備しています"),
    "stage_embed": ("Embedding passages", "埋め込みを作成しています"),
    "stage_index": ("Updating the vector index", "ベクトル索引を更新しています"),
    "stage_publish": ("Publishing", "公開しています"),
    "tag_map": ("Map of tags", "タグの地図"),
    "tag_map_hint": ("The larger, the more documents", "大きいほど文書が多い"),
    "source": ("Source", "場所"),
    # --- first visit
    "welcome": ("Search what you have written", "書いたものを検索する"),
    "welcome_text": (
        "mdvec searches folders of Markdown and text on this machine, by meaning and by words, in English "
        "and Japanese. It only reads your files, and sends nothing elsewhere unless you configure a service.",
        "mdvec は、このマシンのフォルダにある Markdown とテキストを、意味とキーワードの両方で検索します。"
        "ファイルは読み取るだけです。外部のサービスを設定しない限り、データが外に出ることはありません。",
    ),
    "add_folder": ("Add a folder", "フォルダを追加"),
    "folder_path": ("Path of the folder", "フォルダのパス"),
    "folder_example": ("such as ~/Notes", "例：~/Notes"),
    "folder_name": ("Name", "名前"),
    "folder_name_hint": (
        "a-z, 0-9, - and _; made from the path if empty",
        "a-z、0-9、-、_。空ならパスから作成",
    ),
    "folder_description": ("What it holds", "内容の説明"),
    "folder_description_hint": (
        "agents use it to decide where to search",
        "エージェントが検索先を選ぶ手がかりになります",
    ),
    "add": ("Add and index", "追加して索引を作成"),
    # --- token
    "token_title": ("Enter the token", "トークンを入力"),
    "token_text": (
        "This server asks for its token once per browser.",
        "このサーバーは、ブラウザごとに一度トークンの入力を求めます。",
    ),
    "token": ("Token", "トークン"),
    "token_wrong": ("That is not the token of this server.", "トークンが違います。"),
    "enter": ("Enter", "ログイン"),
}


def words_of(language: str) -> dict[str, str]:
    """Return the words of a language, by their keys."""
    index = LANGUAGES.index(language)
    return {key: each[index] for key, each in _WORDS.items()}


def preferred_language(accepted: str) -> str:
    """Return the language of the page that an Accept-Language header wants most."""
    known = (
        (float(weight or 1), name)
        for name, weight in _ACCEPTED.findall(accepted.lower())
        if name in LANGUAGES
    )
    return max((each for each in known if each[0]), default=(0, LANGUAGES[0]), key=itemgetter(0))[1]


# --- errors, with a step that someone at a browser can take

NO_PAGE = Failure("no_page", "there is nothing at this address", "")
"""An address that is not served."""

OLD_PAGE = Failure("old_page", "the page is out of date", "")
"""A form that no page of this process sent."""

_COMMAND = re.compile(r"\bmdvec |--\w|\b[Rr]un\b")


class _Words(NamedTuple):
    """The words about an error; in English the problem is in the error itself."""

    step: str
    sentence_ja: str
    step_ja: str


class ShownFailure(NamedTuple):
    """An error as the page shows it.

    Attributes:
        sentence: The problem.
        step: The next step; empty when there is none.
        detail: The message of the error itself, in English; empty if the sentence is the same.
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
        # The refusals of the page itself need no further message.
        detail = "" if failure in (NO_PAGE, OLD_PAGE) else f"{failure.message} {hint}".strip()
        return ShownFailure(words.sentence_ja, words.step_ja, detail)
    return ShownFailure(failure.message, f"{hint} {words.step}".strip(), "")


# Hints of the search, as far as the page has the filters that they are about.
_HINTS_JA = {
    r"No document has the tag (.*); did you mean (.*)\?": r"タグ \1 の文書はありません。\2 でしょうか。",
    r"No document has the tag (.*)\.": r"タグ \1 の文書はありません。",
    r"No document is at the path (.*)\.": r"\1 にある文書はありません。",
    r"No document was updated in that time\.": "その期間に更新された文書はありません。",
    r"No document meets all the filters.*": "すべての条件に合う文書はありません。条件を減らしてください。",
    r"Only notes without text have the tag (.*):.*": r"タグ \1 は本文のないノートにしかありません。",
}


def shown_hint(hint: str, language: str) -> str:
    """Return a hint of the search in a language of the page; in English where it has no other words."""
    found = ((re.fullmatch(pattern, hint), words) for pattern, words in _HINTS_JA.items())
    return next((match.expand(words) for match, words in found if match and language == "ja"), hint)
