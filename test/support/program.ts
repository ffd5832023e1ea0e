import { join } from "node:path";

/**
 * scripts/test.ts bundles the program once for all test files and passes the path of its main module in this variable.
 */
export const PROGRAM = "REELPOST_TEST_PROGRAM";

const sources = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

/**
 * The main module that tests start as `reelpost`: the bundle, as users receive it, or the sources if a test file runs
 * alone.
 */
export const programEntry = process.env[PROGRAM] ?? sources;
