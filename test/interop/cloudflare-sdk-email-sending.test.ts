import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startSink } from "../../src/mail/outbound/outbound.testing.ts";
import { all, BadRequestError, failsWith, NotFoundError, PermissionDeniedError, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

/** Replies that the next hop sends for each recipient; if empty, it accepts every recipient. */
const answers = new Map<string, string>();
// Started here so that it is stopped with its enclosing scope.
const sink = await startSink({ rcpt: (to) => answers.get(to) });

interface Suppression {
  id: string;
  email: string;
  reason: string;
  note: string | null;
  expires_at: string | null;
  scope: object;
}

describe("cloudflare SDK: Email Sending and Email Auth, each step builds on the one before", () => {
  const scope = createScope();
  let platform: Platform;
  let client: ReturnType<typeof sdk>;
  let zone_id: string;
  let account_id: string;
  before(async () => {
    platform = await startPlatform(scope, {
      REELPOST_OUTBOUND_DELIVER: "smart_host",
      REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${sink.port}`,
    });
    account_id = platform.account;
    client = sdk(platform, { apiToken: platform.token });
    ({ id: zone_id } = await client.zones.create({ account: { id: account_id }, name: "example.com" }));
  });
  after(scope.close);

  it("subdomains are created, listed, read, updated and deleted, with their records", async () => {
    const apex = await client.emailSending.subdomains.create({ zone_id, name: "example.com" });
    const made = await client.emailSending.subdomains.create({ zone_id, name: "news.example.com" });
    assert.deepEqual(
      [made.name, made.enabled, made.preview_enabled, made.drop_suppressed_recipients, made.return_path_domain],
      ["news.example.com", true, true, false, `${made.dkim_selector}.news.example.com`],
    );
    assert.deepEqual((await all(client.emailSending.subdomains.list({ zone_id }))).map(({ name }) => name).sort(), [
      "example.com",
      "news.example.com",
    ]);
    assert.deepEqual(await client.emailSending.subdomains.get(made.tag, { zone_id }), made);
    const edited = await client.emailSending.subdomains.edit(apex.tag, { zone_id, preview_enabled: false });
    assert.deepEqual([edited.preview_enabled, edited.drop_suppressed_recipients], [false, false]);
    assert.equal(
      (await client.emailSending.subdomains.edit(apex.tag, { zone_id, preview_enabled: true })).preview_enabled,
      true,
    );
    const records = await all<{ type: string; name: string; content: string; priority?: number }>(
      client.emailSending.subdomains.dns.get(made.tag, { zone_id }),
    );
    assert.deepEqual(new Set(records.map(({ type }) => type)), new Set(["MX", "TXT"]));
    assert.ok(
      records.some(
        ({ name, content }) =>
          name === `${made.dkim_selector}._domainkey.news.example.com` && content.includes("v=DKIM1"),
      ),
    );
    const { success } = await client.emailSending.subdomains.delete(made.tag, { zone_id });
    assert.equal(success, true);
    await assert.rejects(client.emailSending.subdomains.get(made.tag, { zone_id }), NotFoundError);
    await assert.rejects(client.emailSending.subdomains.create({ zone_id, name: "example.org" }), BadRequestError);
  });

  it("send sends a message with all its fields and returns the result for each recipient", async () => {
    answers.set("gone@example.net", "550 5.1.1 no such user").set("later@example.net", "451 4.7.1 later");
    const sent = await client.emailSending.send({
      account_id,
      from: { address: "news@example.com", name: "The News" },
      to: ["ada@example.net", { address: "bob@example.net", name: "Bob" }],
      cc: "gone@example.net",
      bcc: { address: "later@example.net" },
      reply_to: "desk@example.com",
      subject: "News",
      text: "Hi",
      html: '<p>Hi <img src="cid:dot"></p>',
      headers: { "X-Edition": "7", "List-Unsubscribe": "<https://example.com/u>" },
      attachments: [
        {
          content: Buffer.from("a,b\n").toString("base64"),
          filename: "table.csv",
          type: "text/csv",
          disposition: "attachment",
        },
        {
          content: Buffer.from("GIF89a").toString("base64"),
          filename: "dot.gif",
          type: "image/gif",
          disposition: "inline",
          content_id: "dot",
        },
      ],
    });
    assert.match(sent.message_id, /^<\S+@example\.com>$/);
    assert.deepEqual(
      [sent.delivered, sent.queued, sent.permanent_bounces, sent.suppressed_recipients],
      [["ada@example.net", "bob@example.net"], ["later@example.net"], ["gone@example.net"], []],
    );
    const raw = sink.mails.splice(0)[0]!.raw.replaceAll(/\r\n[ \t]+/g, " ");
    for (const field of [
      /^From: "?The News"? <news@example\.com>\r$/m,
      /^To: .*Bob.*<bob@example\.net>\r$/m,
      /^X-Edition: 7\r$/m,
      /^Content-ID: <dot>\r$/im,
      /^DKIM-Signature: .*d=example\.com/m,
    ])
      assert.match(raw, field);
    assert.ok(raw.includes(`Message-ID: ${sent.message_id}`));

    const kept = await fetch(
      `${platform.api}/accounts/${account_id}/email/sending/messages/${encodeURIComponent(sent.message_id)}`,
      { headers: { authorization: `Bearer ${platform.token}` } },
    );
    assert.match(await kept.text(), /^Subject: News\r$/m);
  });

  it("sendRaw sends a raw message", async () => {
    const sent = await client.emailSending.sendRaw({
      account_id,
      from: "news@example.com",
      recipients: ["ada@example.net"],
      mime_message: "From: news@example.com\nTo: all@example.net\nSubject: Raw\n\nHi\n",
    });
    assert.deepEqual(sent.delivered, ["ada@example.net"]);
    const [mail] = sink.mails.splice(0);
    assert.deepEqual(mail!.to, ["ada@example.net"]);
    assert.match(mail!.raw, /^To: all@example\.net\r$/m);
  });

  it("send and sendRaw reject with the documented codes", async () => {
    const message = { account_id, from: "news@example.com", to: "ada@example.net", subject: "x", text: "x" };
    await assert.rejects(client.emailSending.send({ ...message, text: undefined }), failsWith(400, 10001));
    await assert.rejects(
      client.emailSending.send({ ...message, headers: { "Message-ID": "<1@example.com>" } }),
      failsWith(400, 10001),
    );
    await assert.rejects(
      client.emailSending.send({ ...message, to: Array.from({ length: 51 }, (_, i) => `u${i}@example.net`) }),
      failsWith(400, 10001),
    );
    await assert.rejects(client.emailSending.send({ ...message, from: "news@example.org" }), failsWith(403, 10204));
    await assert.rejects(
      client.emailSending.send({ ...message, text: "x".repeat(6 * 1024 * 1024) }),
      failsWith(400, 10200),
    );
    await assert.rejects(
      client.emailSending.sendRaw({
        account_id,
        from: "news@example.com",
        recipients: ["ada@example.net"],
        mime_message: "",
      }),
      failsWith(400, 10201),
    );
    await assert.rejects(
      client.emailSending.sendRaw({
        account_id,
        from: "news@example.com",
        recipients: ["ada@example.net"],
        mime_message: "Subject: nobody\n\nHi",
      }),
      failsWith(400, 10202),
    );
    await assert.rejects(
      sdk(platform, { apiToken: "wrong" }).emailSending.send(message),
      (error: { status: number }) => error.status === 401,
    );
    assert.equal(sink.mails.length, 0);
  });

  it("suppressions are created, listed by cursor, read, updated, created by the hundred and deleted, and block sending", async () => {
    const { suppressions } = client.emailSending;
    const made = await suppressions.create({ account_id, email: "Off@Example.net", note: "asked us to" });
    assert.deepEqual(made.scope, { type: "account" });
    assert.equal((await suppressions.create({ account_id, email: "off@example.net" })).id, made.id);
    const read: Suppression = await suppressions.get(made.id, { account_id });
    assert.deepEqual(
      [read.email.toLowerCase(), read.reason, read.note, read.expires_at],
      ["off@example.net", "manual", "asked us to", null],
    );
    const until = new Date(Date.now() + 86_400_000).toISOString();
    assert.equal((await suppressions.edit(made.id, { account_id, expires_at: until })).expires_at, until);
    const { total, processed, invalid } = await suppressions.import({
      account_id,
      items: [
        ...Array.from({ length: 120 }, (_, i) => ({ email: `u${i}@example.net` })),
        { email: "nobody" },
        { email: "one@example.net", scope: { type: "sending_domain", value: "example.com" } },
      ],
    });
    assert.deepEqual([total, processed, invalid], [122, 121, 1]);
    const listed = await all<Suppression>(suppressions.list({ account_id, per_page: 50 }));
    assert.equal(listed.length, 123);
    assert.deepEqual(
      listed.filter(({ reason }) => reason !== "manual").map(({ email, reason }) => [email, reason]),
      [["gone@example.net", "hard_bounce"]],
      "the address that the receiving server rejected",
    );
    assert.deepEqual(
      (await all<Suppression>(suppressions.list({ account_id, search: "off@" }))).map(({ id }) => id),
      [made.id],
    );
    assert.deepEqual(
      (await all<Suppression>(suppressions.list({ account_id, scope_type: "sending_domain" }))).map(
        ({ email }) => email,
      ),
      ["one@example.net"],
    );

    const message = {
      account_id,
      from: "news@example.com",
      to: ["off@example.net", "ada@example.net"],
      subject: "x",
      text: "x",
    };
    await assert.rejects(client.emailSending.send(message), failsWith(400, 10202));
    const [{ tag }] = (await all<{ tag: string }>(client.emailSending.subdomains.list({ zone_id }))) as [
      { tag: string },
    ];
    await client.emailSending.subdomains.edit(tag, { zone_id, drop_suppressed_recipients: true });
    const sent = await client.emailSending.send(message);
    assert.deepEqual([sent.delivered, sent.suppressed_recipients], [["ada@example.net"], ["off@example.net"]]);
    assert.equal((await suppressions.delete(made.id, { account_id })).id, made.id);
    await assert.rejects(suppressions.get(made.id, { account_id }), NotFoundError);
    assert.deepEqual((await client.emailSending.send(message)).delivered, ["off@example.net", "ada@example.net"]);
  });

  it("a read-only token cannot send", async () => {
    const groups = await all<{ id: string; name: string }>(client.user.tokens.permissionGroups.list());
    const { id } = groups.find(({ name }) => name === "Email Sending Read")!;
    const { value } = await client.user.tokens.create({
      name: "reader",
      policies: [
        {
          effect: "allow",
          resources: { [`com.cloudflare.api.account.${account_id}`]: "*" },
          permission_groups: [{ id }],
        },
      ],
    });
    const reader = sdk(platform, { apiToken: value });
    assert.ok(Array.isArray(await all(reader.emailSending.suppressions.list({ account_id, per_page: 1000 }))));
    await assert.rejects(
      reader.emailSending.send({
        account_id,
        from: "news@example.com",
        to: "ada@example.net",
        subject: "x",
        text: "x",
      }),
      failsWith(403, 10102),
    );
    await assert.rejects(
      reader.emailSending.suppressions.create({ account_id, email: "x@example.net" }),
      PermissionDeniedError,
    );
  });

  it("DMARC reports are enabled and disabled, and an SPF record is parsed", async () => {
    const { dmarcReports, spf } = client.emailAuth;
    const before = await dmarcReports.get({ zone_id });
    assert.deepEqual([before.enabled, before.zone_id, before.rua_prefix.length], [false, zone_id, 32]);
    const enabled = await dmarcReports.edit({ zone_id, enabled: true, skip_wizard: true });
    assert.deepEqual([enabled.enabled, enabled.skip_wizard, enabled.status], [true, true, undefined]);
    assert.match(enabled.records.dmarc_records[0].content, new RegExp(`rua=mailto:${enabled.rua_prefix}@`));
    assert.equal((await dmarcReports.edit({ zone_id, enabled: false })).enabled, false);
    await assert.rejects(dmarcReports.edit({ zone_id }), BadRequestError);

    const record = await client.dns.records.create({
      zone_id,
      type: "TXT",
      name: "mail.example.com",
      content: '"v=spf1 ip4:192.0.2.0/24 a:example.com -all"',
      ttl: 300,
    });
    const found = await spf.inspect.get({ zone_id, id: record.id });
    assert.deepEqual(
      [found.domain, found.record, found.total_lookups],
      ["mail.example.com", "v=spf1 ip4:192.0.2.0/24 a:example.com -all", 1],
    );
    assert.deepEqual(
      found.components.map(({ type, result }: { type: string; result: string }) => [type, result]),
      [
        ["IP4", "pass"],
        ["A", "pass"],
        ["ALL", "fail"],
      ],
    );
    await assert.rejects(spf.inspect.get({ zone_id, id: "0".repeat(32) }), NotFoundError);
  });
});
