// The search: results as you type, also with an input method.
import { type App, Keymap, Modal } from "obsidian";
import type { Answer, Client } from "./client";
import { openHit, showFailure, showHit, showNotices } from "./results";
import { word } from "./words";

const PAUSE_MS = 120; // of typing, before a search is sent
// WebKit ends a composition before the key that ends it; only this code tells it from others.
const INPUT_METHOD_KEY = 229;

export class SearchModal extends Modal {
  private field!: HTMLInputElement;
  private results!: HTMLElement;
  private answer: Answer | null = null;
  private answered = ""; // the query of the answer
  private chosen = 0;
  private latest = 0; // the number of the last search: the answer of another one comes too late
  private timer = 0;
  private isComposing = false;

  constructor(
    app: App,
    private readonly client: Client,
  ) {
    super(app);
  }

  override onOpen(): void {
    this.modalEl.addClass("mdvec-search");
    this.setTitle(word("search"));
    const attr = { enterkeyhint: "search", spellcheck: false, "aria-label": word("search") };
    this.field = this.contentEl.createEl("input", { type: "text", placeholder: word("search"), attr });
    this.results = this.contentEl.createDiv({ cls: "mdvec-results" });
    for (const name of ["compositionstart", "compositionend"] as const) {
      this.field.addEventListener(name, () => {
        this.isComposing = name === "compositionstart";
        this.schedule();
      });
    }
    this.field.addEventListener("input", () => this.schedule());
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.field.focus();
    void this.search(true); // without words it only shows what is wrong
  }

  // During a composition the text is not yet what its author means.
  private schedule(): void {
    window.clearTimeout(this.timer);
    if (!this.isComposing) this.timer = window.setTimeout(() => void this.search(true), PAUSE_MS);
  }

  private async search(isTyping: boolean): Promise<void> {
    const query = this.field.value.trim();
    const number = (this.latest += 1);
    try {
      const answer = query ? await this.client.search(query, isTyping) : (await this.client.connected(), null);
      if (number !== this.latest) return;
      [this.answer, this.answered] = [answer, query];
      this.show();
    } catch (error) {
      if (number !== this.latest) return;
      [this.answer, this.answered] = [null, ""];
      showFailure(
        this.results,
        error,
        this.client,
        () => void this.search(true),
        () => this.drop(),
      );
    }
  }

  // Drops what is searched, or is about to be.
  private drop(): void {
    window.clearTimeout(this.timer);
    this.latest += 1;
  }

  private show(): void {
    const { answer, answered, results } = this;
    results.empty();
    if (answer === null) return;
    showNotices(results, answer, true);
    answer.hits.forEach((hit, index) => {
      const item = results.createDiv({ cls: "suggestion-item mdvec-hit" });
      showHit(item, hit, answer, answered);
      item.addEventListener("mousemove", () => this.choose(index));
      item.addEventListener("click", (event) => this.openChosen(event));
    });
    this.choose(0);
  }

  private choose(index: number): void {
    const items = this.results.querySelectorAll(".mdvec-hit");
    this.chosen = Math.max(0, Math.min(index, items.length - 1));
    items.forEach((each, at) => each.toggleClass("is-selected", at === this.chosen));
  }

  private onKey(event: KeyboardEvent): void {
    if (event.isComposing || event.keyCode === INPUT_METHOD_KEY) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      this.choose(this.chosen + step);
      this.results.querySelector(".is-selected")?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      window.clearTimeout(this.timer);
      if (this.answer === null || this.answer.isPartial || this.field.value.trim() !== this.answered) {
        void this.search(false);
      } else this.openChosen(event);
    }
  }

  private openChosen(event: KeyboardEvent | MouseEvent): void {
    const hit = this.answer?.hits[this.chosen];
    if (!hit) return;
    this.close();
    void openHit(this.app, hit, this.answered, Keymap.isModEvent(event));
  }
}
