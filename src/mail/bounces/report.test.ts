import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { authenticate } from "mailauth";
import { createManualClock, randomIds } from "../../kernel/index.ts";
import { readBounce } from "../../protocol/dsn/index.ts";
import { createSigner } from "../authenticate/index.ts";
import { composeReport, type ReportRequest } from "./report.ts";
import { KEY, MAIL, NOON } from "./bounces.testing.ts";

const clock = createManualClock(NOON);
const head = Buffer.from(MAIL.slice(0, MAIL.indexOf("\r\n\r\n") + 2));

async function reportOf(changes: Partial<ReportRequest> = {}): Promise<Buffer> {
  const { raw } = await composeReport(
    {
      to: "alice@example.org",
      arrived: new Date(NOON - 60_000),
      dsn: { envid: "QQ 314" },
      recipients: [
        {
          rcpt: "info@here.example",
          orcpt: "rfc822;old+alias@here.example",
          action: "failed",
          reply: { code: 550, enhanced: "5.1.1", text: "No such user\r\nX-Injected: 1" },
          host: "mx.example.net [192.0.2.7]:25",
        },
        {
          rcpt: "käthe@here.example",
          action: "failed",
          reply: { code: 451, enhanced: "4.4.7", text: "never answered" },
        },
      ],
      original: async () => ({ head, whole: async () => Buffer.from(MAIL), size: MAIL.length }),
      ...changes,
    },
    {
      name: "mx.fwd.example",
      domain: "fwd.example",
      clock,
      ids: randomIds,
      signer: createSigner({ clock }),
      keys: async () => [{ domain: "fwd.example", selector: "s1", privateKey: KEY.privateKey }],
    },
  );
  return raw() as Buffer;
}

/** Parses a report with another library. */
const PYTHON = `
import email, email.policy, json, sys
message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
status = message.get_payload()[1]
def defects(part): return [str(d) for d in part.defects] + [d for p in (part.get_payload() if part.is_multipart() else []) for d in defects(p)]
print(json.dumps({
  "type": message.get_content_type(), "report": message.get_param("report-type"), "from": message["from"].addresses[0].addr_spec, "to": message["to"].addresses[0].addr_spec,
  "date": message["date"].datetime.isoformat(), "parts": [p.get_content_type() for p in message.get_payload()],
  "groups": [dict((k.lower(), str(v)) for k, v in g.items()) for g in status.get_payload()],
  "returned": email.message_from_string(message.get_payload()[2].get_payload() if isinstance(message.get_payload()[2].get_payload(), str) else message.get_payload()[2].get_payload()[0].as_string())["message-id"],
  "defects": defects(message), "injected": message["x-injected"],
}))`;

const missing = spawnSync("python3", ["-c", "import email.policy"]).status !== 0;

describe("a report", () => {
  test(
    "is parsed correctly by Python's email package",
    { skip: missing && process.env["REQUIRE_ALL"] !== "1" && "python3 is not installed" },
    async () => {
      for (const ret of ["HDRS", "FULL"] as const) {
        const { stdout, stderr } = spawnSync("python3", ["-c", PYTHON], {
          input: await reportOf({ dsn: { ret, envid: "QQ 314" } }),
          encoding: "utf8",
        });
        assert.equal(stderr, "");
        assert.deepEqual(JSON.parse(stdout), {
          type: "multipart/report",
          report: "delivery-status",
          from: "MAILER-DAEMON@fwd.example",
          to: "alice@example.org",
          date: "2026-01-05T12:00:00+00:00",
          parts: ["text/plain", "message/delivery-status", ret === "FULL" ? "message/rfc822" : "text/rfc822-headers"],
          groups: [
            {
              "original-envelope-id": "QQ 314",
              "reporting-mta": "dns; mx.fwd.example",
              "arrival-date": "Mon, 5 Jan 2026 11:59:00 +0000",
            },
            {
              "original-recipient": "rfc822; old+alias@here.example",
              "final-recipient": "rfc822; info@here.example",
              action: "failed",
              status: "5.1.1",
              "remote-mta": "dns; mx.example.net",
              "diagnostic-code": "smtp; 550 5.1.1 No such user X-Injected: 1",
              "last-attempt-date": "Mon, 5 Jan 2026 12:00:00 +0000",
            },
            {
              "final-recipient": "utf-8; k\\x{E4}the@here.example",
              action: "failed",
              status: "5.4.7",
              "diagnostic-code": "smtp; 451 4.4.7 never answered",
              "last-attempt-date": "Mon, 5 Jan 2026 12:00:00 +0000",
            },
          ],
          returned: "<first@example.org>",
          defects: [],
          injected: null,
        });
      }
    },
  );

  test("carries a signature for its domain that mailauth verifies", async () => {
    const key = KEY.publicKey.replace(/-----[^-]+-----|\s/g, "");
    const { dkim } = await authenticate(await reportOf(), {
      ip: "192.0.2.1",
      helo: "mx.fwd.example",
      sender: "",
      trustReceived: false,
      resolver: async (name: string, type: string) => {
        if (name === "s1._domainkey.fwd.example" && type === "TXT") return [[`v=DKIM1; k=rsa; p=${key}`]];
        throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
      },
    });
    assert.deepEqual(
      dkim.results.map(({ signingDomain, status }) => [signingDomain, status.result]),
      [["fwd.example", "pass"]],
    );
  });

  test("returns only the header section of a large message, truncated", async () => {
    const large = await reportOf({
      dsn: { ret: "FULL" },
      original: async () => ({ head, whole: assert.fail, size: 65 * 1024 }),
    });
    assert.match(large.toString(), /text\/rfc822-headers\r\n\r\nFrom: alice/);
    const lines = Buffer.from(
      `Message-ID: <first@example.org>\r\n${"X-Long: some words that go on and on\r\n".repeat(3000)}`,
    );
    const cut = await reportOf({ original: async () => ({ head: lines, whole: assert.fail, size: 1e6 }) });
    assert.ok(cut.length < 40_000);
    assert.match(cut.toString(), /go on and on\r\n\r\n--report-[\w-]+--\r\n$/);
    assert.equal(readBounce(cut)!.messageId, "<first@example.org>");
  });

  test("about a deleted message contains everything except its content", async () => {
    const bounce = readBounce(await reportOf({ original: async () => undefined }))!;
    assert.equal(bounce.messageId, undefined);
    assert.deepEqual(
      bounce.recipients.map(({ address, status }) => `${address} ${status}`),
      ["info@here.example 5.1.1", "käthe@here.example 5.4.7"],
    );
  });
});
