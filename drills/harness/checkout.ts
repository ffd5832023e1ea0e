import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const LEFT_OUT = new Set([".git", ".reelpost", "dist", "coverage"]);

/** Copies the files of a checkout that the tests read. All copies share the installed packages through symlinks. */
export function copyCheckout(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (LEFT_OUT.has(entry.name) || entry.name.endsWith(".tgz")) continue;
    if (entry.name === "node_modules") symlinkSync(source, target);
    // Only a few code folders have their own node_modules; templates are copied unchanged.
    else if (entry.isDirectory()) copyCheckout(source, target);
    else if (existsSync(source)) cpSync(source, target);
  }
}
