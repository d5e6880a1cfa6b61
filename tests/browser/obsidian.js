// A stand-in for Obsidian: the parts of its API that the plugin uses, as its types describe them, in a bare page.
// The test gives it `world`, and answers what leaves the page: bridge(name, argument), with real processes.
"use strict";

const opened = []; // what was shown of which note
const notices = [];
const requests = [];
let answers = (send) => send(); // a test may delay them

// --- elements -----------------------------------------------------------------------------------------------

Node.prototype.createEl = function (tag, options = {}) {
  const { cls = "", text = "", attr = {}, ...others } = typeof options === "string" ? { cls: options } : options;
  const made = document.createElement(tag);
  made.className = [cls].flat().join(" ").trim();
  made.textContent = text;
  for (const [name, value] of Object.entries(attr)) made.setAttribute(name, value);
  Object.assign(made, others);
  this.append(made);
  return made;
};
Node.prototype.createDiv = function (options) {
  return this.createEl("div", options);
};
Node.prototype.appendText = function (text) {
  this.append(text);
};
Node.prototype.empty = function () {
  this.replaceChildren();
};
HTMLElement.prototype.setText = function (text) {
  this.textContent = text;
};
HTMLElement.prototype.addClass = function (...names) {
  this.classList.add(...names);
};
HTMLElement.prototype.toggleClass = function (name, on) {
  this.classList.toggle(name, on);
};

// --- the API ------------------------------------------------------------------------------------------------

class Component {
  registerEvent() {}
}

class Plugin extends Component {
  commands = {};
  constructor(app) {
    super();
    this.app = app;
  }
  registerView(type, make) {
    this.app.workspace.views[type] = make;
  }
  addRibbonIcon() {}
  addCommand(command) {
    this.commands[command.id] = command;
  }
  addSettingTab(tab) {
    this.tab = tab;
  }
}

class Modal {
  modalEl = document.createElement("div");
  constructor(app) {
    this.app = app;
    this.modalEl.className = "modal";
    this.contentEl = this.modalEl.createDiv({ cls: "modal-content" });
  }
  setTitle() {}
  onOpen() {}
  onClose() {}
  open() {
    document.body.append(this.modalEl);
    this.onOpen();
  }
  close() {
    this.modalEl.remove();
    this.onClose();
  }
}

class ItemView extends Component {
  contentEl = document.body.createDiv({ cls: "view-content" });
  constructor(leaf) {
    super();
    this.app = leaf.app;
  }
}

class PluginSettingTab {
  containerEl = document.createElement("div");
  constructor(app) {
    this.app = app;
  }
}

class Control {
  constructor(el) {
    this.inputEl = el.createEl("input");
  }
  setValue(value) {
    this.inputEl.type === "checkbox" ? (this.inputEl.checked = value) : (this.inputEl.value = value);
    return this;
  }
  onChange(act) {
    const read = () => (this.inputEl.type === "checkbox" ? this.inputEl.checked : this.inputEl.value);
    this.inputEl.addEventListener("input", () => act(read()));
    return this;
  }
}

class Setting {
  constructor(el) {
    this.settingEl = el.createDiv({ cls: "setting-item" });
  }
  setName(text) {
    this.settingEl.createEl("label", { text });
    return this;
  }
  setDesc(text) {
    this.settingEl.createDiv({ text, cls: "setting-item-description" });
    return this;
  }
  addText(fill) {
    fill(new Control(this.settingEl));
    return this;
  }
  addToggle(fill) {
    const control = new Control(this.settingEl);
    control.inputEl.type = "checkbox";
    fill(control);
    return this;
  }
}

class FileSystemAdapter {
  getBasePath() {
    return world.vault;
  }
}

class Notice {
  constructor(text) {
    notices.push(text);
  }
}

class Workspace {
  views = {};
  leaves = [];
  listeners = [];
  active = null;
  on(name, act) {
    this.listeners.push(act);
  }
  getActiveFile() {
    return this.active;
  }
  getLeavesOfType(type) {
    return this.leaves.filter((leaf) => leaf.type === type);
  }
  getRightLeaf() {
    return this.leaf();
  }
  getLeaf(pane) {
    return this.leaf(pane);
  }
  async revealLeaf() {}
  async openLinkText(link, source, pane) {
    opened.push({ path: link, pane });
  }
  /** Do what a click on a note in the list of files does. */
  show(path) {
    this.active = { path };
    for (const act of this.listeners) act(this.active);
  }
  leaf(pane) {
    const workspace = this;
    const leaf = {
      app,
      async openFile(file, state) {
        opened.push({ path: file.path, line: state.eState.line, pane });
        workspace.show(file.path);
      },
      async setViewState({ type }) {
        if (leaf.type === type) return;
        leaf.type = type;
        workspace.leaves.push(leaf);
        leaf.view = workspace.views[type](leaf);
        await leaf.view.onOpen();
      },
    };
    return leaf;
  }
}

async function requestUrl({ url, method, contentType, body, headers }) {
  const request = { url, method, body, headers: { ...headers, "Content-Type": contentType } };
  requests.push({ operation: url.split("/api/")[1], ...JSON.parse(body) });
  const { status, text } = await answers(() => bridge("request", request), requests.at(-1));
  if (status === 0) throw new Error("net::ERR_CONNECTION_REFUSED");
  return { status, text, json: JSON.parse(text) };
}

const app = {
  workspace: new Workspace(),
  vault: {
    adapter: world.isDesktop ? new FileSystemAdapter() : {},
    getName: () => world.name,
    getFileByPath: (path) => (world.notes.includes(path) ? { path } : null),
  },
  loadLocalStorage: () => world.settings,
  saveLocalStorage: (key, value) => {
    world.settings = { ...value };
  },
};

const MODULES = {
  obsidian: {
    ...{ FileSystemAdapter, ItemView, Modal, Notice, Plugin, PluginSettingTab, Setting, requestUrl },
    Keymap: { isModEvent: (event) => (event.ctrlKey ? "tab" : false) },
    Platform: { isDesktopApp: world.isDesktop },
    getLanguage: () => world.language,
    normalizePath: (path) => path.normalize("NFC"),
  },
  // Of Node, what the plugin asks of the machine.
  child_process: {
    execFile: (file, args, { env }, done) =>
      bridge("execFile", { file, args, path: env.PATH }).then(({ error, stderr }) => done(error, "", stderr)),
  },
  fs: {
    promises: {
      readdir: (path) => bridge("readdir", path),
      readFile: (path) => bridge("readFile", path),
      realpath: (path) => bridge("realpath", path),
    },
  },
  os: { homedir: () => world.home },
};
if (world.isDesktop) window.process = { platform: "linux", env: world.environment };

function require(name) {
  if (name !== "obsidian" && !world.isDesktop) throw new Error(`a phone has no ${name}`);
  return MODULES[name];
}

const loaded = { exports: {} };
new Function("module", "exports", "require", world.program)(loaded, loaded.exports, require);
const plugin = new loaded.exports.default(app);
plugin.onload();
