import { join } from "node:path";

/** scripts/test.ts bundles the program once for all test files and passes the path of its main module on. */
export const PROGRAM = "REELPOST_TEST_PROGRAM";

const sources = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

/** The main module that tests start as `reelpost`: the bundle, as users get it, or the sources when a test file runs on its own. */
export const programMain = process.env[PROGRAM] ?? sources;
