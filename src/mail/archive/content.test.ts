import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessageContent } from "./content.ts";

const RAW = [
  "From: =?utf-8?Q?J=C3=BCrgen?= <j@example.com>",
  "To: hello@example.net",
  "Subject: =?utf-8?B?R3LDvMOfZQ==?=",
  "X-Folded: one",
  " two",
  'Content-Type: multipart/mixed; boundary="outer"',
  "",
  "--outer",
  'Content-Type: multipart/alternative; boundary="inner"',
  "",
  "--inner",
  "Content-Type: text/plain; charset=iso-8859-1",
  "Content-Transfer-Encoding: quoted-printable",
  "",
  "Gr=FC=DFe",
  "--inner",
  "Content-Type: text/html; charset=utf-8",
  "",
  "<p>Hello <img src=cid:logo></p>",
  "--inner--",
  "--outer",
  "Content-Type: image/png",
  "Content-ID: <logo>",
  "Content-Disposition: inline; filename=logo.png",
  "Content-Transfer-Encoding: base64",
  "",
  "AAEC",
  "--outer--",
  "",
].join("\r\n");

test("reads headers, text, HTML and attachments", async () => {
  const { headers, text, html, attachments } = await readMessageContent(Buffer.from(RAW));
  assert.deepEqual(headers.slice(0, 4), [
    { name: "From", value: "Jürgen <j@example.com>" },
    { name: "To", value: "hello@example.net" },
    { name: "Subject", value: "Grüße" },
    { name: "X-Folded", value: "one two" },
  ]);
  assert.equal(text?.trim(), "Grüße");
  assert.match(html!, /cid:logo/);
  assert.deepEqual(attachments, [
    {
      filename: "logo.png",
      disposition: "inline",
      type: "image/png",
      inline: true,
      contentId: "logo",
      content: new Uint8Array([0, 1, 2]),
    },
  ]);
});

test("rejects a message that is nested too deeply", async () => {
  const depth = 60;
  const raw = Array.from(
    { length: depth },
    (_, level) => `Content-Type: multipart/mixed; boundary="b${level}"\r\n\r\n--b${level}\r\n`,
  ).join("");
  await assert.rejects(readMessageContent(Buffer.from(raw)));
});
