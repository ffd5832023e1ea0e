import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const INSTALL_TIMEOUT_MS = 5 * 60_000;

/**
 * Installs a folder with its own package.json and lock file (peers of benchmarks, test clients), unless the locked
 * versions have already been installed. Returns the versions by name.
 */
export async function installLocked(dir: string, say: (line: string) => void): Promise<Record<string, string>> {
  const { dependencies } = readJson(join(dir, "package.json")) as { dependencies: Record<string, string> };
  const isThere = ([name, wanted]: [string, string]) => versionOf(dir, name) === wanted;
  if (!Object.entries(dependencies).every(isThere)) {
    say(
      `installing ${Object.entries(dependencies)
        .map(([name, version]) => `${name} ${version}`)
        .join(", ")} (once)`,
    );
    await npmCi(dir);
  }
  return dependencies;
}

function npmCi(dir: string): Promise<void> {
  // npm's output goes to stderr, because stdout is reserved for the caller.
  const npm = spawn("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: dir,
    stdio: ["ignore", 2, 2],
    timeout: INSTALL_TIMEOUT_MS,
  });
  return new Promise((resolve, reject) => {
    npm.once("error", reject);
    npm.once("exit", (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`npm ci in ${dir} exited with ${signal ?? `exit code ${code}`}`)),
    );
  });
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"));

function versionOf(dir: string, name: string): string | undefined {
  const manifest = join(dir, "node_modules", name, "package.json");
  return existsSync(manifest) ? (readJson(manifest) as { version: string }).version : undefined;
}
