// mdvec's HTTP API: finds the server and the collections of this vault, and asks them.
import { type App, FileSystemAdapter, normalizePath, Platform, requestUrl } from "obsidian";
import type * as desktopModule from "./desktop";
import { Failure } from "./words";

// eslint-disable-next-line @typescript-eslint/no-require-imports -- Node's modules do not exist on a phone
const desktop = Platform.isDesktopApp ? (require("./desktop") as typeof desktopModule) : null;

const SEARCH_LIMIT = 20;
const RELATED_LIMIT = 10;

export const DEFAULTS = { address: "", token: "", collection: "", command: "mdvec", autostart: false };

export type Settings = typeof DEFAULTS;

export type Server = { url: string; token: string };

export interface Hit {
  collection: string;
  path: string;
  title: string;
  heading_path: string[];
  start_line: number;
  similarity: number | null;
  superseded_by: string[];
  stale: boolean;
  text: string;
  place: string;
  /** Its path in this vault. */
  note: string;
}

export interface Answer {
  mode: "hybrid" | "lexical" | "dense";
  hits: Hit[];
  confidence: "high" | "medium" | "low" | "none";
  total_chunks: number;
  pending_chunks: number;
  hint: string | null;
  warnings: string[];
  corrections: { typed: string; searched: string }[];
  /** Whether Enter finds more than typing did. */
  isPartial: boolean;
}

type Collection = { name: string; source: string; enabled: boolean };

/** A collection that holds notes of this vault: `inside + path` there is `before + path` here. */
type Part = { name: string; before: string; inside: string };

/** A server, and what it has of this vault; `isRemoteModel` if a service makes the vectors. */
type Place = { server: Server; parts: Part[]; isRemoteModel: boolean };

export class Client {
  private place: Promise<Place> | null = null;
  wasStarted = false;

  constructor(
    private readonly app: App,
    readonly settings: Settings,
  ) {}

  /** Look for the server anew. */
  forget(): void {
    this.place = null;
  }

  /** Start the daemon of this machine. */
  async start(): Promise<void> {
    this.wasStarted = true;
    await desktop?.startDaemon(this.settings.command || "mdvec");
    this.forget();
  }

  /** Search this vault. While someone types, a service that makes vectors does not receive the text. */
  search(query: string, isTyping: boolean): Promise<Answer> {
    return this.asking(async ({ server, parts, isRemoteModel }) => {
      const isPartial = isTyping && isRemoteModel;
      const answer = await post<Answer>(server, "search", {
        query,
        collections: parts.map((part) => part.name),
        path: parts[0]?.inside ? `${parts[0].inside}**` : null,
        mode: isPartial ? "lexical" : null,
        limit: SEARCH_LIMIT,
      });
      return { ...inVault(answer, parts), isPartial };
    });
  }

  /** Find notes on the subject of a note. */
  related(note: string): Promise<Answer> {
    return this.asking(async ({ server, parts }) => {
      const part = parts.find((each) => note.startsWith(each.before));
      if (!part) throw new Failure("outside");
      const path = part.inside + note.slice(part.before.length);
      const answer = await post<Answer>(server, "related", { path, collection: part.name, limit: RELATED_LIMIT });
      return inVault(answer, parts);
    });
  }

  /** Find the server and the vault there, unless that was done. */
  connected(): Promise<Place> {
    return (this.place ??= this.connect());
  }

  // A daemon that was started anew has another token, and maybe another port: look once more.
  private async asking<T>(ask: (place: Place) => Promise<T>): Promise<T> {
    const known = this.place;
    try {
      return await ask(await this.connected());
    } catch (error) {
      const kind = error instanceof Failure ? error.kind : "other";
      if (kind !== "unindexed" && kind !== "outside") this.forget();
      if (known === null || (kind !== "unreachable" && kind !== "refused")) throw error;
      return ask(await this.connected());
    }
  }

  private async connect(): Promise<Place> {
    const { address, token } = this.settings;
    if (address) return this.placeAt({ url: address.replace(/\/+$/, ""), token });
    if (!desktop) throw new Failure("unset");
    let failure: unknown = new Failure("notRunning");
    for (const server of await desktop.daemons()) {
      try {
        return await this.placeAt(server);
      } catch (error) {
        // A daemon that was killed has left its address.
        if (!(error instanceof Failure && error.kind === "unreachable")) failure = error;
      }
    }
    throw failure;
  }

