import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assert as check, constantFrom, property, tuple, uniqueArray } from "fast-check";
import { createMatcher } from "./matcher.ts";
import { parsePattern, patternKey } from "./pattern.ts";

const matches = (pattern: string, url: string): boolean => winner([pattern], url) === pattern;

function winner(patterns: string[], url: string): string | undefined {
  const { protocol, hostname, pathname, search } = new URL(url);
  const matcher = createMatcher(patterns.map((pattern) => ({ ...parsePattern(pattern), target: pattern })));
  const scheme = protocol === "https:" ? "https" : "http";
  return matcher.match({ scheme, host: hostname, url: pathname + search })?.target;
}

describe("a route pattern", () => {
  const cases: [pattern: string, matching: string[], others: string[]][] = [
    [
      "example.com",
      ["http://example.com/", "https://example.com/"],
      ["http://www.example.com/", "http://example.com/a"],
    ],
    ["example.com/", ["http://example.com/"], ["http://example.com/?a"]],
    ["https://example.com/", ["https://example.com/"], ["http://example.com/"]],
    ["*example.com/", ["http://example.com/", "http://a.b.example.com/"], ["http://myexample.com/"]],
    ["*.example.com/*", ["http://a.example.com/x?y"], ["http://example.com/x", "http://myexample.com/"]],
    [
      "example.com/a*",
      ["http://example.com/a", "http://example.com/ab?c", "http://example.com/a/b"],
      ["http://example.com/A"],
    ],
    ["example.com/a/*", ["http://example.com/a/"], ["http://example.com/a"]],
    ["EXAMPLE.com/a", ["http://example.com/a"], ["http://example.com/a?b"]],
    ["bücher.example/*", ["http://xn--bcher-kva.example/"], []],
  ];
  for (const [pattern, matching, others] of cases)
    test(pattern, () => {
      for (const url of matching) assert.ok(matches(pattern, url), url);
      for (const url of others) assert.ok(!matches(pattern, url), url);
    });

  test("is rejected if it is malformed", () => {
    for (const pattern of [
      "",
      "*",
      "/a",
      "ftp://example.com/",
      "example.com/*.jpg",
      "example.com/a?b=*",
      "example.com/#a",
      "a*.example.com/",
      "*.*.example.com/",
      "example.com:8080/",
      "exa mple.com/",
      "-.example/\0",
      `example.com/${"x".repeat(1024)}`,
    ])
      assert.throws(() => parsePattern(pattern), { code: 10022 }, pattern);
  });
});

describe("the most specific pattern", () => {
  test("prefers an exact host to wildcards, then the longer host, then the longer path", () => {
    const patterns = [
      "*.example.com/*",
      "*example.com/*",
      "*.www.example.com/*",
      "*www.example.com/images/cats",
      "www.example.com/*",
      "www.example.com/images/*",
      "www.example.com/images/cat*",
      "www.example.com/images/cat",
      "https://www.example.com/images/cat",
    ];
    for (const [url, expected] of [
      ["http://www.example.com/", "www.example.com/*"],
      ["http://www.example.com/images/", "www.example.com/images/*"],
      ["http://www.example.com/images/cats", "www.example.com/images/cat*"],
      ["http://www.example.com/images/cat", "www.example.com/images/cat"],
      ["https://www.example.com/images/cat", "https://www.example.com/images/cat"],
      ["http://a.www.example.com/", "*.www.example.com/*"],
      ["http://a.example.com/", "*.example.com/*"],
      ["http://example.com/", "*example.com/*"],
    ] as const)
      for (const order of [patterns, patterns.toReversed()]) assert.equal(winner(order, url), expected, url);
  });

  test("applies only if its path matches: otherwise a pattern with a wildcard host applies", () => {
    assert.equal(winner(["www.example.com/a", "*.example.com/*"], "http://www.example.com/b"), "*.example.com/*");
  });

  test("does not depend on the order of the patterns", () => {
    const host = constantFrom("example.com", "*.example.com", "*example.com", "a.example.com", "*.a.example.com");
    const path = constantFrom("", "/", "/*", "/a", "/a*", "/a/*", "/a/b");
    const pattern = tuple(constantFrom("", "https://"), host, path).map((parts) => parts.join(""));
    const url = tuple(
      constantFrom("http", "https"),
      constantFrom("example.com", "a.example.com", "b.a.example.com"),
      path,
    ).map(([scheme, name, rest]) => `${scheme}://${name}${rest.replace("*", "x") || "/"}`);
    check(
      property(uniqueArray(pattern, { selector: (text) => patternKey(parsePattern(text)) }), url, (all, at) => {
        assert.equal(winner(all, at), winner(all.toReversed(), at));
      }),
    );
  });
});
