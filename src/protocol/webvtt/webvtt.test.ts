import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { formatVtt, readCaptions } from "./index.ts";
import { MAX_CUES, parseTiming, type WebvttCaptions } from "./cues.ts";

function read(text: string | Uint8Array): WebvttCaptions {
  const reading = readCaptions(typeof text === "string" ? Buffer.from(text) : text);
  assert.ok(reading.ok, JSON.stringify(reading));
  return reading.captions;
}
function why(text: string | Uint8Array): string {
  const reading = readCaptions(typeof text === "string" ? Buffer.from(text) : text);
  assert.ok(!reading.ok, "the file was accepted");
  return reading.why;
}
const normal = (text: string) => formatVtt(read(text));

test("WebVTT is sorted and reduced to the features that players support, without comments and header metadata", () => {
  const text = [
    "\ufeffWEBVTT - a film",
    "X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000",
    "",
    "NOTE by me",
    "and you",
    "",
    "STYLE",
    "::cue { color: red }",
    "",
    "REGION",
    "id:fred width:40%",
    "lines:3 shout:loud",
    "",
    "late",
    "1:00:03.000 --> 1:00:04.250 line:-1 align:middle nonsense position:10%,line-left",
    "<v Bob>Hi</v>",
    "there",
    "",
    "00:01.000 --> 00:02.000",
    "first",
  ].join("\r\n");
  assert.equal(
    normal(text),
    [
      "WEBVTT",
      "",
      "STYLE",
      "::cue { color: red }",
      "",
      "REGION",
      "id:fred",
      "width:40%",
      "lines:3",
      "",
      "00:00:01.000 --> 00:00:02.000",
      "first",
      "",
      "late",
      "01:00:03.000 --> 01:00:04.250 line:-1 align:center position:10%,line-left",
      "<v Bob>Hi</v>",
      "there",
      "",
    ].join("\n"),
  );
});

test("SubRip is converted to WebVTT, including decimal commas, fonts, overrides, arrows and unescaped characters", () => {
  const text =
    '1\n00:00:01,500 --> 00:00:02,500 X1:1 X2:2\n{\\an8}<font color="red">A & B</font> --> <i>c</i>\n\n2\n00:00:03,000 --> 00:00:04,000\n>> 1 < 2\n3\n00:00:05,000 --> 00:00:06,000\nlast';
  assert.equal(
    normal(text),
    "WEBVTT\n\n00:00:01.500 --> 00:00:02.500 line:0\nA &amp; B --&gt; <i>c</i>\n\n00:00:03.000 --> 00:00:04.000\n&gt;&gt; 1 &lt; 2\n\n00:00:05.000 --> 00:00:06.000\nlast\n",
  );
});

test("cue text keeps WebVTT tags, timestamps and entities, loses other tags, and has its special characters escaped", () => {
  const cases: [string, string][] = [
    ["<b>x</b> <c.yellow.bg_blue>y</c> <lang en-GB>z</lang>", "<b>x</b> <c.yellow.bg_blue>y</c> <lang en-GB>z</lang>"],
    ["<script>alert(1)</script><img src=x onerror=y>", "alert(1)"],
    ["a <00:00:01.500>b <1.5>c", "a <00:00:01.500>b c"],
    ["I <3 you & me &amp; &nbsp; &#x41; &;", "I &lt;3 you &amp; me &amp; &nbsp; &#x41; &amp;;"],
    ["<b<b>x", "&lt;b<b>x"],
    ["a\u0007\u001bb", "ab"],
    ["<font>\nx\n</font>", "x"],
  ];
  for (const [given, expected] of cases)
    assert.equal(read(`WEBVTT\n\n00:01.000 --> 00:02.000\n${given}\n`).cues[0]?.text, expected, given);
});

test("an annotation cannot end its cue", () => {
  assert.equal(read("00:01,000 --> 00:02,000\n<v A--->x").cues[0]?.text, "<v A>x");
});

test("styles that load resources or hide elements are removed", () => {
  for (const css of [
    "::cue { background: url(http://x) }",
    "@import 'x'",
    "::cue { background: u\\72l(x) }",
    "</style><script>",
  ])
    assert.deepEqual(read(`WEBVTT\n\nSTYLE\n${css}\n\n00:01.000 --> 00:02.000\nx`).styles, [], css);
});

test("unreadable cues are counted, with the line of the first one", () => {
  const reading = readCaptions(
    Buffer.from(
      "WEBVTT\n\n00:01.000 --> 00:02.000\ngood\n\n00:05.000 --> 00:04.000\nbackwards\n\n99:99.000 --> 100:00.000\nno such minute\n",
    ),
  );
  assert.deepEqual(reading.ok && reading.skipped, { count: 2, line: 6 });
  assert.match(why("WEBVTT\n\n00:05.000 --> 00:04.000\nbackwards"), /line 3/);
  assert.match(why("1\n00:05,000 --> 00:04,000\nbackwards"), /line 2/);
  assert.deepEqual(read("WEBVTT").cues, []);
});

test("other formats and other encodings are rejected", () => {
  for (const text of ["", "  \n", "hello", "{}", "WEBVTTX\n\n", "<html>", "\u0000\u0001\u0002", "#EXTM3U\nhttp://x"])
    why(text);
  assert.match(why(Buffer.from([0x57, 0xe9, 0x20])), /UTF-8/);
  const text = "WEBVTT\n\n00:01.000 --> 00:02.000\nGrüße\n";
  for (const bytes of [Buffer.from(`\ufeff${text}`, "utf16le"), Buffer.from(`\ufeff${text}`, "utf16le").swap16()])
    assert.equal(read(bytes).cues[0]?.text, "Grüße");
  assert.equal(read("WEBVTT\n\n00:01.000 --> 00:02.000\na\u0000b").cues[0]?.text, "a\ufffdb");
});

