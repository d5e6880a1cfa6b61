// The parts that need the machine itself; loaded only in the desktop app.
import { execFile } from "child_process";
import { promises as fs } from "fs";
import { homedir } from "os";
import type { Server } from "./client";
import { Failure } from "./words";

/** Return the daemons of this machine that left their address; one that was killed has left it, too. */
export async function daemons(): Promise<Server[]> {
  const folder = `${dataFolder()}/mdvec/daemons`;
  const places = await fs.readdir(folder).catch(() => []);
  const servers = places.map((place) => {
    const info = fs.readFile(`${folder}/${place}/daemon.json`, "utf8"); // there is none if it does not run
    return info.then((text) => [JSON.parse(text) as Server]).catch(() => []);
  });
  return (await Promise.all(servers)).flat();
}

/** Start the daemon of the user's database, unless it runs. */
export function startDaemon(command: string): Promise<void> {
  // An app that was not started from a shell lacks the folders that installers add to PATH there.
  const more = [`${homedir()}/.local/bin`, "/opt/homebrew/bin", "/usr/local/bin"].join(":");
  const path = process.platform === "win32" ? process.env.PATH : `${process.env.PATH ?? ""}:${more}`;
  const options = { cwd: homedir(), env: { ...process.env, PATH: path } };
  return new Promise((resolve, reject) => {
    execFile(command, ["daemon", "start"], options, (error, _, stderr) => {
      if (error === null) resolve();
      else if (error.code === "ENOENT") reject(new Failure("notInstalled", { command }));
      else reject(new Failure("other", { detail: stderr.trim() || error.message }));
    });
  });
}

/** Return a path with its links followed; one that cannot be followed, as it is. */
export function realPath(path: string): Promise<string> {
  return fs.realpath(path).catch(() => path);
}

// Where mdvec's data is: the folder that platformdirs names.
function dataFolder(): string {
  const { platform, env } = process;
  if (platform === "win32") return env.LOCALAPPDATA ?? `${homedir()}/AppData/Local`;
  if (env.XDG_DATA_HOME) return env.XDG_DATA_HOME;
  return platform === "darwin" ? `${homedir()}/Library/Application Support` : `${homedir()}/.local/share`;
}
