// The pane of notes on the subject of the one that is open.
import { ItemView, Keymap, type WorkspaceLeaf } from "obsidian";
import type { Client } from "./client";
import { openHit, showFailure, showHit, showNotices } from "./results";
import { word } from "./words";

export const RELATED_VIEW = "mdvec-related";

const PAUSE_MS = 200; // notes may be passed quickly

export class RelatedView extends ItemView {
  private latest = 0;
  private timer = 0;

  constructor(
    leaf: WorkspaceLeaf,
    private readonly client: Client,
  ) {
    super(leaf);
  }

  override getViewType(): string {
    return RELATED_VIEW;
  }

  override getDisplayText(): string {
    return word("related");
  }

  override getIcon(): string {
    return "waypoints";
  }

  protected override onOpen(): Promise<void> {
    this.contentEl.addClass("mdvec-related");
    this.registerEvent(
      this.app.workspace.on("file-open", () => {
        window.clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.refresh(), PAUSE_MS);
      }),
    );
    return this.refresh();
  }

  private async refresh(): Promise<void> {
    const number = (this.latest += 1);
    const file = this.app.workspace.getActiveFile();
    if (file === null) {
      this.contentEl.empty();
      this.contentEl.createDiv({ cls: "mdvec-notice", text: word("noNote") });
      return;
    }
    try {
      const answer = await this.client.related(file.path);
      if (number !== this.latest) return;
      this.contentEl.empty();
      showNotices(this.contentEl, answer, false);
      for (const hit of answer.hits) {
        const item = this.contentEl.createDiv({ cls: "mdvec-hit tree-item-self is-clickable" });
        showHit(item, hit, answer, "");
        item.addEventListener("click", (event) => void openHit(this.app, hit, "", Keymap.isModEvent(event)));
      }
    } catch (error) {
      if (number !== this.latest) return;
      showFailure(
        this.contentEl,
        error,
        this.client,
        () => void this.refresh(),
        () => void (this.latest += 1),
      );
    }
  }
}
