import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createTransport } from "nodemailer";
import { systemClock } from "../../src/kernel/index.ts";
import { createAuthenticator } from "../../src/mail/authenticate/index.ts";
import { startSink, type SinkMail } from "../../src/mail/outbound/outbound.testing.ts";
import type { PlatformServer } from "../../src/server/index.ts";
import { untilDelivered } from "../support/mail-world.ts";
import { createScope } from "./dev-bench.ts";
import { createApi, sendMail, servePlatform, TOKEN, type Api } from "./serve-client.ts";

/**
 * The path of a message through the whole platform: received over SMTP, authenticated, delivered by a rule to a worker
 * or an address, signed, and sent over SMTP; and the path of its bounce.
 */

const WORKER = `
  export default {
    async email(message) {
      if (message.headers.get("subject") === "refuse") return message.setReject("not this one");
      const raw = "From: desk@routed.example\\r\\nTo: " + message.from + "\\r\\nMessage-ID: <r@routed.example>\\r\\nIn-Reply-To: " + message.headers.get("message-id") + "\\r\\nSubject: Re\\r\\n\\r\\nthanks\\r\\n";
      const { EmailMessage } = await import("cloudflare:email");
      await message.reply(new EmailMessage("desk@routed.example", message.from, raw));
    },
  };`;

const SENDER_DOMAIN = "sender.example";
const FORGED = "forged.example";

let gone = false;
// Started here so that it is stopped with its enclosing scope.
const sink = await startSink({
  rcpt: (to) => (gone && to === "gone@there.example" ? "550 5.1.1 no such user" : undefined),
});

