import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { MigrationEndpoint, V4Client } from "./port.ts";
import { openState } from "./state.ts";

const side = (url: string, account: string): MigrationEndpoint => ({ api: { url } as V4Client, account });
const SIDES = {
  source: side("https://old.example/client/v4", "a"),
  target: side("https://new.example/client/v4", "b"),
};

function pathIn(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "migrate-state-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "state.json");
}

test("a state file keeps its items, is readable only by its owner, and ignores an incomplete last line", (t) => {
  const path = pathIn(t);
  const state = openState(path, SIDES);
  state.put([["zone 1", {}]]);
  state.put([
    ["zone 1", { digest: "x" }],
    ["upload 2", { id: "u", upload: { url: "https://new.example/upload/2", size: 5 } }],
  ]);
  assert.equal(statSync(path).mode & 0o077, 0);
  appendFileSync(path, '["zone 3",{"dig');
  const again = openState(path, SIDES);
  assert.deepEqual(
    [again.get("zone 1"), again.idOf("upload 2"), again.get("zone 3")],
    [{ digest: "x" }, "u", undefined],
  );
  again.put([["zone 3", { digest: "y" }]]);
  assert.deepEqual(openState(path, SIDES).get("zone 3"), { digest: "y" });
});

test("a dry run does not write a state file", (t) => {
  const path = pathIn(t);
  const state = openState(path, { ...SIDES, dryRun: true });
  state.put([["zone 1", { digest: "x" }]]);
  assert.deepEqual([existsSync(path), state.get("zone 1")], [false, { digest: "x" }]);
});

test("rejects the state file of another import, or a file of another kind, and leaves it unchanged", (t) => {
  const path = pathIn(t);
  openState(path, SIDES).put([["zone 1", {}]]);
  assert.throws(() => openState(path, { ...SIDES, target: side("https://other.example/client/v4", "b") }), {
    code: "E_OTHER_IMPORT",
    message: /https:\/\/old\.example\/client\/v4 account a to https:\/\/new\.example\/client\/v4 account b/,
  });
  writeFileSync(path, '{"name":"package"}\n');
  assert.throws(() => openState(path, SIDES), { code: "E_STATE_UNREADABLE" });
  assert.equal(readFileSync(path, "utf8"), '{"name":"package"}\n');
});