  private async placeAt(server: Server): Promise<Place> {
    const collections = (await post<Collection[]>(server, "collections")).filter((each) => each.enabled);
    const parts = await this.partsOf(collections, server);
    type Model = { offline: boolean; collections: string[] };
    // A token for some collections may not see the models.
    const models = await post<Model[]>(server, "models").catch(() => []);
    const isUsed = (model: Model) => parts.some((part) => model.collections.includes(part.name));
    return { server, parts, isRemoteModel: models.some((model) => !model.offline && isUsed(model)) };
  }

  private async partsOf(collections: Collection[], { url }: Server): Promise<Part[]> {
    const { adapter } = this.app.vault;
    const vault = this.app.vault.getName();
    const folder = adapter instanceof FileSystemAdapter ? adapter.getBasePath() : "";
    const { collection: wanted, address } = this.settings;
    const candidates = wanted ? collections.filter((each) => each.name === wanted) : collections;
    const real = async (path: string) => slashed(desktop && path ? await desktop.realPath(path) : path);
    const root = await real(folder);
    const parts = await Promise.all(candidates.map(async ({ name, source }) => partOf(name, await real(source), root)));
    const found = parts.filter((part) => part !== null);
    // Those of the vault and of folders in it, the deepest first; else the nearest folder around it.
    found.sort((one, other) => one.inside.length - other.inside.length || other.before.length - one.before.length);
    if (found.length) return found[0]?.inside ? found.slice(0, 1) : found.filter((part) => !part.inside);
    // On another machine the vault is at another place, but its folder has the same name.
    const alike = candidates.find(({ source }) => wanted || (address && slashed(source).split("/").pop() === vault));
    if (alike) return [{ name: alike.name, before: "", inside: "" }];
    if (!wanted && !address) throw new Failure("unregistered", {}, commandsFor(vault, folder));
    const names = collections.map((each) => each.name).join(", ");
    throw new Failure("noCollection", { name: wanted || vault, url, names });
  }
}

/** Return a path with `/` between folders and none at the end. */
function slashed(path: string): string {
  return path.replace(/\\/g, "/").replace(/\/+$/, "");
}

/** Return what a collection has of the vault; null if neither folder contains the other. */
function partOf(name: string, source: string, root: string): Part | null {
  if (source === root) return { name, before: "", inside: "" };
  if (root && source.startsWith(`${root}/`)) return { name, before: `${source.slice(root.length + 1)}/`, inside: "" };
  if (source && root.startsWith(`${source}/`)) return { name, before: "", inside: `${root.slice(source.length + 1)}/` };
  return null;
}

/** Return the commands that register a vault and index it. */
function commandsFor(vault: string, folder: string): string[] {
  const name = vault.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+|-+$/g, "") || "vault";
  const quoted = (text: string) => (folder.includes("\\") ? `"${text}"` : `'${text.replace(/'/g, "'\\''")}'`);
  return [`mdvec tool add -n ${name} -d ${quoted(vault)} -s ${quoted(folder)}`, `mdvec import -n ${name}`];
}

function inVault(answer: Answer, parts: Part[]): Answer {
  const hits = answer.hits.flatMap((hit) => {
    const part = parts.find((each) => each.name === hit.collection);
    if (!part || !hit.path.startsWith(part.inside)) return [];
    return [{ ...hit, note: normalizePath(part.before + hit.path.slice(part.inside.length)) }];
  });
  return { ...answer, hits };
}

async function post<T>({ url, token }: Server, operation: string, body: object = {}): Promise<T> {
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
  const sent = { method: "POST", contentType: "application/json", headers, body: JSON.stringify(body) };
  const response = await requestUrl({ url: `${url}/api/${operation}`, ...sent, throw: false })
    .then(({ status, json }) => ({ status, answer: json as T & { code?: string; detail?: string } }))
    .catch(() => null); // nothing answers there, or something else
  if (response === null) throw new Failure("unreachable", { url });
  const { status, answer } = response;
  if (status === 200) return answer;
  if (status === 401) throw new Failure("refused", { url });
  if (answer.code === "document_not_found") throw new Failure("unindexed");
  throw new Failure("other", { detail: answer.detail ?? `HTTP ${status}` });
}
