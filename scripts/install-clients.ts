/** Installs the clients of the tests (wrangler, players, SDKs) that test/clients locks. `npm test` does the same first. */
import { join } from "node:path";
import { installLocked } from "./install-locked.ts";

await installLocked(join(import.meta.dirname, "..", "test/clients"), (line) => process.stderr.write(`${line}\n`));
