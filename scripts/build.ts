// npm run build: src/ as JavaScript in dist/. The published package needs it: Node strips no types below node_modules.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleWeb } from "../src/stream/player/bundle.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
compile("tsconfig.build.json");
compile("tsconfig.build.inside.json");
// What is read at run time and is no code: SQL, templates, schemas.
cpSync(join(root, "src"), dist, { recursive: true, filter: (path) => !/\.tsx?$/.test(path) });
// What browsers load of us.
mkdirSync(join(dist, "web"));
for (const [name, body] of await bundleWeb(join(root, "web"))) writeFileSync(join(dist, "web", name), body);

function compile(project: string): void {
  const { status, error } = spawnSync(join(root, "node_modules", ".bin", "tsc"), ["-p", project], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (error !== undefined) throw error;
  if (status !== 0) {
    process.stderr.write(`build: tsc -p ${project} failed\n`);
    process.exit(1);
  }
}
