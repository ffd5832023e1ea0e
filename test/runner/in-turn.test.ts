import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { sharesProcess, writeGroups } from "../../scripts/test/in-turn.ts";

/** Runs the files as groups and returns the lines that they printed. */
function runGroups(t: TestContext, files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), "reelpost-turns-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `import { after, before, test } from "node:test";\n${text}`);
  }
  const groups = writeGroups(join(root, "groups"), root, Object.keys(files));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const ran = groups.map(({ program }) => spawnSync(process.execPath, [program], { env, encoding: "utf8" }));
  return { codes: ran.map(({ status }) => status), printed: ran.map(({ stdout }) => stdout) };
}

/** Returns a file that reports its beginning and end. */
const reporting = (name: string) => `
console.log("load ${name}");
before(() => console.log("before ${name}"));
after(() => console.log("after ${name}"));
await new Promise((resolve) => setTimeout(resolve, 1));
test("one", (t) => t.test("inner", () => console.log("test ${name}")));
`;

test("files of a domain run one after the other in one process, each with its own hooks", (t) => {
  const { printed, codes } = runGroups(t, {
    "src/mail/a.test.ts": reporting("a"),
    "src/mail/b.test.ts": reporting("b"),
    "src/zones/c.test.ts": reporting("c"),
  });
  const events = printed.map((text) => text.match(/^(load|before|test|after) \w$/gm));
  assert.deepEqual(events, [
    ["load a", "before a", "test a", "after a", "load b", "before b", "test b", "after b"],
    ["load c", "before c", "test c", "after c"],
  ]);
  assert.deepEqual(codes, [0, 0]);
});

test("a file that fails to load or fails a test fails its process, and the next file still runs", (t) => {
  for (const broken of [`throw new Error("broken");`, `test("fails", () => assert.fail());`]) {
    const { printed, codes } = runGroups(t, { "src/a/a.test.ts": broken, "src/a/b.test.ts": reporting("b") });
    assert.deepEqual(codes, [1]);
    assert.match(printed[0]!, /✖ src\/a\/a\.test\.ts[^]*test b|test b[^]*✖ src\/a\/a\.test\.ts/);
  }
});

test("a group has a limited number of files and a limited duration", (t) => {
  const root = mkdtempSync(join(tmpdir(), "reelpost-turns-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const files = Array.from({ length: 40 }, (_, n) => `src/a/${String(n).padStart(2, "0")}.test.ts`);
  const sizes = (times: Record<string, number>) => writeGroups(root, root, files, times).map((one) => one.files.length);
  assert.deepEqual(sizes({}), [16, 16, 8]);
  assert.deepEqual(sizes(Object.fromEntries(files.map((file) => [file, 9_000]))), [6, 6, 6, 6, 6, 6, 4]);
});

test("slow files, files outside the domains, and files that change or measure their process run alone", () => {
  const shares = (text: string, file = "src/a.test.ts", ms?: number) => sharesProcess(file, text, ms);
  assert.ok(shares(`await fetch(url); t.mock.timers.tick(1); before(() => {}); process.env.HOME`));
  assert.ok(!shares("", "test/e2e/a.test.ts"));
  assert.ok(!shares("", "src/a.test.ts", 12_000));
  assert.ok(!shares(`process.env.HOME = "/";`));
  assert.ok(!shares(`process.exitCode = 1;`));
  assert.ok(!shares(`mock.timers.enable();`));
  assert.ok(!shares(`process.memoryUsage();`));
});
