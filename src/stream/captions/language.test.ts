import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../kernel/index.ts";
import { canonicalLanguage, generatedLabel, languageLabel } from "./language.ts";

test("tags are converted to their canonical BCP 47 form", () => {
  for (const [given, expected] of [
    ["en", "en"],
    ["EN-gb", "en-GB"],
    ["zh-hant-tw", "zh-Hant-TW"],
    ["pt-br", "pt-BR"],
    ["yue", "yue"],
    ["iw", "he"],
  ])
    assert.equal(canonicalLanguage(given!), expected);
});

test("an invalid tag is rejected with the reason", () => {
  for (const tag of [
    "",
    "e",
    "english",
    "en_GB",
    "en GB",
    "../x",
    "xq",
    "jp",
    "en-",
    "1",
    "x-klingon",
    `en-${"a".repeat(40)}`,
    "en\0",
    "<b>",
  ]) {
    assert.throws(
      () => canonicalLanguage(tag),
      (err) => err instanceof UserError && err.kind === "badLanguage",
      tag,
    );
  }
});

test("a label is the name of the language in that language", () => {
  assert.deepEqual(["tr", "de", "en-GB", "en", "fr"].map(languageLabel), [
    "Türkçe",
    "Deutsch",
    "British English",
    "English",
    "français",
  ]);
  assert.equal(languageLabel("xzz"), "xzz");
  assert.equal(generatedLabel("en"), "English (auto-generated)");
});

test("any input either becomes a stable tag that is valid in a path, or is rejected", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ maxLength: 40 }), fc.stringMatching(/^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8}){0,4}$/)),
      (text) => {
        let tag;
        try {
          tag = canonicalLanguage(text);
        } catch (err) {
          return assert.ok(err instanceof UserError);
        }
        assert.match(tag, /^[A-Za-z0-9-]{2,60}$/);
        assert.equal(canonicalLanguage(tag), tag);
        assert.ok(languageLabel(tag).length > 0);
      },
    ),
  );
});
