import assert from "node:assert/strict";
import { test } from "node:test";
import { derivedName, localIds } from "./local-ids.ts";

test("a local id is the preview id, otherwise the id, otherwise derived from the worker and the binding", () => {
  const ids = localIds("my_Worker");
  assert.equal(ids.namespace("NOTES", { preview: "p", id: "i" }), "p");
  assert.equal(ids.bucket("FILES", { preview: undefined, id: "files" }), "files");
  assert.equal(ids.database("MY_DB", { preview: undefined, id: undefined }), "my-worker-my-db");
  assert.equal(ids.queue("JOBS", undefined), "my-worker-jobs");
});

test("derived names are distinct valid bucket names for any worker and binding names", () => {
  const names = [
    derivedName("letters", "FILES_"),
    derivedName("letters", "FILES$"),
    derivedName("_", "_"),
    derivedName("-a", "B"),
    derivedName("w".repeat(63), "B".repeat(300)),
    derivedName("w".repeat(63), "C".repeat(300)),
  ];
  for (const name of names) assert.match(name, /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/);
  assert.equal(new Set(names).size, names.length);
});

test("a derived database id has at most 128 characters", () => {
  const { length } = localIds("w").database("B".repeat(300), { preview: undefined, id: undefined });
  assert.ok(length <= 128, `${length}`);
});
