import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { createSources, findReachable } from "../../scripts/imports.ts";
import { impurity } from "../../scripts/test/pure.ts";

function sourcesWith(t: TestContext, files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), "reelpost-pure-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return createSources(root);
}

/** A domain with one pure module and one that opens a socket. */
const domain = {
  "src/a/index.ts": `export { add } from "./add.ts";\nexport { dial, type Dialled } from "./dial.ts";\nexport * from "./more.ts";`,
  "src/a/add.ts": `export const add = (a: number, b: number) => a + b;`,
  "src/a/dial.ts": `import { connect } from "node:net";\nexport interface Dialled {}\nexport const dial = () => connect(1);`,
  "src/a/more.ts": `import { spawn } from "node:child_process";\nexport const run = () => spawn("true");`,
};
const importing = (names: string, rest = "") => ({
  ...domain,
  "src/b.test.ts": `import { test } from "node:test";\nimport ${names} from "./a/index.ts";\n${rest}`,
});

test("follows the imported names through an index.ts, but not its other exports", (t) => {
  const sources = sourcesWith(t, importing("{ add }"));
  assert.deepEqual([...findReachable(sources, "src/b.test.ts")], ["src/b.test.ts", "src/a/add.ts", "node:test test"]);
  assert.equal(impurity(sources, "src/b.test.ts"), undefined);
});

test("finds sockets and processes behind a named, a star and a namespace import", (t) => {
  const why = (names: string) => impurity(sourcesWith(t, importing(names)), "src/b.test.ts");
  assert.equal(why("{ dial }"), "imports node:net connect");
  assert.equal(why("{ run }"), "imports node:child_process spawn");
  assert.match(why("* as all")!, /^imports node:(net|child_process)/);
  assert.equal(why("type { Dialled }"), undefined);
  assert.equal(why("{ type Dialled }"), undefined);
});

test("finds changes to process state, process-wide hooks, and computed imports", (t) => {
  const why = (rest: string) => impurity(sourcesWith(t, importing("{ add }", rest)), "src/b.test.ts");
  assert.match(why(`process.env.X = "1";`)!, /matches/);
  assert.match(why(`process.chdir("/");`)!, /matches/);
  assert.match(why(`await fetch("http://localhost");`)!, /matches/);
  assert.match(why(`globalThis.fetch = () => {};`)!, /matches/);
  assert.match(why(`beforeEach(() => {});`)!, /matches/);
  assert.match(why(`await import(add(1, 2));`)!, /^imports \*/);
  assert.equal(why(`// process.chdir("/") is not called\nconst x = process.env.X;`), undefined);
});
