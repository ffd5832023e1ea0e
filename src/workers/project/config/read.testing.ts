import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { createManualClock } from "../../../kernel/clock.ts";
import { formatProblems } from "../../../kernel/config/index.ts";
import { UserError } from "../../../kernel/errors.ts";
import { type ReadProjectOptions, readProject } from "./read.ts";

/** Helpers for the tests of this folder: folders with a configuration, and what is read from them. */

const NOW = Date.parse("2026-11-20T12:00:00Z");
export const DATE = "2026-10-01";

/** Resolves with a folder with these files, and a main module. */
export async function folder(t: TestContext, files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "reelpost-config-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({ "src/index.ts": "export default {}", ...files })) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

export const read = (cwd: string, options: Partial<ReadProjectOptions> = {}) =>
  readProject({ cwd, clock: createManualClock(NOW), ...options });

/** Resolves with the error message, with the folder as `<root>`. */
export async function refusal(cwd: string, options: Partial<ReadProjectOptions> = {}): Promise<string> {
  const error = await read(cwd, options).then(
    () => assert.fail("the configuration was accepted"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UserError, String(error));
  return error.message.replaceAll(cwd, "<root>");
}

export const warnings = async (cwd: string, options: Partial<ReadProjectOptions> = {}) =>
  formatProblems((await read(cwd, options)).warnings, { cwd });

/** The required fields, in JSON without braces. */
export const minimal = `"name": "mail", "main": "src/index.ts", "compatibility_date": "${DATE}"`;
