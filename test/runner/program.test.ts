import assert from "node:assert/strict";
import { isBuiltin } from "node:module";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildProgram } from "../../scripts/bundle.ts";
import { removeOld } from "../../scripts/test/program.ts";

test("the program contains its packages, with their licences, except those with files of their own", async () => {
  const built = await buildProgram(join(import.meta.dirname, "..", ".."));
  const program = [...built].filter(([path]) => /^(cli|chunks)\/.*\.js$/.test(path)).map(([, code]) => String(code));
  const imported = program
    .flatMap((code) => [...code.matchAll(/(?:^|;)(?:import|export)(?:[\w\s{}*,$]*from)?\s?"([^."/][^"]*)";/gm)])
    .map(([, name]) => name!);
  const packages = imported.filter((name) => !isBuiltin(name));
  assert.ok(imported.includes("node:http"));
  assert.deepEqual([...new Set(packages)].toSorted(), ["esbuild", "werift", "workerd"]);
  const licences = String(built.get("licenses.txt"));
  for (const name of ["hono", "kysely", "mailauth", "pgpass", "prom-client", "zod"])
    assert.match(licences, new RegExp(`^${name} [\\d.]+ \\(.*\\)\\n\\n.*[^]{200}`, "m"));
});

test("a run keeps the version that it uses, however long ago it was built", (t) => {
  const cache = mkdtempSync(join(tmpdir(), "reelpost-program-"));
  t.after(() => rmSync(cache, { recursive: true, force: true }));
  for (const [age, name] of ["newest", "second", "third", "fourth", "fifth", "used"].entries()) {
    mkdirSync(join(cache, name));
    utimesSync(join(cache, name), 1_000_000 - age, 1_000_000 - age);
  }
  removeOld(cache, join(cache, "used"));
  assert.deepEqual(readdirSync(cache).toSorted(), ["newest", "second", "third", "used"]);
});
