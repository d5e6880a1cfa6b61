// The plugin: two commands, a pane and the settings.
import { Plugin } from "obsidian";
import { Client } from "./client";
import { RELATED_VIEW, RelatedView } from "./related";
import { SearchModal } from "./search";
import { loadSettings, SettingsTab } from "./settings";
import { word } from "./words";

export default class MdvecPlugin extends Plugin {
  override onload(): void {
    const client = new Client(this.app, loadSettings(this.app));
    const search = () => new SearchModal(this.app, client).open();
    this.registerView(RELATED_VIEW, (leaf) => new RelatedView(leaf, client));
    this.addRibbonIcon("text-search", word("search"), search);
    this.addCommand({ id: "search", name: word("search"), callback: search });
    this.addCommand({ id: "related", name: word("related"), callback: () => void this.openRelated() });
    this.addSettingTab(new SettingsTab(this.app, this, client));
  }

  private async openRelated(): Promise<void> {
    const { workspace } = this.app;
    const leaf = workspace.getLeavesOfType(RELATED_VIEW)[0] ?? workspace.getRightLeaf(false);
    if (leaf === null) return;
    await leaf.setViewState({ type: RELATED_VIEW, active: true });
    await workspace.revealLeaf(leaf);
  }
}
