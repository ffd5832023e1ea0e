// Checks the types of web/, against the API types of this source tree.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { writeApiTypes } from "./api-types.ts";

const root = join(import.meta.dirname, "..");
await writeApiTypes();
const { status } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", "web/tsconfig.json"], {
  cwd: root,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
