import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { decodeWords } from "./encoded-words.ts";

test("decodes encoded words and nothing else", () => {
  const cases: [text: unknown, read: unknown][] = [
    ["Plain =? text", "Plain =? text"],
    ["=?UTF-8?Q?gr=C3=BCn?=", "grün"],
    ["=?utf-8?B?w7xiZXI=?= =?UTF-8?q?_alles?= und =?ISO-8859-1?Q?mehr=E4?=!", "über alles und mehrä!"],
    ["=?utf-8*de?q?x?=", "x"],
    ["=?Shift_JIS?B?k/qWew==?=", "日本"],
    ["=?x-nobody-knows?Q?a?= =?utf-8?z?b?=", "=?x-nobody-knows?Q?a?= =?utf-8?z?b?="],
    ["=?utf-8?Q?=FF=C3?= =?utf-8?Q?", "\ufffd\ufffd =?utf-8?Q?"],
    [7, 7],
    [undefined, undefined],
  ];
  for (const [text, read] of cases) assert.equal(decodeWords(text), read);
});

test("decodes a crafted slow subject quickly", () => {
  for (const part of ["=?", "=?a?b?", "=?utf-8?q?x?= ", "=?a*", "=?utf-8?q?x?=\t \t "])
    assert.ok(cpuMs(() => void decodeWords(part.repeat(100_000))) < 1000, part);
});
