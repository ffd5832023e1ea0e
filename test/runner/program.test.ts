import assert from "node:assert/strict";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { buildProgram } from "../../scripts/bundle.ts";

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
