// A program that keeps sections in step with an index, as a child process of its own: newline-delimited
// JSON-RPC, ids that count up, partial lines kept, 30 s for each request, `ping` until the child is ready.
import { spawn } from "node:child_process";

const REQUEST_TIMEOUT_MS = 30_000;
const READY_TRIES = 60;

class Engine {
  constructor(command, args) {
    this.command = command;
    this.args = args;
    this.lastId = 0;
    this.pending = new Map();
    this.partial = "";
    this.stderr = "";
    this.order = [];
  }

  async connect() {
    if (this.child) return;
    this.child = spawn(this.command, this.args, { stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdout.setEncoding("utf8");
    this.child.stdout.on("data", (data) => this.receive(data));
    this.child.stderr.on("data", (data) => (this.stderr += data));
    for (let attempt = 0; attempt < READY_TRIES; attempt += 1) {
      try {
        return await this.send("ping");
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
    throw new Error(`not ready: ${this.stderr}`);
  }

  receive(data) {
    const lines = (this.partial + data).split("\n");
    this.partial = lines.pop();
    for (const line of lines.filter((each) => each.trim())) {
      const message = JSON.parse(line);
      const waiting = this.pending.get(message.id);
      if (!waiting) continue;
      this.pending.delete(message.id);
      this.order.push(message.id);
      clearTimeout(waiting.timeout);
      if (message.error) waiting.reject(Object.assign(new Error(message.error.message), message.error));
      else waiting.resolve(message.result);
    }
  }

  send(method, params) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      const timeout = setTimeout(() => {
        this.pending.delete(id);
        reject(new Error("Request timeout"));
      }, REQUEST_TIMEOUT_MS);
      this.pending.set(id, { resolve, reject, timeout });
      this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", method, params, id }) + "\n");
    });
  }

  async close() {
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.child.stdin.end();
    return ended;
  }
}

const engine = new Engine(process.argv[2], process.argv.slice(3));
await engine.connect();
await engine.connect();
const model = await engine.send("initModel");
const long = "再試行".repeat(4_000); // 36 KB: more than a pipe's first reads
const sections = [
  { id: "a", documentPath: "a.md", heading: "A", depth: 0, content: long, parentId: null, order: 0, isDirty: false, createdAt: new Date() },
  { id: "b", documentPath: "a.md", heading: "B", depth: 1, content: "backoff doubles", parentId: "a", order: 1 },
];
const added = await engine.send("addSections", { sections });
const hundred = await Promise.all(
  Array.from({ length: 100 }, () => engine.send("search", { query: "backoff", depth: [0, 1], limit: 2 })),
);
const read = await engine.send("getSectionsByPath", { documentPath: "a.md" });
const marked = await engine.send("markDirty", { documentPath: "a.md" });
const dirty = await engine.send("getDirtySections", {});
const error = await engine.send("search", {}).catch((reason) => ({ code: reason.code, data: reason.data }));
const deleted = await engine.send("deleteSectionsByPath", { documentPath: "a.md" });
const stats = await engine.send("getStats");
const code = await engine.close();
console.log(
  JSON.stringify({
    model,
    added,
    searches: hundred.map((each) => each.results[0].id),
    same: read.sections[0].content === long,
    created: new Date(read.sections[0].created_at).toISOString() === read.sections[0].created_at,
    marked,
    dirty: dirty.sections.length,
    error,
    deleted,
    stats,
    code,
  }),
);
