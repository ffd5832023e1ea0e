import assert from "node:assert/strict";
import { isAscii } from "node:buffer";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import { readHeader } from "../rfc5322/index.ts";
import { planSevenBit, sevenBitBody, sevenBitHeader } from "./index.ts";
import { MIME_LIMITS, createMimeScanner } from "./scanner.ts";
import { createBase64, createQuotedPrintable, type TransferEncoder } from "./transfer-encoding.ts";

function encodedBy(encoder: TransferEncoder, pieces: Uint8Array[]): string {
  return Buffer.concat([...pieces.map((piece) => encoder.push(piece)), encoder.end()]).toString("latin1");
}

/** Splits `bytes` at these offsets. */
function cut(bytes: Uint8Array, sizes: number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const end = at + (sizes.length === 0 ? bytes.length : sizes[turn % sizes.length]!);
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 });

const unquoted = (text: string) =>
  Buffer.from(
    text
      .replaceAll("=\r\n", "")
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );

test("quoted-printable decodes to the same bytes, in lines of at most 76 characters without trailing white space", () => {
  const octet = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0x0d, 0x0a, 0x20, 0x09, 0x3d));
  fc.assert(
    fc.property(fc.array(octet, { maxLength: 400 }), sizes, (octets, at) => {
      const text = encodedBy(createQuotedPrintable(), cut(Uint8Array.from(octets), at));
      assert.deepEqual(unquoted(text), Buffer.from(octets));
      for (const line of text.split("\r\n")) assert.match(line, /^[\t -~]{0,75}[!-~]$|^$/);
    }),
    { numRuns: 500 },
  );
});

test("quoted-printable preserves line breaks and printable characters", () => {
  assert.equal(
    encodedBy(createQuotedPrintable(), [Buffer.from("Grüße = 1 \r\n.\r\nlone\n and\r end\t")]),
    "Gr=C3=BC=C3=9Fe =3D 1=20\r\n.\r\nlone=0A and=0D end=09",
  );
  assert.equal(
    encodedBy(createQuotedPrintable(), [Buffer.from("x".repeat(100))]),
    `${"x".repeat(75)}=\r\n${"x".repeat(25)}`,
  );
});

test("base64 decodes to the same bytes, in lines of 76 characters", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), sizes, (octets, at) => {
      const text = encodedBy(createBase64(), cut(octets, at));
      assert.deepEqual(Buffer.from(text, "base64"), Buffer.from(octets));
      assert.equal(text.replaceAll("\r\n", ""), Buffer.from(octets).toString("base64"));
      for (const line of text.split("\r\n").slice(0, -1)) assert.equal(line.length, 76);
    }),
  );
});

/** Returns the header section and the events of a scanned message. */
function scan(text: Buffer, at: number[]): { entities: string[]; contents: string[]; again: Buffer } {
  const end = text.indexOf("\r\n\r\n") + 2;
  const [header, body] = [text.subarray(0, end), text.subarray(end)];
  const [entities, contents, all]: [string[], string[], Uint8Array[]] = [[], [], []];
  const scanner = createMimeScanner(header, {
    entity({ index, kind, type, isProtected, header: section, emptyLine }) {
      entities.push(`${kind} ${type}${isProtected ? " sealed" : ""}`);
      if (kind === "leaf") contents.push("");
      all.push(index === 0 ? header : section, emptyLine);
    },
    content(bytes) {
      contents[contents.length - 1] += Buffer.from(bytes).toString("latin1");
      all.push(Buffer.from(bytes));
    },
    structure: (bytes) => void all.push(Buffer.from(bytes)),
    contentEnd() {},
  });
  for (const piece of cut(body, at)) scanner.push(piece);
  scanner.end();
  return { entities, contents, again: Buffer.concat(all) };
}

const crlf = (text: string) => Buffer.from(text.replaceAll("\n", "\r\n"), "utf8");

const NESTED = crlf(`Subject: x
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="out er"

preamble
--out er
Content-Type: multipart/alternative; boundary=in

--in

Grüße
--inner is text
-
--
--in
Content-Type: text/html

<p>
--in--
--out er  
Content-Type: message/rfc822

Subject: inner
Content-Type: multipart/signed; boundary=s

--s
Content-Type: text/plain

signed
--s
Content-Type: application/pgp-signature

sig
--out er
Content-Type: image/png

\0

--out er--
epilogue
--out er
`);

test("parses nested parts, an attached message and an unclosed multipart", () => {
  const { entities, contents } = scan(NESTED, []);
  assert.deepEqual(entities, [
    "multipart multipart/mixed",
    "multipart multipart/alternative",
    "leaf text/plain",
    "leaf text/html",
    "message message/rfc822",
    "multipart multipart/signed",
    "leaf text/plain sealed",
    "leaf application/pgp-signature sealed",
    "leaf image/png",
  ]);
  assert.deepEqual(contents, [
    Buffer.from("Grüße\r\n--inner is text\r\n-\r\n--").toString("latin1"),
    "<p>",
    "signed",
    "sig",
    "\0\r\n",
  ]);
});

