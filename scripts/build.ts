// npm run build [-- --out FOLDER]: builds the program into dist/ or FOLDER. `npm run check` checks the types.
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { writeApiTypes } from "./api-types.ts";
import { buildProgram, writeBuiltFiles } from "./bundle.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { out: { type: "string" } } });
const dist = values.out === undefined ? join(root, "dist") : resolve(values.out);

await writeApiTypes();
const built = await buildProgram(root);
await rm(dist, { recursive: true, force: true });
await writeBuiltFiles(built, dist);
