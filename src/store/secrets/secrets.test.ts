import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { isStoreError } from "../errors.ts";
import { createSecrets } from "./aes-gcm.ts";
import { loadKeyFile, parseKeys } from "./keys.ts";
import { secretsConformance } from "./secrets.conformance.ts";

const newKey = () => randomBytes(32);
const badKeys = (err: unknown) => isStoreError(err, "badKeyFile");

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-secrets-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("secrets with AES-256-GCM", () => {
  secretsConformance(() => createSecrets({ keys: [newKey()] }));

  test("old keys still decrypt values, and new values are encrypted with the newest key", () => {
    const [old, current, foreign] = [newKey(), newKey(), newKey()];
    const before = createSecrets({ keys: [old] }).seal("v", "c");
    const rotated = createSecrets({ keys: [current, old] });
    assert.equal(rotated.open(before, "c"), "v");
    const after = rotated.seal("v", "c");
    assert.equal(createSecrets({ keys: [current] }).open(after, "c"), "v");
    assert.throws(
      () => createSecrets({ keys: [old] }).open(after, "c"),
      (err) => isStoreError(err, "cannotOpenSecret") && /not configured/.test(err.message),
    );
    assert.throws(() => createSecrets({ keys: [foreign] }).open(before, "c"));
  });
});

describe("the key file", () => {
  test("is created on first use with owner-only permissions, and read afterwards", (t) => {
    const folder = temporary(t);
    const path = join(folder, "secrets.key");
    const keys = loadKeyFile(path);
    assert.equal(keys.length, 1);
    assert.equal(keys[0]!.length, 32);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder), ["secrets.key"]);
    assert.deepEqual(
      loadKeyFile(path).map((key) => Buffer.from(key)),
      keys.map((key) => Buffer.from(key)),
    );
  });

  test("holds several keys, newest first", (t) => {
    const path = join(temporary(t), "secrets.key");
    const keys = [newKey(), newKey()];
    writeFileSync(path, keys.map((key) => `${key.toString("base64")}\n`).join(""), { mode: 0o600 });
    assert.deepEqual(loadKeyFile(path), keys);
  });

  test("is rejected if other users can read it", (t) => {
    const path = join(temporary(t), "secrets.key");
    loadKeyFile(path);
    const before = readFileSync(path);
    chmodSync(path, 0o640);
    assert.throws(
      () => loadKeyFile(path),
      (err) => badKeys(err) && /640/.test((err as Error).message),
    );
    assert.deepEqual(readFileSync(path), before);
  });

  test("is rejected, and never replaced, if empty or damaged", (t) => {
    const path = join(temporary(t), "secrets.key");
    for (const text of [
      "",
      "\n",
      "short",
      newKey().toString("base64").slice(0, -4),
      `${newKey().toString("base64")}\nnonsense`,
    ]) {
      writeFileSync(path, text, { mode: 0o600 });
      assert.throws(() => loadKeyFile(path), badKeys, JSON.stringify(text));
      assert.equal(readFileSync(path, "utf8"), text);
    }
  });

  test("reports a missing folder", (t) => {
    assert.throws(
      () => loadKeyFile(join(temporary(t), "absent", "secrets.key")),
      (err) => isStoreError(err, "notWritable"),
    );
  });
});

test("parses keys in base64 or base64url, separated by commas or white space", () => {
  const keys = [newKey(), newKey(), newKey()];
  const text = ` ${keys[0]!.toString("base64")}, ${keys[1]!.toString("base64url")}\n${keys[2]!.toString("base64")} `;
  assert.deepEqual(parseKeys(text, "REELPOST_SECRETS_KEY"), keys);
});
