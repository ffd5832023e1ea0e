import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const peersDir = join(import.meta.dirname, "..", "peers");
const installTimeoutMs = 5 * 60_000;

/** Where a peer lives and which version it is. Installs it from its own lock file when it is not there yet. */
export async function installedPeer(name: string, say: (line: string) => void): Promise<{ dir: string; version: string }> {
  const dir = join(peersDir, name);
  const wanted = (readJson(join(dir, "package.json")) as { dependencies: Record<string, string> }).dependencies[name];
  const manifest = join(dir, "node_modules", name, "package.json");
  if (!existsSync(manifest) || versionIn(manifest) !== wanted) {
    say(`installing ${name} ${wanted} into bench/peers/${name} (once)`);
    await npmCi(dir);
  }
  return { dir, version: versionIn(manifest) };
}

function npmCi(dir: string): Promise<void> {
  // npm's own output belongs on stderr: the last line of stdout is the result.
  const npm = spawn("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: dir, stdio: ["ignore", 2, 2], timeout: installTimeoutMs });
  return new Promise((resolve, reject) => {
    npm.once("error", reject);
    npm.once("exit", (code, signal) => (code === 0 ? resolve() : reject(new Error(`npm ci in ${dir} ended with ${signal ?? `exit code ${code}`}`))));
  });
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"));
const versionIn = (manifest: string) => (readJson(manifest) as { version: string }).version;
