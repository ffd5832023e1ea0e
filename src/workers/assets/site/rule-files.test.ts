import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matchesGlob, workerFirstProblem } from "../config.ts";
import { parseHeaders } from "./headers-file.ts";
import { parseRedirects } from "./redirects-file.ts";
import { compileRule, fillIn } from "./rule-pattern.ts";

describe("_redirects", () => {
  it("reads source, destination and status", () => {
    const { rules, problems } = parseRedirects(
      "# comment\n\n/a /b\n/c https://example.com/d?x=1#y 301 # why\nwithout-slash /e 307\n/f/* /g/:splat 308\n/h /i",
      undefined,
    );
    assert.deepEqual(
      rules.map(({ from, to, status, dynamic }) => [from, to, status, dynamic]),
      [
        ["/a", "/b", 302, false],
        ["/c", "https://example.com/d?x=1#y", 301, false],
        ["/without-slash", "/e", 307, false],
        ["/f/*", "/g/:splat", 308, true],
        ["/h", "/i", 302, true],
      ],
    );
    assert.deepEqual(problems, []);
  });

  it("ignores invalid lines and reports each", () => {
    const lines = [
      "/only-one",
      "/a /b 200 extra",
      "/a /b 418",
      "https://example.com/a /b",
      "/a b",
      "/* /index",
      "/loop/ /index.html",
      "/a https://example.com 200",
      "/same /x",
      "/same /y",
      `/${"x".repeat(2000)} /y`,
    ];
    const { rules, problems } = parseRedirects(lines.join("\n"), undefined);
    assert.deepEqual(
      [rules.map(({ from }) => from), problems.map(({ line }) => line).toSorted((a, b) => a - b)],
      [["/same"], [1, 2, 3, 4, 5, 6, 7, 8, 10, 11]],
    );
  });

  it("accepts at most 2,000 static and 100 dynamic rules", () => {
    const fixed = Array.from({ length: 2001 }, (_, i) => `/s${i} /t`);
    const dynamic = Array.from({ length: 101 }, (_, i) => `/d${i}/* /t`);
    const { rules, problems } = parseRedirects([...fixed, ...dynamic].join("\n"), undefined);
    assert.deepEqual([rules.length, problems.length], [2100, 2]);
  });
});

describe("_headers", () => {
  it("reads the headers of each source and joins values of the same name", () => {
    const { rules, problems } = parseHeaders(
      "/a/*\n  X-A: 1\n  x-a: 2\n  ! Cache-Control\n\nhttps://:host.example/b\n  Link: <a>; rel=x:y\n",
    );
    assert.deepEqual(
      rules.map(({ source, set, unset }) => [source, set, unset]),
      [
        ["/a/*", [["x-a", "1, 2"]], ["cache-control"]],
        ["https://:host.example/b", [["link", "<a>; rel=x:y"]], []],
      ],
    );
    assert.deepEqual(problems, []);
  });

  it("ignores invalid lines and reports each", () => {
    const { rules, problems } = parseHeaders(
      "X-Early: 1\n/ok\n  X: 1\n  bad name: 1\n  empty:\n  words\n  Content-Length: 5\n  X-Control: a\u0001b\n/*/*\n  Y: 1\n/none\n/also\n  Z: 1",
    );
    assert.deepEqual(
      [rules.map(({ source }) => source), problems.map(({ line }) => line).toSorted((a, b) => a - b)],
      [
        ["/ok", "/also"],
        [1, 4, 5, 6, 7, 8, 9, 11],
      ],
    );
  });
});

describe("rule sources", () => {
  it("match wildcards, placeholders and hosts", () => {
    const values = (source: string, host: string, path: string) => {
      const captured = compileRule(source)!.match(host, path);
      return captured && Object.fromEntries(captured);
    };
    assert.deepEqual(values("/blog/:year/*", "h", "/blog/2026/a/b"), { year: "2026", splat: "a/b" });
    assert.equal(values("/blog/:year", "h", "/blog/2026/a"), undefined);
    assert.deepEqual(values("https://:sub.example.com/*", "a.example.com", "/x"), { sub: "a", splat: "x" });
    assert.equal(values("https://:sub.example.com/*", "a.b.example.com", "/x"), undefined);
    assert.deepEqual(values("/a.b", "h", "/a.b"), {});
    assert.equal(values("/a.b", "h", "/axb"), undefined);
    assert.equal(compileRule("/:a/:a"), undefined);
  });

  it("insert values once and never interpret them", () => {
    assert.equal(
      fillIn(
        "/:a/:ab/:b",
        new Map([
          ["a", ":b$&"],
          ["ab", "2"],
          ["b", "3"],
        ]),
      ),
      "/:b$&/2/3",
    );
  });
});

describe("run_worker_first", () => {
  it("reports invalid patterns", () => {
    const reason = (patterns: string[]) => workerFirstProblem(patterns)?.reason;
    assert.equal(reason(["/api/*", "!/api/docs/*"]), undefined);
    for (const patterns of [[], ["api"], ["!api"], ["!/a"], ["/a", "/a"], ["/a/*", "/a/b"], [`/${"x".repeat(100)}`]])
      assert.notEqual(reason(patterns), undefined, patterns.join());
    assert.notEqual(reason(Array.from({ length: 101 }, (_, i) => `/p${i}`)), undefined);
  });

  it("an asterisk matches any text", () => {
    assert.deepEqual(
      (
        [
          ["/a/*", "/a/b/c"],
          ["/a/*", "/a"],
          ["*", "/x"],
          ["/a*b*c", "/axbyc"],
          ["/a*b*c", "/acb"],
          ["/a*a", "/a"],
          ["/a", "/a"],
        ] as const
      ).map(([pattern, path]) => matchesGlob(pattern, path)),
      [true, false, true, true, false, false, true],
    );
  });
});