describe("mail through the platform", () => {
  const scope = createScope();
  let server: PlatformServer;
  let api: Api;
  let zone: { id: string };

  before(async () => {
    server = await servePlatform(scope, {
      env: {
        REELPOST_OUTBOUND_DELIVER: "smart_host",
        REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${sink.port}`,
        REELPOST_EMAIL_FORWARD_DOMAIN: "fwd.example",
        REELPOST_EMAIL_SPF_INCLUDE: "_spf.fwd.example",
        REELPOST_SMTP_NAME: "mx.fwd.example",
        REELPOST_AUTHENTICATION_TRUSTED: "192.0.2.1",
      },
    });
    api = createApi(server, TOKEN);
    const newZone = (name: string) => api.ok("post", "/zones", { body: { name, account: { id: api.account } } });
    // The senders' domains are also zones on this server, so their lookups are resolved from its own tables.
    for (const [domain, spf] of [
      [SENDER_DOMAIN, "v=spf1 ip4:127.0.0.1 -all"],
      [FORGED, "v=spf1 -all"],
    ] as const) {
      const { id } = await newZone(domain);
      for (const [name, content] of [
        [domain, spf],
        [`_dmarc.${domain}`, "v=DMARC1; p=reject"],
      ])
        await api.ok("post", `/zones/${id}/dns_records`, {
          body: { type: "TXT", name, content: `"${content}"`, ttl: 300 },
        });
    }
    zone = await newZone("routed.example");
    await api.ok("post", `/zones/${zone.id}/email/routing/enable`, { body: {} });
    for (const email of ["bob@there.example", "gone@there.example", "550@there.example"]) {
      const address = await api.ok("post", "email/routing/addresses", { body: { email } });
      await api.ok("patch", `email/routing/addresses/${address.id}`, { body: { status: "verified" } });
    }
    await api.deploy("desk", WORKER);
    const rule = (local: string, type: string, value: string) =>
      api.ok("post", `/zones/${zone.id}/email/routing/rules`, {
        body: {
          matchers: [{ type: "literal", field: "to", value: `${local}@routed.example` }],
          actions: [{ type, value: [value] }],
          enabled: true,
        },
      });
    await rule("info", "forward", "bob@there.example");
    await rule("gone", "forward", "gone@there.example");
    await rule("code", "forward", "550@there.example");
    await rule("desk", "worker", "desk");
    await untilDelivered(api);
    sink.mails.length = 0;
    gone = true;
  });
  after(() => scope.close());

  const send = (to: string | string[], subject?: string) =>
    sendMail(server, to, { from: `ada@${SENDER_DOMAIN}`, ...(subject !== undefined && { subject }) });
  const got = async (matches: (mail: SinkMail) => boolean): Promise<SinkMail> => {
    for (
      const start = performance.now();
      performance.now() - start < 60_000;
      await new Promise((resolve) => void setTimeout(resolve, 10))
    ) {
      const found = sink.mails.find(matches);
      if (found) return found;
    }
    throw new Error(`timed out: ${JSON.stringify(sink.mails.map(({ from, to }) => ({ from, to })))}`);
  };

  /** Authenticates the message like a server that finds the platform's keys in the zone. */
  async function authenticate({ raw, from }: SinkMail) {
    const records: { name: string; type: string; content: string }[] = await api.ok(
      "get",
      `/zones/${zone.id}/dns_records?per_page=100`,
    );
    const authenticator = createAuthenticator({
      authservId: "mx.there.example",
      clock: systemClock,
      async resolver(name, type) {
        const found = records
          .filter((record) => record.type === type && record.name === name)
          .map(({ content }) => [content.replace(/"\s*"|"/g, "")]);
        if (found.length === 0) throw Object.assign(new Error(name), { code: "ENOTFOUND" });
        return found;
      },
    });
    const bytes = Buffer.from(raw, "latin1");
    try {
      return await authenticator.check(
        { from, helo: "x", ip: "127.0.0.1" },
        {
          id: "1",
          size: bytes.length,
          headerBlock: bytes.subarray(0, bytes.indexOf("\r\n\r\n") + 2),
          open: (start = 0) => bytes.subarray(start),
          discard: async () => {},
        },
      );
    } finally {
      await authenticator.close();
    }
  }

  let forwarded: SinkMail;

  test("a forwarded message has an ARC seal, a DKIM signature and a return path to the platform", async () => {
    assert.equal((await send("info@routed.example", "one")).code, 250);
    forwarded = await got(({ to }) => to[0] === "bob@there.example");
    assert.match(forwarded.from, /^SRS0=.+=ada@fwd\.example$/);
    const names = forwarded.raw
      .slice(0, forwarded.raw.indexOf("\r\n\r\n"))
      .split(/\r\n(?![ \t])/)
      .map((field) => field.split(":")[0]);
    assert.deepEqual(names.slice(0, 8), [
      "ARC-Seal",
      "ARC-Message-Signature",
      "ARC-Authentication-Results",
      "DKIM-Signature",
      "DKIM-Signature",
      "X-Reelpost-Loop",
      "X-Forwarded-To",
      "X-Forwarded-For",
    ]);
    assert.match(forwarded.raw, /\r\nAuthentication-Results: mx\.fwd\.example;\r\n\tspf=pass/);
    const { dkim } = await authenticate(forwarded);
    assert.deepEqual(
      dkim.map(({ domain, result }) => `${domain} ${result}`),
      ["fwd.example neutral", "routed.example pass"],
    );
  });

  test("an address whose local part is a reply code receives mail: only the development server simulates failures", async () => {
    assert.equal((await send("code@routed.example")).code, 250);
    await got(({ to }) => to[0] === "550@there.example");
  });

  test("a bounce to the return path reaches the original sender, and other mail to it is rejected", async () => {
    const transport = createTransport({
      host: server.smtp!.host,
      port: server.smtp!.port,
      secure: false,
      ignoreTLS: true,
    });
    const report = [
      "From: MAILER-DAEMON@there.example",
      `To: ${forwarded.from}`,
      "Subject: Undelivered",
      "MIME-Version: 1.0",
      "Content-Type: multipart/report; report-type=delivery-status; boundary=b",
      "",
      "--b",
      "Content-Type: text/plain",
      "",
      "no",
      "--b",
      "Content-Type: message/delivery-status",
      "",
      "Reporting-MTA: dns; mx.there.example",
      "",
      "Final-Recipient: rfc822; bob@there.example",
      "Action: failed",
      "Status: 5.1.1",
      "",
      "--b--",
      "",
    ];
    const bounce = (from: string, raw = report.join("\r\n")) =>
      transport.sendMail({ envelope: { from, to: [forwarded.from] }, raw });
    await assert.rejects(bounce("", "From: x@there.example\r\nSubject: not a report\r\n\r\nHello\r\n"), {
      responseCode: 550,
    });
    await bounce("");
    const back = await got(({ to }) => to[0] === `ada@${SENDER_DOMAIN}`);
    assert.equal(back.from, "");
    await assert.rejects(bounce(`ada@${SENDER_DOMAIN}`), { responseCode: 550 });
    transport.close();
  });

  test("a worker's reply is signed with the domain of the recipient address", async () => {
    assert.equal((await send("desk@routed.example", "two")).code, 250);
    const reply = await got(({ from }) => from === "desk@routed.example");
    assert.deepEqual(reply.to, [`ada@${SENDER_DOMAIN}`]);
    assert.deepEqual(
      (await authenticate(reply)).dkim.map(({ domain, result }) => `${domain} ${result}`),
      ["routed.example pass"],
    );
  });

  test("rejects an unknown recipient before the message is sent, and a forged sender after it", async () => {
    assert.match((await send("nobody@routed.example")).text, /^550 5\.1\.1 /);
    assert.match((await sendMail(server, "info@routed.example", { from: `x@${FORGED}` })).text, /^550 5\.7\./);
  });

  test("a message that one recipient accepts and another rejects is accepted, and the rejection bounces to the sender", async () => {
    assert.equal((await send("gone@routed.example")).code, 550);
    assert.equal((await send(["info@routed.example", "desk@routed.example"], "refuse")).code, 250);
    const report = await got(
      ({ raw, to }) =>
        to[0] === `ada@${SENDER_DOMAIN}` &&
        /report-type="?delivery-status/i.test(raw) &&
        raw.includes("desk@routed.example"),
    );
    assert.match(report.raw, /Final-Recipient: rfc822; ?desk@routed\.example/i);
    assert.match(report.raw, /not this one/);
    assert.equal(report.from, "");
  });
});
