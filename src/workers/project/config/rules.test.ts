import assert from "node:assert/strict";
import { matchesGlob } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { globPattern, matchRules } from "./rules.ts";

test("the default rules match text, data and compiled wasm", () => {
  const match = matchRules([]);
  assert.deepEqual(match("./mail.txt"), { type: "Text", removed: false });
  assert.deepEqual(match("../deep/page.html"), { type: "Text", removed: false });
  assert.deepEqual(match("./schema.sql"), { type: "Text", removed: false });
  assert.deepEqual(match("pkg/data.bin"), { type: "Data", removed: false });
  assert.deepEqual(match("./a.wasm?module"), { type: "CompiledWasm", removed: false });
  assert.equal(match("./index.ts"), undefined);
  assert.equal(match("./txt"), undefined);
});

test("a rule in the file replaces the default of its type unless it has fallthrough", () => {
  const own = matchRules([{ type: "Text", globs: ["**/*.md"] }]);
  assert.deepEqual(own("./a.md"), { type: "Text", removed: false });
  assert.deepEqual(own("./a.txt"), { type: "Text", removed: true });
  assert.deepEqual(own("./a.bin"), { type: "Data", removed: false });
  assert.deepEqual(matchRules([{ type: "Text", globs: ["**/*.md"], fallthrough: true }])("./a.txt"), {
    type: "Text",
    removed: false,
  });
  assert.deepEqual(matchRules([{ type: "Data", globs: ["**/*.txt"] }])("./a.txt"), { type: "Data", removed: false });
});

test("globs support alternatives, a single folder, and a literal question mark", () => {
  const matches = (glob: string, path: string) => globPattern(glob).test(path);
  assert.ok(matches("**/*.{txt,md}", "./a/b.md"));
  assert.ok(!matches("**/*.{txt,md}", "./a/b.mdx"));
  assert.ok(matches("./src/*.txt", "src/a.txt"));
  assert.ok(!matches("src/*.txt", "src/a/b.txt"));
  assert.ok(matches("a,b", "a,b"));
  assert.ok(matches("{", "{"));
  assert.ok(!matches("*.wasm?module", "a.wasmXmodule"));
});

const piece = fc.constantFrom("a", "b", ".x", "*", "**/", "/");
test("without a question mark, globs match as in Node", () => {
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 5 }),
      fc.array(fc.constantFrom("a", "b", ".x", "a/", "b/"), { minLength: 1, maxLength: 5 }),
      (glob, path) => {
        const pattern = glob.join("");
        const file = path.join("");
        // The two implementations treat empty folders, hidden files and three consecutive stars differently.
        fc.pre(!/\*\*\*|\/\/|^\/|\/$|\*\*$/.test(pattern) && !/(^|\/)\.|\/$/.test(file) && !/(^|\/)\./.test(pattern));
        assert.equal(globPattern(pattern).test(file), matchesGlob(file, pattern), `${pattern} on ${file}`);
      },
    ),
  );
});
