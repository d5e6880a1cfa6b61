// The words of the plugin, in English and Japanese, and failures that say them.
import { getLanguage } from "obsidian";

const WORDS = {
  search: ["Search by meaning and words", "意味とキーワードで検索"],
  related: ["Related notes", "関連ノート"],
  enterForMeaning: ["Press Enter to search by meaning, too", "Enter で意味でも検索"],
  high: ["Very likely answers this", "答えが含まれている可能性が高いです"],
  medium: ["Likely answers this", "答えが含まれていそうです"],
  low: ["May not answer this", "答えが含まれていないかもしれません"],
  none: ["Probably no answer here; this comes closest", "おそらく答えはありません。近い箇所を示します"],
  nothing: ["Nothing matches.", "一致するものがありません。"],
  noRelated: ["No related notes.", "関連ノートはありません。"],
  noNote: ["Open a note to see related ones.", "ノートを開くと、関連ノートが表示されます。"],
  pendingCount: ["{n} of {total} passages are not embedded yet", "{total} 件中 {n} 件は埋め込み待ちです"],
  notices: ["Notices", "お知らせ"],
  pending: ["not embedded yet", "埋め込み待ち"],
  stale: ["changed since it was indexed", "索引の作成後に変更"],
  corrected: ["Searched for “{known}” instead of “{typed}”", "「{typed}」ではなく「{known}」を検索しました"],
  gone: ["{path} is not in this vault any more.", "{path} は、この保管庫にはもうありません。"],
  unindexed: ["This note is not indexed yet.", "このノートはまだ索引にありません。"],
  outside: ["No collection of mdvec contains this note.", "このノートは mdvec のどのコレクションにもありません。"],
  unset: ["Enter the address of mdvec in the settings.", "設定で mdvec のアドレスを入力してください。"],
  notRunning: ["mdvec is not running on this machine.", "このマシンで mdvec が動いていません。"],
  unreachable: ["mdvec does not answer at {url}.", "{url} の mdvec が応答しません。"],
  refused: ["mdvec at {url} refuses the token in the settings.", "{url} の mdvec が設定のトークンを拒否しました。"],
  unregistered: ["mdvec does not know this vault yet. Run this once:", "この保管庫は mdvec に未登録です。次を実行してください。"],
  noCollection: [
    "mdvec at {url} has no collection {name}. Enter one of these in the settings: {names}",
    "{url} の mdvec にコレクション {name} がありません。設定で次のどれかを入力してください：{names}",
  ],
  notInstalled: [
    "There is no command {command}. Install mdvec, or enter the path of the command in the settings.",
    "コマンド {command} がありません。mdvec をインストールするか、設定でコマンドのパスを入力してください。",
  ],
  other: ["{detail}", "{detail}"],
  start: ["Start mdvec", "mdvec を起動"],
  starting: ["Starting…", "起動しています…"],
  copy: ["Copy", "コピー"],
  copied: ["Copied", "コピーしました"],
  address: ["Address", "アドレス"],
  addressHint: [
    "Such as https://notes.example.com. If empty, the daemon of this machine is found (not on a phone).",
    "例：https://notes.example.com。空欄なら、このマシンのデーモンを自動で見つけます（スマートフォンを除く）。",
  ],
  token: ["Token", "トークン"],
  tokenHint: ["If the server at the address asks for one.", "上のアドレスのサーバーが求める場合に入力します。"],
  collection: ["Collection", "コレクション"],
  collectionHint: ["If empty, the one whose folder is this vault.", "空欄なら、この保管庫のフォルダのもの。"],
  command: ["Command", "コマンド"],
  commandHint: ["Starts mdvec on this machine: a name or a path.", "mdvec を起動するコマンドの名前かパス。"],
  autostart: ["Start by itself", "自動で起動"],
  autostartHint: ["Start mdvec when it is needed and not running.", "必要なときに mdvec が動いていなければ起動します。"],
} as const satisfies Record<string, readonly [string, string]>;

/** The name of a text. */
export type Word = keyof typeof WORDS;

/** Return a text in the language of the app, with its values filled in. */
export function word(key: Word, values: Record<string, string | number> = {}): string {
  const text: string = WORDS[key][getLanguage() === "ja" ? 1 : 0];
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

/** Something that did not work; the message is for people, and commands may mend it. */
export class Failure extends Error {
  constructor(
    readonly kind: Word,
    values: Record<string, string> = {},
    readonly commands: string[] = [],
  ) {
    super(word(kind, values));
  }
}
