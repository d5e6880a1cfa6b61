// What is shown of an answer: notices, hits, and failures with their next step.
import { type App, Notice, type PaneType } from "obsidian";
import type { Answer, Client, Hit } from "./client";
import { excerptOf } from "./excerpt";
import { Failure, word } from "./words";

/** Show what is to be known of an answer as a whole. */
export function showNotices(el: HTMLElement, answer: Answer, isSearch: boolean): void {
  const notice = (text: string, cls = "") => el.createDiv({ text, cls: `mdvec-notice ${cls}` });
  if (isSearch && answer.hits.length) notice(word(answer.confidence), `mdvec-${answer.confidence}`);
  if (!answer.hits.length) notice(word(isSearch ? "nothing" : "noRelated"));
  for (const { typed, searched } of answer.corrections) notice(word("corrected", { typed, known: searched }));
  const { pending_chunks: n, total_chunks: total } = answer;
  if (n) notice(word("pendingCount", { n, total }));
  if (answer.isPartial) notice(word("enterForMeaning"));
  const more = answer.hint ? [answer.hint, ...answer.warnings] : answer.warnings;
  if (!more.length) return;
  const details = el.createEl("details", { cls: "mdvec-notice", attr: answer.hits.length ? {} : { open: "" } });
  details.createEl("summary", { text: word("notices") });
  for (const text of more) details.createDiv({ text });
}

/** Show a hit: its title, where in the note it is, and the words around those of the query. */
export function showHit(el: HTMLElement, hit: Hit, answer: Answer, query: string): void {
  el.createDiv({ cls: "mdvec-title", text: hit.title });
  const headings = hit.heading_path.filter((each, index) => index > 0 || each !== hit.title);
  if (headings.length) el.createDiv({ cls: "mdvec-heading", text: headings.join(" › ") });
  const excerpt = el.createDiv({ cls: "mdvec-excerpt" });
  for (const { text, marked } of excerptOf(hit.text, query).segments) {
    if (marked) excerpt.createEl("mark", { text });
    else excerpt.appendText(text);
  }
  const about = [hit.note, hit.place];
  if (answer.mode !== "lexical" && hit.similarity === null && !hit.superseded_by.length) about.push(word("pending"));
  if (hit.stale) about.push(word("stale"));
  el.createDiv({ cls: "mdvec-about", text: about.filter(Boolean).join(" · ") });
}

/** Open the note of a hit at the line that was shown of it; a PDF file at its page. */
export async function openHit(app: App, hit: Hit, query: string, pane: PaneType | boolean): Promise<void> {
  const file = app.vault.getFileByPath(hit.note);
  const page = /^page (\d+)$/.exec(hit.place)?.[1];
  if (file === null) {
    new Notice(word("gone", { path: hit.note }));
  } else if (page) {
    await app.workspace.openLinkText(`${file.path}#page=${page}`, "", pane);
  } else {
    const line = hit.start_line - 1 + excerptOf(hit.text, query).line;
    await app.workspace.getLeaf(pane).openFile(file, { active: true, eState: { line } });
  }
}

/**
 * Show why something did not work, with commands to copy or a button that starts the daemon.
 *
 * What fails while it starts would take the place of the button, or of the reason why it does not start: `begin` is
 * called to drop it.
 */
export function showFailure(
  el: HTMLElement,
  error: unknown,
  client: Client,
  retry: () => void,
  begin: () => void,
): void {
  const commands = error instanceof Failure ? error.commands.join("\n") : "";
  const message = error instanceof Error ? error.message : String(error);
  // Each pause in typing fails alike: what somebody is about to copy or to click stays as it is.
  const shown = el.querySelector(".mdvec-failure");
  const shownCommands = shown?.querySelector("pre")?.textContent ?? "";
  const isSame = shown?.firstChild?.textContent === message && shownCommands === commands;
  if (isSame && !shown?.querySelector("button:disabled")) return;
  el.empty();
  const box = el.createDiv({ cls: "mdvec-failure", text: message });
  const button = (key: "copy" | "start", act: (made: HTMLButtonElement) => void) => {
    const made = box.createEl("button", { text: word(key), cls: "mod-cta" });
    made.addEventListener("click", () => act(made));
    return made;
  };
  if (!(error instanceof Failure)) return;
  if (commands) {
    box.createEl("pre", { text: commands });
    button("copy", (made) => void navigator.clipboard.writeText(commands).then(() => made.setText(word("copied"))));
  }
  if (error.kind === "notRunning") {
    const start = button("start", (made) => {
      made.disabled = true;
      made.setText(word("starting"));
      begin();
      client.start().then(retry, (reason: unknown) => showFailure(el, reason, client, retry, begin));
    });
    // Only once: somebody may have stopped it.
    if (client.settings.autostart && !client.wasStarted) start.click();
  }
}
