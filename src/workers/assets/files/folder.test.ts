import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { UserError } from "../../../kernel/errors.ts";
import { contentTypeOf } from "./content-types.ts";
import { fileAt, createIgnorePredicate, listFolder, readRuleFile } from "./folder.ts";
import { parseIgnore } from "./ignore.ts";

function makeFolder(t: TestContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "assets-folder-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}
const kind = (wanted: string) => (err: UserError) => (assert.equal(err.kind, wanted, err.message), true);
const pathsIn = (folder: string) => listFolder(folder).assets.map(({ path }) => path);

describe("assets directory", () => {
  it("lists files sorted by path, without rule files and ignored files", (t) => {
    const folder = makeFolder(t, {
      "index.html": "",
      ".well-known/x": "",
      _headers: "",
      _redirects: "",
      "sub/_headers": "",
      ".assetsignore": "*.map\nprivate/\n",
      "a.js.map": "",
      "private/key": "",
    });
    assert.deepEqual(pathsIn(folder), ["/.well-known/x", "/index.html", "/sub/_headers"]);
  });

  it("never follows symbolic links", (t) => {
    const outside = makeFolder(t, { "secret.txt": "secret", "sub/other.txt": "secret" });
    const folder = makeFolder(t, { "index.html": "" });
    symlinkSync(join(outside, "secret.txt"), join(folder, "link.txt"));
    symlinkSync(outside, join(folder, "linked"));
    const { assets, links } = listFolder(folder);
    assert.deepEqual([assets.map(({ path }) => path), links.toSorted()], [["/index.html"], ["link.txt", "linked"]]);
    const none = () => false;
    assert.notEqual(fileAt(folder, "/index.html", none), undefined);
    for (const path of ["/link.txt", "/linked/secret.txt", "/linked", "/linked/sub/other.txt"])
      assert.equal(fileAt(folder, path, none), undefined, path);
  });

  it("finds no file outside the directory or by a non-canonical path", (t) => {
    const parent = makeFolder(t, { "secret.txt": "secret", "public/a/b.txt": "b" });
    const folder = join(parent, "public");
    const none = () => false;
    assert.notEqual(fileAt(folder, "/a/b.txt", none), undefined);
    for (const path of [
      "/../secret.txt",
      "/a/../../secret.txt",
      "/a//b.txt",
      "/./a/b.txt",
      "/a/b.txt/",
      "/a",
      "/",
      "/a/b.txt\0",
    ])
      assert.equal(fileAt(folder, path, none), undefined, path);
    assert.equal(fileAt(folder, "/a/b.txt", createIgnorePredicate("b.txt")), undefined);
  });

  it("rejects a file that is too large, and private server code", (t) => {
    const large = makeFolder(t, { "big.bin": "" });
    truncateSync(join(large, "big.bin"), 25 * 1024 * 1024 + 1);
    assert.throws(() => listFolder(large), kind("fileTooLarge"));
    assert.throws(() => listFolder(makeFolder(t, { "_worker.js": "" })), kind("workerFile"));
    assert.deepEqual(pathsIn(makeFolder(t, { "_worker.js": "", ".assetsignore": "" })), ["/_worker.js"]);
    assert.throws(() => listFolder(join(large, "missing")), kind("folderUnreadable"));
  });

  it("rejects a rule file that is not UTF-8", (t) => {
    const folder = makeFolder(t, {});
    writeFileSync(join(folder, "_headers"), Buffer.from([0xff, 0xfe, 0x2f]));
    assert.throws(() => readRuleFile(folder, "_headers"), kind("folderUnreadable"));
    assert.equal(readRuleFile(folder, "_redirects"), undefined);
  });
});

describe(".assetsignore", () => {
  const cases: [patterns: string, ignored: string[], kept: string[]][] = [
    ["*.map", ["a.map", "sub/a.map"], ["map", "a.maps"]],
    ["/a.txt", ["a.txt"], ["sub/a.txt"]],
    ["sub/", ["sub/a", "x/sub/b/c"], ["sub"]],
    ["a/*.js", ["a/x.js"], ["a/b/x.js", "x.js"]],
    ["**/tmp/**", ["tmp/a", "x/tmp/b/c"], ["tmp"]],
    ["a?c", ["abc"], ["ac", "a/c"]],
    ["[ab].txt", ["a.txt", "b.txt"], ["c.txt"]],
    ["[!ab].txt", ["c.txt"], ["a.txt"]],
    ["*\n!keep.txt", ["a.txt"], ["keep.txt"]],
    ["dir\n!dir/keep.txt", ["dir/keep.txt"], []],
    ["# comment\n\n\\#file\ntrailing  ", ["#file", "trailing"], ["# comment"]],
    ["a+(b).txt", ["a+(b).txt"], ["aab.txt"]],
  ];
  for (const [patterns, ignored, kept] of cases)
    it(JSON.stringify(patterns), () => {
      const isIgnored = parseIgnore(patterns);
      for (const path of ignored) assert.equal(isIgnored(path), true, path);
      for (const path of kept) assert.equal(isIgnored(path), false, path);
    });
});

describe("content types", () => {
  it("include charset=utf-8 for text", () => {
    assert.deepEqual(["a.html", "a.JS", "a.png", "a.json", "a", ".html", "a.unknown", "dir.css/a"].map(contentTypeOf), [
      "text/html; charset=utf-8",
      "text/javascript; charset=utf-8",
      "image/png",
      "application/json",
      undefined,
      "text/html; charset=utf-8",
      undefined,
      undefined,
    ]);
  });
});
