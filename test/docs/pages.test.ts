import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { blocksOf, fillIn, matches } from "./blocks.ts";
import { needsFfmpeg } from "../support/media.ts";
import { setUpEnvironment } from "./page-environment.ts";
import { runPage } from "./page-run.ts";

const root = join(import.meta.dirname, "..", "..");
const pages = [
  "README.md",
  ...globSync("docs/**/*.md", { cwd: root }),
  ...globSync("examples/*/README.md", { cwd: root }),
]
  .filter((page) => existsSync(join(root, page)))
  .sort();

describe("every command on every page works as described", { concurrency: 2 }, () => {
  for (const page of pages) {
    const text = readFileSync(join(root, page), "utf8");
    if (blocksOf(text).length === 0) continue;
    // The run creates a video first for pages about videos.
    const needs = blocksOf(text).some(({ kind, text: commands }) => kind === "run" && /^ffmpeg /m.test(commands))
      ? needsFfmpeg
      : {};
    test(page, needs, async () => {
      const environment = await setUpEnvironment({ importsPackage: text.includes('from "reelpost/test"') });
      try {
        await runPage(text, environment);
      } finally {
        await environment.close();
      }
    });
  }
});

describe("reading a page", () => {
  test("a fence declares its purpose", () => {
    const page = [
      "```sh",
      "true",
      "```",
      "```ts src/a.ts",
      "x",
      "```",
      "```sh server",
      "serve",
      "```",
      "```console server",
      "y",
      "```",
      "```json",
      "{}",
      "```",
    ].join("\n");
    assert.deepEqual(
      blocksOf(page).map(({ kind, text }) => [kind, text]),
      [
        ["run", "true\n"],
        ["file", "x\n"],
        ["server", "serve\n"],
        ["output", "y\n"],
      ],
    );
    assert.throws(() => blocksOf("```sh\ntrue\n"), /line 1: the block is never closed/);
    assert.throws(() => blocksOf("```sh servr\ntrue\n```"), /not a known block type/);
  });

  test("values a reader copies from earlier output are written as …", () => {
    const printed = '  "kv": [{ "id": "old" }]\n  "kv": [{ "id": "new" }],\n    export TOKEN=abc\n';
    assert.equal(
      fillIn('{\n "kv": [{ "id": "…" }],\n}\nexport TOKEN=…\n', printed),
      '{\n "kv": [{ "id": "new" }],\n}\nexport TOKEN=abc\n',
    );
    assert.throws(() => fillIn("export OTHER=…", printed), /no earlier output matches "export OTHER=…"/);
  });

  test("expected output is compared in full, except for …", () => {
    assert.ok(matches("a\nstored 12 as 4f\nb\n", "stored … as …"));
    assert.ok(matches("first\nx\ny\nlast", "first\n…\nlast\n"));
    assert.ok(!matches("stored 12\n", "stored"));
    assert.ok(!matches("b\na\n", "a\nb"));
  });
});
