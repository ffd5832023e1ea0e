// The primary process in d1-processes.test.ts: executes the D1 calls of the others, with its files in the given folder.
import { join } from "node:path";
import { silentLog } from "../../kernel/index.ts";
import { serveDatabases, createD1Databases } from "../../workers/bindings/d1/index.ts";
import { listenForCalls } from "./primary-process.ts";

const folder = process.argv[2]!;
const databases = createD1Databases({ directory: join(folder, "d1"), processes: 1 });
await listenForCalls(folder, { d1: serveDatabases(databases, { log: silentLog }) }, { log: silentLog });
process.on("disconnect", () => process.exit());
process.send!("ready");
