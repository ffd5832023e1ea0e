import assert from "node:assert/strict";
import { type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import type { UserError } from "../../kernel/index.ts";
import { mailOf, noActions } from "../runtime/runtime.testing.ts";
import type { Upload } from "./port.ts";
import { scriptsMigrations } from "./schema.ts";
import { openScriptsFixture, type ScriptsFixture } from "./scripts.testing.ts";

export const A = "a".repeat(32);
export const B = "b".repeat(32);
export const KEEP_SECRETS: Partial<Upload> = { keepBindings: ["secret_text"] };

export const code = (wanted: number) => (err: UserError) => (assert.equal(err.code, wanted, err.message), true);
export const says = (wanted: number, words: RegExp) => (err: UserError) =>
  code(wanted)(err) && (assert.match(err.message, words), true);

export const start = async (
  engine: TestEngine,
  t: TestContext,
  options?: Parameters<typeof openScriptsFixture>[2],
): Promise<ScriptsFixture> => openScriptsFixture(t, (await engine.open(t, scriptsMigrations)).db, options);

/** The rejection text of a message, which is the id of the version that handled it. */
export const email = async ({ live }: Pick<ScriptsFixture, "live">, script = "mail") =>
  (await live.email({ account: A, script }, mailOf(), noActions)).rejected;

/** Returns the secrets of a version as the runtime receives them. */
export const secretsOf = ({ fake }: Pick<ScriptsFixture, "fake">, versionId: string) => {
  const worker = [...fake.known.values()].find(({ version }) => version === versionId);
  return Object.fromEntries(
    (worker?.bindings ?? []).flatMap((binding) =>
      binding.type === "secret_text" ? [[binding.name, binding.text]] : [],
    ),
  );
};