test("returns every byte regardless of chunk boundaries", () => {
  const line = fc.oneof(
    fc.constantFrom(
      "--a",
      "--a--",
      "--b",
      "--b--",
      "",
      "--",
      "-",
      "--a ",
      "x",
      "Content-Type: multipart/mixed; boundary=b",
      "Content-Type: message/rfc822",
      "Content-Type: text/plain; charset=utf-8",
    ),
    fc.string({ maxLength: 10 }),
  );
  const ends = fc.constantFrom("\r\n", "\r\n", "\r\n", "\n", "\r");
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ends), { maxLength: 40 }), sizes, (lines, at) => {
      const text = Buffer.from(
        `Content-Type: multipart/mixed; boundary=a\r\n\r\n${lines.map((one) => one.join("")).join("")}`,
      );
      const { again, ...found } = scan(text, at);
      assert.equal(again.toString("latin1"), text.toString("latin1"));
      assert.deepEqual(found, (({ entities, contents }) => ({ entities, contents }))(scan(text, [])));
    }),
    { numRuns: 1000 },
  );
  for (let size = 1; size < 60; size++) assert.deepEqual(scan(NESTED, [size]), scan(NESTED, []));
});

async function sevenBit(text: Buffer): Promise<Buffer | string> {
  const end = text.indexOf("\r\n\r\n") + 2;
  const [header, body] = [text.subarray(0, end), text.subarray(end)];
  const plan = await planSevenBit(header, cut(body, [7]));
  if ("why" in plan) return plan.why;
  const reading = readHeader(header);
  const pieces: Uint8Array[] = [sevenBitHeader(header, plan, reading.ok ? reading.fields : [])];
  for await (const piece of sevenBitBody(header, cut(body, [11]), plan)) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("encodes only the leaf parts with 8-bit data and keeps all others unchanged", async () => {
  const image = Buffer.from(Array.from({ length: 200 }, (_, at) => (at === 10 || at === 13 ? 65 : at + 56))).toString(
    "latin1",
  );
  const parts = (text: string, textEncoding: string, binary: string, binaryEncoding: string, outer: string) =>
    `Subject: x\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: ${outer}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\npre\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\ncontent-transfer-encoding: ${textEncoding}\r\nX-Mark: 1\r\n\r\n${text}\r\n` +
    `--b\r\nContent-Type: text/plain\r\n\r\nplain =20\r\n--b\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: ${binaryEncoding}\r\n\r\n${binary}\r\n--b--\r\n`;
  const before = parts(Buffer.from("Grüße = \r\n").toString("latin1"), "8bit", image, "8bit", "8bit");
  const wanted = parts(
    "Gr=C3=BC=C3=9Fe =3D=20\r\n",
    "quoted-printable",
    Buffer.from(image, "latin1")
      .toString("base64")
      .replace(/.{76}(?=.)/g, "$&\r\n"),
    "base64",
    "7bit",
  ).replace("content-transfer-encoding: quoted", "Content-Transfer-Encoding: quoted");
  assert.equal((await sevenBit(Buffer.from(before, "latin1"))).toString("latin1"), wanted);
  const nested = (await sevenBit(NESTED)).toString("latin1");
  assert.equal(
    nested,
    NESTED.toString("latin1")
      .replace("--in\r\n\r\nGr", "--in\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGr")
      .replace(Buffer.from("üß").toString("latin1"), "=C3=BC=C3=9F"),
  );
});

test("converts a plain 8-bit text message to MIME", async () => {
  assert.equal(
    (await sevenBit(crlf("Subject: x\n\nGrüße\n"))).toString(),
    "Subject: x\r\nContent-Transfer-Encoding: quoted-printable\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGr=C3=BC=C3=9Fe\r\n",
  );
  assert.match(
    (await sevenBit(Buffer.from("Subject: x\r\n\r\nGr\xfc\xdfe\r\n", "latin1"))).toString(),
    /Content-Type: text\/plain; charset=unknown-8bit\r\n\r\nGr=FC=DFe\r\n$/,
  );
  assert.match(
    (await sevenBit(crlf('MIME-Version: 1.0\nContent-Type: application/json\n\n"ü"\n'))).toString(),
    /Content-Transfer-Encoding: base64\r\n\r\nIsO8Ig0K\r\n$/,
  );
});

test("rejects parts that must not be encoded", async () => {
  const part = (header: string, content = "ü") =>
    crlf(`Content-Type: multipart/mixed; boundary=b\n\n--b\n${header}\n\n${content}\n--b--\n`);
  const refused: [Buffer, RegExp][] = [
    [part("Content-Type: message/delivery-status"), /message\/delivery-status contains 8-bit data/],
    [part("Content-Type: message/partial; id=1"), /message\/partial/],
    [part('Content-Type: text/plain; name="ü"', "x"), /header section/],
    [part("Content-Type: message/rfc822", "Subject: ü\n\nx"), /header section/],
    [part("Content-Type: text/plain\nContent-Transfer-Encoding: quoted-printable"), /encoding is quoted-printable/],
    [part("Content-Type: multipart/signed; boundary=s", "--s\n\nü\n--s--"), /signed or encrypted/],
    [
      part(
        "Content-Type: multipart/signed; boundary=s",
        "--s\nContent-Type: multipart/mixed; boundary=t\n\n--t\n\nü\n--t--\n--s--",
      ),
      /signed or encrypted/,
    ],
    [
      part(
        "Content-Type: multipart/signed; boundary=s",
        "--s\nContent-Type: multipart/mixed; boundary=t\n\npreämble\n--t\n\nx\n--t--\n--s--",
      ),
      /signed or encrypted/,
    ],
    [
      crlf(`Content-Type: multipart/mixed; boundary="${"b".repeat(201)}"\n\n--${"b".repeat(201)}\n\nü\n`),
      /no readable boundary/,
    ],
    [crlf("Content-Type: multipart/mixed; boundary*=us-ascii''b\n\n--b\n\nü\n--b--\n"), /no readable boundary/],
    [
      crlf(`Content-Type: multipart/mixed; x="; boundary=a"; boundary=b\n\n--b\n\nü\n--b--\n`),
      /contains no part: its boundary does not occur/,
    ],
    [
      part("Content-Type: multipart/mixed; boundary=a", "nothing but this: ü"),
      /contains no part: its boundary does not occur/,
    ],
    [crlf(`Content-Type: multipart/mixed; boundary=b\n\n${"--b\n\nü\n".repeat(1001)}--b--\n`), /more than 1000 parts/],
    [crlf(`Content-Type: message/rfc822\n\n${"Content-Type: message/rfc822\n\n".repeat(30)}\nü\n`), /deeper than 20/],
  ];
  for (const [text, why] of refused) assert.match((await sevenBit(text)).toString(), why);
  assert.match(
    (await sevenBit(part("Content-Type: message/global", "Subject: ü\n\nx"))).toString(),
    /Content-Transfer-Encoding: base64\r\n\r\nU3ViamVjdDogw7wNCg0KeA==\r\n--b--/,
  );
  assert.deepEqual(
    await sevenBit(part("Content-Type: message/delivery-status", "x")),
    part("Content-Type: message/delivery-status", "x"),
  );
  assert.deepEqual(MIME_LIMITS.entities, 1000);
});

test("does not change a signed part", async () => {
  const signed = "Content-Type: text/plain\nContent-Transfer-Encoding: 8bit\n\nASCII only\n";
  const message = `Content-Type: multipart/mixed; boundary=b\n\npreämble\n--b\nContent-Type: multipart/signed; boundary=s\n\n--s\n${signed}--s\nContent-Type: application/pgp-signature\n\nx\n--s--\n--b\n\nü\n--b--\n`;
  const text = (await sevenBit(crlf(message))).toString("latin1");
  assert.ok(text.includes(signed.replaceAll("\n", "\r\n")), text);
  assert.ok(text.includes("pre??mble") && text.includes("=C3=BC"), text);
});

const PYTHON = "/usr/bin/python3";

/** Type and decoded content of every leaf, parsed by Python. */
const LEAVES = `
import sys, email, email.policy, json
message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.compat32)
print(json.dumps([[part.get_content_type(), part.get_payload(decode=True).hex()] for part in message.walk() if not part.is_multipart()]))
`;

test(
  "Python's parser finds the same parts and contents before and after the conversion",
  { skip: !existsSync(PYTHON) && "there is no python3" },
  async () => {
    const leaves = (text: Buffer) =>
      JSON.parse(spawnSync(PYTHON, ["-c", LEAVES], { input: text, encoding: "utf8", timeout: 60_000 }).stdout) as [
        string,
        string,
      ][];
    const inner =
      "Subject: inner\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\nattached ü \n";
    const text = crlf(
      `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: 8bit\n\n--b\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n<p>${"Grüße, ".repeat(40)}\n\n--b\nContent-Type: application/octet-stream\n\n${"äöü\n".repeat(50)}\n--b\nContent-Type: message/rfc822\nContent-Transfer-Encoding: 8bit\n\n${inner}\n--b--\n`,
    );
    const encoded = (await sevenBit(text)) as Buffer;
    assert.ok(isAscii(encoded));
    assert.ok(
      encoded
        .toString()
        .split("\r\n")
        .every((line) => line.length <= 78),
    );
    assert.equal(leaves(text).length, 3);
    assert.deepEqual(leaves(encoded), leaves(text));
  },
);
