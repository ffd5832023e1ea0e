import assert from "node:assert/strict";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { createScope, isEmail, makeProject, serve, type TestServer } from "./dev-bench.ts";

// Workers commonly parse mail with postal-mime.
const WORKER = `
import PostalMime from "postal-mime";
export default {
  async email(message, env) {
    const bytes = await new Response(message.raw).arrayBuffer();
    const parsed = await PostalMime.parse(bytes);
    console.info(JSON.stringify({ size: bytes.byteLength, subject: parsed.subject, attachments: parsed.attachments.length, headers: [...message.headers].length }));
  },
};
`;

const HEAD = "From: Ada <ada@example.com>\r\nTo: inbox@example.org\r\nMessage-ID: <1@example.com>\r\n";
const MIB = 1024 * 1024;

interface Seen {
  size: number;
  subject?: string;
  attachments: number;
  headers: number;
}

describe("unusual, malformed or oversized messages", () => {
  const scope = createScope();
  let server: TestServer;
  let counter = 0;
  before(async () => {
    server = await serve(scope, await makeProject(scope, { "src/index.ts": WORKER }));
  });
  after(scope.close);

  const nextRecipient = () => `odd-${++counter}@example.org`;

  async function seenBy(to: string): Promise<Seen> {
    const event = await server.event((e) => isEmail(e) && e.to === to);
    assert.ok(isEmail(event));
    assert.equal(event.outcome, "ok", JSON.stringify(event.exceptions));
    return JSON.parse(String(event.logs.findLast(({ level }) => level === "info")!.message[0])) as Seen;
  }

  async function post(raw: string | Uint8Array) {
    const to = nextRecipient();
    return { to, ...(await server.post(raw, `from=ada@example.com&to=${to}`)) };
  }

  /**
   * Sends the lines over one SMTP connection, with the message between DATA and the final dot, and returns the last
   * reply.
   */
  async function smtp(raw: string | Uint8Array, to = nextRecipient()): Promise<{ to: string; reply: string }> {
    const socket = connect(server.smtp!.port, server.smtp!.host);
    const replies = createInterface({ input: socket })[Symbol.asyncIterator]();
    const reply = async () => {
      for (;;) {
        const { value, done } = await replies.next();
        if (done) throw new Error("the server hung up");
        if (/^\d{3} /.test(value)) return value;
      }
    };
    await reply();
    for (const line of ["EHLO test.example", "MAIL FROM:<ada@example.com>", `RCPT TO:<${to}>`, "DATA"]) {
      socket.write(`${line}\r\n`);
      await reply();
    }
    socket.write(raw);
    socket.write("\r\n.\r\n");
    const last = await reply();
    socket.end("QUIT\r\n");
    return { to, reply: last };
  }

  it("a message without a Message-ID is rejected by the HTTP endpoint for mail with the documented text, and accepted by SMTP", async () => {
    const raw = "From: ada@example.com\r\nTo: inbox@example.org\r\nSubject: bare\r\n\r\ntext\r\n";
    const { status, text } = await post(raw);
    assert.deepEqual(
      { status, text },
      { status: 400, text: "Email could not be parsed: invalid or no message id provided" },
    );
    const { to, reply } = await smtp(raw);
    assert.match(reply, /^250 /);
    assert.equal((await seenBy(to)).subject, "bare");
  });

  const odd: Record<string, { raw: string | Buffer; expect: Partial<Seen> }> = {
    "broken MIME": {
      raw: `${HEAD}Subject: broken\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nstill here\r\n--x\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!not base64`,
      expect: { subject: "broken" },
    },
    "an empty body": { raw: `${HEAD}Subject: empty\r\n\r\n`, expect: { subject: "empty" } },
    "headers only": { raw: `${HEAD}Subject: no end`, expect: { subject: "no end" } },
    NULs: { raw: `${HEAD}Subject: nul\r\n\r\na\0b\0\r\n`, expect: { subject: "nul" } },
    "an unknown charset": {
      raw: `${HEAD}Subject: =?x-klingon?B?aGVsbG8=?=\r\nContent-Type: text/plain; charset=x-klingon\r\n\r\nqapla'\r\n`,
      expect: {},
    },
    "raw 8-bit headers": {
      raw: Buffer.concat([Buffer.from(`${HEAD}Subject: caf`), Buffer.from([0xe9]), Buffer.from("\r\n\r\ntext\r\n")]),
      expect: {},
    },
    "a header line of 100 KB": {
      raw: `${HEAD}Subject: long\r\nX-Long: ${"y".repeat(100_000)}\r\n\r\ntext\r\n`,
      expect: { subject: "long" },
    },
  };
  for (const [name, { raw, expect }] of Object.entries(odd)) {
    it(`${name}: reaches the worker byte for byte`, async () => {
      const { to, status, text } = await post(raw);
      assert.equal(status, 200, text);
      const seen = await seenBy(to);
      assert.equal(seen.size, Buffer.byteLength(raw));
      for (const [field, value] of Object.entries(expect)) assert.equal(seen[field as keyof Seen], value);
    });
  }

  it("bare LF line endings are accepted by the HTTP endpoints for mail, but rejected by SMTP", async () => {
    const raw = `${HEAD}Subject: unix\r\n\r\none\ntwo\n`;
    const unix = raw.replaceAll("\r\n", "\n");
    const { to, status } = await post(unix);
    assert.equal(status, 200);
    assert.equal((await seenBy(to)).subject, "unix");
    assert.match((await smtp(raw)).reply, /^550 5\.6\.11 Bare LF/);
    const refused = await server.event((event) => event.event === "refused");
    assert.ok(refused.event === "refused" && refused.reason.startsWith("550 5.6.11 "));
    assert.match(
      (await smtp(`${HEAD}Subject: smuggle\r\n\r\nx\n.\nMAIL FROM:<evil@example.com>\r\n`)).reply,
      /^550 5\.6\.11 /,
    );
  });

  it("10,000 header fields are accepted, and more are rejected", async () => {
    const fields = (count: number) => HEAD + Array.from({ length: count }, (_, i) => `X-${i}: v\r\n`).join("");
    const { to, status, text } = await post(`${fields(9990)}\r\ntext\r\n`);
    assert.equal(status, 200, text);
    assert.ok((await seenBy(to)).headers > 9000);
    const refused = await post(`${fields(20_000)}\r\ntext\r\n`);
    assert.equal(refused.status, 400);
    assert.match(refused.text, /^Email could not be parsed: Error: the header section has more than \d+ fields/);
    assert.match((await smtp(`${fields(20_000)}\r\ntext`)).reply, /^554 5\.6\.0 /);
  });

  it("a header section of 2 MiB is rejected", async () => {
    const refused = await post(`${HEAD}X: ${"y".repeat(2 * MIB)}\r\n\r\ntext`);
    assert.equal(refused.status, 400);
    assert.match(refused.text, /header section is larger/);
  });

  it("25 MiB reach the worker, and 26 MiB are rejected with the documented text", async () => {
    const head = `${HEAD}Subject: large\r\n\r\n`;
    const line = `${"z".repeat(76)}\r\n`;
    const sized = (bytes: number) => Buffer.alloc(bytes, line).fill(head, 0, head.length);
    const { to, status, text } = await post(sized(25 * MIB));
    assert.equal(status, 200, text);
    assert.equal((await seenBy(to)).size, 25 * MIB);
    const refused = await post(sized(26 * MIB));
    assert.deepEqual(
      [refused.status, refused.text],
      [400, "Email message size is bigger than the production size limit of 25MiB."],
    );
    assert.match((await smtp(sized(26 * MIB))).reply, /^552 5\.3\.4 /);
  });

  it("an empty message or random bytes get a response without a crash", async () => {
    for (const raw of [
      "\r\n",
      "\0\0\0",
      "hello",
      Buffer.from([0xff, 0xfe, 0xfd]),
      ":\r\n:\r\n\r\n",
      `${"\r\n".repeat(1000)}x`,
    ]) {
      assert.equal((await post(raw)).status, 400);
      assert.match((await smtp(raw)).reply, /^[25]\d\d /);
    }
    assert.equal((await post(`${HEAD}\r\nstill alive`)).status, 200);
  });

  it("malformed envelopes get a response without a crash", async () => {
    const raw = `${HEAD}\r\ntext`;
    const statuses: number[] = [];
    for (const query of [
      "from=%00&to=%0d%0a",
      `from=${"a".repeat(10_000)}@x&to=b@c`,
      "from=a&to=b",
      "from=%F0%9F%92%8C@x.example&to=%E5%9C%B0@x.example",
      "from=%zz&to=%",
    ])
      statuses.push((await server.post(raw, query)).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200]);
  });
});
