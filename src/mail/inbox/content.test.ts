import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readMessageContent } from "../archive/index.ts";
import { textOfHtml } from "./text-of-html.ts";
import { messageHtmlPage } from "./html.ts";
import { linksOf } from "./links.ts";

const message = (...lines: string[]) => Buffer.from(lines.join("\r\n"));

test("decodes the header, charsets and transfer encodings", async () => {
  const content = await readMessageContent(
    message(
      "From: =?utf-8?Q?J=C3=BCrgen?= <j@example.com>",
      "To: Team: a@example.com, b@example.com;",
      "Subject: =?utf-8?B?R3LDvMOfZQ==?=",
      "Content-Type: text/plain; charset=iso-8859-1",
      "Content-Transfer-Encoding: quoted-printable",
      "",
      "Gr=FC=DFe",
      "",
    ),
  );
  assert.deepEqual(
    [content.from, content.to.map(({ address }) => address), content.subject, content.text?.trim()],
    [[{ name: "Jürgen", address: "j@example.com" }], ["a@example.com", "b@example.com"], "Grüße", "Grüße"],
  );
});

test("rejects a message that is nested too deeply", async () => {
  const raw = Array.from(
    { length: 60 },
    (_, level) => `Content-Type: multipart/mixed; boundary="b${level}"\r\n\r\n--b${level}\r\n`,
  ).join("");
  await assert.rejects(readMessageContent(Buffer.from(raw)));
});

test("parses any bytes as a message or throws an error", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 500 }), async (bytes) => {
      await readMessageContent(bytes).catch(() => {});
    }),
    { numRuns: 50 },
  );
});

test("extracts the visible text of HTML in linear time", () => {
  assert.equal(
    textOfHtml("<style>p{}</style><p>Fish &amp; chips</p><!-- <b>x</b> --><script>alert('<p>')</script>&#x1F642; end<"),
    "Fish & chips 🙂 end",
  );
  // In quadratic time, these would exceed the timeout of the test.
  assert.equal(textOfHtml("<style".repeat(1_000_000)), "");
  assert.equal(textOfHtml("<!--".repeat(1_000_000)), "");
});

test("puts the policy before the HTML of the message, and embeds its images", () => {
  const attached = { filename: undefined, disposition: "inline" as const, inline: true };
  const page = messageHtmlPage(
    {
      headers: [],
      from: [],
      to: [],
      cc: [],
      replyTo: [],
      subject: "",
      date: undefined,
      text: undefined,
      html: '<img src="cid:a%40b"><img src="cid:none"><img src="cid:script">',
      attachments: [
        { ...attached, type: "image/png", contentId: "a@b", content: Buffer.from("A") },
        { ...attached, type: "text/html", contentId: "script", content: Buffer.from("B") },
      ],
    },
    { remote: false },
  )!;
  assert.ok(page.indexOf("Content-Security-Policy") < page.indexOf("<img"));
  assert.match(page, /<img src="data:image\/png;base64,QQ=="><img src="cid:none"><img src="cid:script">$/);
});

test("lists the links of HTML and text once each", () => {
  assert.deepEqual(
    linksOf({
      html: `<a href="https://a.example/?x=1&amp;y=2">a</a><a href='mailto:x@y'>m</a><img src=https://b.example/i.png>`,
      text: "See https://a.example/?x=1&y=2, or (http://c.example/d).",
    }),
    [
      { url: "https://a.example/?x=1&y=2", kind: "link" },
      { url: "https://b.example/i.png", kind: "resource" },
      { url: "http://c.example/d", kind: "link" },
    ],
  );
});