test("reads all valid forms of timestamps, and rejects others", () => {
  const times = (line: string) => {
    const found = parseTiming(line);
    return found && [found.start, found.end];
  };
  assert.deepEqual(times("00:01.000 --> 00:02.000"), [1000, 2000]);
  assert.deepEqual(times("00:00:01,5-->123456:00:02.050 x"), [1500, 444441602050]);
  for (const line of [
    "",
    "-->",
    "1.000 --> 2.000",
    "00:60.000 --> 01:00.000",
    "60:00.000 --> 61:00.000",
    "00:01.000 -> 00:02.000",
    "00:01.0000 --> 00:02.000",
    "00:02.000 --> 00:02.000",
    "x 00:01.000 --> 00:02.000",
    "00:01.000 x --> 00:02.000",
    `00:01.000 --> 00:02.000${" ".repeat(1000)}`,
  ])
    assert.equal(times(line), undefined, line);
});

test("a file with too many cues is rejected, and an oversized cue is skipped", () => {
  assert.match(why(`WEBVTT\n\n${"00:01.000 --> 00:02.000\nx\n\n".repeat(MAX_CUES + 1)}`), /more than 50000/);
  assert.match(why("00:01,000 --> 00:02,000\nx\n\n".repeat(MAX_CUES + 1)), /more than 50000/);
  const reading = readCaptions(
    Buffer.from(
      `WEBVTT\n\n00:01.000 --> 00:02.000\n${"x".repeat(10_001)}\n\n00:02.000 --> 00:03.000\n${"<".repeat(9000)}\n\n00:03.000 --> 00:04.000\nx`,
    ),
  );
  assert.deepEqual(reading.ok && [reading.captions.cues.length, reading.skipped], [1, { count: 2, line: 3 }]);
});

/** Fragments of captions, and of attacks on caption parsers. */
const piece = fc.constantFrom(
  "WEBVTT",
  "\n",
  "\n\n",
  "\r\n",
  "\r",
  "-->",
  " --> ",
  "00:01.000",
  "00:00:02,500",
  "1",
  "STYLE\n",
  "REGION\n",
  "NOTE ",
  "id:x",
  "line:0",
  "align:middle",
  "<",
  ">",
  "&",
  "&amp;",
  "<b>",
  "</b>",
  "<v Bob-->",
  "<c.a.b>",
  "<font>",
  "{\\an8}",
  "\0",
  "\ufeff",
  "\t",
  "text",
  "::cue{}",
  "url(",
  "é",
  "😀",
  "\u2028",
  "\u0007",
);
const soup = fc
  .array(fc.oneof({ weight: 8, arbitrary: piece }, { weight: 1, arbitrary: fc.string() }), { maxLength: 60 })
  .map((pieces) => pieces.join(""));
const cueSoup = fc
  .array(
    soup.map((text) => `00:01.000 --> 00:02.000 ${text}`),
    { maxLength: 5 },
  )
  .map((cues) => cues.join("\n\n"));

/** Requirements of WebVTT 4.1, checked without the parser. */
function checkFile(text: string): void {
  const blocks = text.replace(/\n$/, "").split("\n\n");
  assert.equal(blocks.shift(), "WEBVTT");
  let last = 0;
  for (const block of blocks) {
    const lines = block.split("\n");
    assert.ok(
      lines.every((line) => line !== ""),
      JSON.stringify(block),
    );
    const arrows = lines.flatMap((line, i) => (line.includes("-->") ? [i] : []));
    if (arrows.length === 0) {
      assert.match(lines[0]!, /^(STYLE|REGION)$/);
      continue;
    }
    assert.ok(arrows.length === 1 && arrows[0]! <= 1, JSON.stringify(block));
    const [, start, end] =
      /^(\d\d+:[0-5]\d:[0-5]\d\.\d{3}) --> (\d\d+:[0-5]\d:[0-5]\d\.\d{3})(?: [a-z]+:[^\s]+)*$/.exec(
        lines[arrows[0]!]!,
      ) ?? [];
    const ms = (time = "") => time.split(":").reduce((sum, part) => sum * 60 + Number(part) * 1000, 0);
    assert.ok(start !== undefined && ms(end) > ms(start), JSON.stringify(block));
    assert.ok(Math.round(ms(start)) >= last);
    last = Math.round(ms(start));
  }
}

test("any input is rejected with a reason, or yields WebVTT that is read back unchanged", () => {
  for (const arbitrary of [
    soup,
    soup.map((text) => `WEBVTT\n\n${text}`),
    cueSoup,
    cueSoup.map((text) => `WEBVTT\n${text}`),
  ]) {
    fc.assert(
      fc.property(arbitrary, (text) => {
        const reading = readCaptions(Buffer.from(text));
        if (!reading.ok) return assert.ok(reading.why.length < 200);
        const out = formatVtt(reading.captions);
        checkFile(out);
        const again = readCaptions(Buffer.from(out));
        assert.ok(again.ok && again.skipped === undefined);
        assert.deepEqual(again.captions, reading.captions);
        assert.equal(formatVtt(again.captions), out);
      }),
      { numRuns: 500 },
    );
  }
});

test("reads any bytes without an error", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readCaptions(bytes)));
});
