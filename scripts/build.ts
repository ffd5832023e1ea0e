// npm run build [-- --out FOLDER] [-- --no-check]: src/ as JavaScript in dist/ or FOLDER. The published package needs it: Node strips no types below node_modules.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundleWeb } from "../src/stream/player/bundle.ts";

const root = join(import.meta.dirname, "..");
const {
  values: { out, "no-check": noCheck },
} = parseArgs({ options: { out: { type: "string" }, "no-check": { type: "boolean", default: false } } });
const dist = out === undefined ? join(root, "dist") : resolve(out);

rmSync(dist, { recursive: true, force: true });
compile("tsconfig.build.json", dist);
compile("tsconfig.build.inside.json", join(dist, "workers", "runtime", "inside"));
// What is read at run time and is no code: SQL, templates, schemas.
cpSync(join(root, "src"), dist, { recursive: true, filter: (path) => !/\.tsx?$/.test(path) });
// What browsers load of us.
mkdirSync(join(dist, "web"));
for (const [name, body] of await bundleWeb(join(root, "web"))) writeFileSync(join(dist, "web", name), body);

function compile(project: string, outDir: string): void {
  const { status, error } = spawnSync(
    join(root, "node_modules", ".bin", "tsc"),
    ["-p", project, "--outDir", outDir, ...(noCheck ? ["--noCheck"] : [])],
    { cwd: root, stdio: ["ignore", "inherit", "inherit"] },
  );
  if (error !== undefined) throw error;
  if (status !== 0) {
    process.stderr.write(`build: tsc -p ${project} failed\n`);
    process.exit(1);
  }
}
