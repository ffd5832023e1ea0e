import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startSink } from "../../src/mail/outbound/outbound.testing.ts";
import type { WranglerResult, Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

/** Replies that the next hop sends for each recipient; if empty, it accepts every recipient. */
const answers = new Map<string, string>();
// Started here so that it is stopped with its enclosing scope.
const sink = await startSink({ rcpt: (to) => answers.get(to) });

describe("wrangler email sending, each step builds on the one before", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  let zone: string;
  before(async () => {
    platform = await startPlatform(scope, {
      REELPOST_OUTBOUND_DELIVER: "smart_host",
      REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${sink.port}`,
    });
    ({ id: zone } = await platform.ask<{ id: string }>("/zones", {
      method: "POST",
      body: JSON.stringify({ name: "example.com", account: { id: platform.account } }),
    }));
    wrangler = await platform.wrangler({
      "table.csv": "a,b\n1,2\n",
      "letter.eml":
        "From: news@example.com\r\nTo: ada@example.net\r\nSubject: Written =?utf-8?q?before?=\r\nMessage-ID: <1@example.com>\r\n\r\nHi\r\n",
    });
  });
  after(scope.close);

  const run = async (...args: string[]): Promise<string> => (await wrangler.run(["email", "sending", ...args])).text;
  const attempt = (...args: string[]): Promise<WranglerResult> => wrangler.attempt(["email", "sending", ...args]);

  it("enable, list, settings and dns get work on a domain and a subdomain", async () => {
    const [nothing, unknown] = await Promise.all([run("list"), attempt("settings", "example.com")]);
    assert.match(nothing, /No sending subdomains found in this account/);
    assert.match(unknown.text, /No sending subdomain/);
    assert.match(await run("enable", "example.com"), /Email Sending enabled for example\.com \(enabled: true\)/);
    assert.match(
      await run("enable", "news.example.com"),
      /Email Sending enabled for news\.example\.com \(enabled: true\)/,
    );
    const [all, below, byId, settings, dns] = await Promise.all([
      run("list"),
      run("list", "news.example.com"),
      run("list", "--zone-id", zone),
      run("settings", "news.example.com"),
      run("dns", "get", "news.example.com"),
    ]);
    for (const list of [all, below, byId])
      assert.match(list, /│ example\.com +│ yes +│ [0-9a-f]{32}[^]*│ news\.example\.com +│ yes/);
    assert.match(
      settings,
      /Email Sending for news\.example\.com:\s+Enabled: +true\s+Tag: +[0-9a-f]{32}\s+Created: +20\S+Z\s+Modified: +20\S+Z\s+DKIM selector: +rp-bounce\s+Return-path domain: rp-bounce\.news\.example\.com/,
    );
    assert.match(
      dns,
      /MX record:\s+Name: +rp-bounce\.news\.example\.com\s+Content: +route1\.\S+\s+Priority: 10\s+TTL: +\d+/,
    );
    assert.match(
      dns,
      /TXT record:\s+Name: +rp-bounce\._domainkey\.news\.example\.com\s+Content: +v=DKIM1; h=sha256; k=rsa; p=/,
    );
    assert.match(dns, /_dmarc\.news\.example\.com\s+Content: +v=DMARC1; p=quarantine;/);
  });

  it("send accepts every field of a message", async () => {
    const sent = await run(
      "send",
      "--from",
      "news@example.com",
      "--from-name",
      "The News",
      "--to",
      "ada@example.net",
      "--to",
      "bob@example.net",
      "--cc",
      "cc@example.net",
      "--bcc",
      "bcc@example.net",
      "--reply-to",
      "desk@example.com",
      "--reply-to-name",
      "Desk",
      "--subject",
      "Grüße",
      "--text",
      "Hi",
      "--html",
      "<p>Hi</p>",
      "--header",
      "X-Edition: 7",
      "--attachment",
      "table.csv",
    );
    assert.match(sent, /Delivered to: ada@example\.net, bob@example\.net, cc@example\.net, bcc@example\.net/);
    // Each recipient has a unique return path and therefore a separate transaction.
    const mails = sink.mails.splice(0);
    assert.deepEqual(
      mails.map(({ to }) => to),
      [["ada@example.net"], ["bob@example.net"], ["cc@example.net"], ["bcc@example.net"]],
    );
    const [mail] = mails;
    const raw = mail!.raw.replaceAll(/\r\n[ \t]+/g, " ");
    for (const field of [
      /^From: "?The News"? <news@example\.com>\r$/m,
      /^Reply-To: "?Desk"? <desk@example\.com>\r$/m,
      /^Subject: =\?utf-8\?/im,
      /^X-Edition: 7\r$/m,
      /^Content-Type: text\/csv.*table\.csv/m,
    ])
      assert.match(raw, field);
    assert.doesNotMatch(raw, /bcc@example\.net/);
  });

  it("send reports the recipients that failed, and the reason if all failed", async () => {
    answers.set("gone@example.net", "550 5.1.1 no such user").set("later@example.net", "451 4.7.1 later");
    const mixed = await run(
      "send",
      "--from",
      "news@example.com",
      "--to",
      "ada@example.net",
      "--to",
      "gone@example.net",
      "--to",
      "later@example.net",
      "--subject",
      "News",
      "--text",
      "Hi",
    );
    assert.match(
      mixed,
      /Delivered to: ada@example\.net\s+Queued for: later@example\.net[^]*Permanently bounced: gone@example\.net/,
    );
    const [stranger, bad] = await Promise.all([
      attempt("send", "--from", "news@example.org", "--to", "ada@example.net", "--subject", "x", "--text", "x"),
      attempt("send", "--from", "news@example.com", "--to", "nobody", "--subject", "x", "--text", "x"),
    ]);
    assert.match(stranger.text, /email\.sending\.error\.email\.sender_not_configured \[code: 10204\]/);
    assert.match(bad.text, /email\.sending\.error\.invalid_request_schema \[code: 10001\]/);
    for (const { code } of [stranger, bad]) assert.notEqual(code, 0);
  });

  it("send-raw sends a message from a file and from the command line", async () => {
    sink.mails.length = 0;
    assert.match(
      await run("send-raw", "--from", "news@example.com", "--to", "ada@example.net", "--mime-file", "letter.eml"),
      /Delivered to: ada@example\.net/,
    );
    assert.match(
      await run(
        "send-raw",
        "--from",
        "news@news.example.com",
        "--to",
        "ada@example.net",
        "--mime",
        "From: news@news.example.com\nTo: ada@example.net\nSubject: Inline\n\nHi\n",
      ),
      /Delivered to: ada@example\.net/,
    );
    const [fromFile, inline] = sink.mails.map(({ raw }) => raw);
    assert.match(fromFile!, /^Subject: Written =\?utf-8\?q\?before\?=\r$/m);
    assert.match(inline!, /^Subject: Inline\r$/m);
    const [stranger, broken] = await Promise.all(
      ["other@example.org", "a@example.com, b@example.com"].map((author) =>
        attempt(
          "send-raw",
          "--from",
          "news@example.com",
          "--to",
          "ada@example.net",
          "--mime",
          `From: ${author}\n\nHi\n`,
        ),
      ),
    );
    assert.match(stranger!.text, /sender_not_configured \[code: 10204\]/);
    assert.match(broken!.text, /email\.sending\.error\.email\.invalid \[code: 10202\]/);
  });

  it("disable leaves the remaining configuration unchanged", async () => {
    assert.match(await run("disable", "news.example.com", "--force"), /Email Sending disabled for news\.example\.com/);
    const [again, list, refused] = await Promise.all([
      attempt("disable", "news.example.com", "--force"),
      run("list", "example.com"),
      attempt("send", "--from", "news@news.example.com", "--to", "ada@example.net", "--subject", "x", "--text", "x"),
    ]);
    assert.match(again.text, /No sending subdomain found for `news\.example\.com`/);
    assert.doesNotMatch(list, /news\.example\.com/);
    assert.match(refused.text, /sender_not_configured/);
  });
});
