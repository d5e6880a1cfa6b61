// The settings. They belong to a device: a phone reaches another address, and no token is synchronised.
import { type App, Platform, type Plugin, PluginSettingTab, Setting } from "obsidian";
import { type Client, DEFAULTS, type Settings } from "./client";
import { word } from "./words";

const KEY = "mdvec-settings";

/** Return the settings of this device. */
export function loadSettings(app: App): Settings {
  return { ...DEFAULTS, ...(app.loadLocalStorage(KEY) as Partial<Settings> | null) };
}

export class SettingsTab extends PluginSettingTab {
  constructor(
    app: App,
    plugin: Plugin,
    private readonly client: Client,
  ) {
    super(app, plugin);
  }

  override display(): void {
    this.containerEl.empty();
    const { settings } = this.client;
    const setting = (name: keyof Settings) =>
      new Setting(this.containerEl).setName(word(name)).setDesc(word(`${name}Hint`));
    const texts = ["address", "token", "collection", "command"] as const;
    for (const name of Platform.isDesktopApp ? texts : texts.slice(0, -1)) {
      setting(name).addText((field) => {
        field.setValue(settings[name]).onChange((value) => this.change({ [name]: value.trim() }));
        if (name === "token") field.inputEl.type = "password";
      });
    }
    if (!Platform.isDesktopApp) return;
    setting("autostart").addToggle((toggle) =>
      toggle.setValue(settings.autostart).onChange((autostart) => this.change({ autostart })),
    );
  }

  private change(changed: Partial<Settings>): void {
    Object.assign(this.client.settings, changed);
    this.app.saveLocalStorage(KEY, this.client.settings);
    this.client.forget();
  }
}
