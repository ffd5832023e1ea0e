import assert from "node:assert/strict";
import { test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { TEST_ACCOUNT, TEST_TOKEN } from "../../api.testing.ts";
import { mimeOf } from "./sending.testing.ts";
import {
  type SendingResponse,
  start,
  sendingErrorOf,
  chainedReasonOf,
  sendingCallerWith,
} from "./sending-api.testing.ts";

onEveryDatabase((engine) => {
  test("send and send_raw accept the requests of the SDK and wrangler", async (t) => {
    const { call, account, sent, ready } = await start(t, engine);
    await ready();
    const { result } = (
      await call("post", `${account}/send`, {
        body: {
          from: { address: "app@example.com", name: "App" },
          to: ["user@there.example", { address: "b@there.example", name: null }],
          cc: "c@there.example",
          bcc: [{ address: "d@there.example" }],
          reply_to: { address: "help@example.com", name: "Help" },
          subject: "Hello",
          text: "Hi",
          html: "<img src=cid:logo>",
          headers: { "X-Campaign": "spring" },
          attachments: [
            {
              content: Buffer.from("PNG").toString("base64"),
              filename: "logo.png",
              type: "image/png",
              disposition: "inline",
              content_id: "logo",
            },
            { content: "aGk=", filename: "a.txt", type: "text/plain", disposition: "attachment" },
          ],
        },
      })
    ).body;
    assert.deepEqual(result, {
      message_id: result.message_id,
      delivered: ["user@there.example", "b@there.example", "c@there.example", "d@there.example"],
      queued: [],
      permanent_bounces: [],
      suppressed_recipients: [],
    });
    const raw = sent[0]!;
    for (const part of [
      "From: App <app@example.com>",
      "Reply-To: Help <help@example.com>",
      "X-Campaign: spring",
      "Content-ID: <logo>",
      "filename=a.txt",
      `Message-ID: ${result.message_id}`,
    ])
      assert.ok(raw.includes(part), part);
    await call("post", `${account}/send`, {
      body: {
        from: "app@example.com",
        to: "user@there.example",
        subject: "s",
        text: "t",
        html: "",
        cc: null,
        attachments: null,
        headers: null,
      },
    });

    const whole = (
      await call("post", `${account}/send_raw`, {
        body: {
          from: "app@example.com",
          recipients: ["user@there.example"],
          mime_message: mimeOf({ Subject: "Raw" }).replaceAll("\r\n", "\n"),
        },
      })
    ).body.result;
    assert.deepEqual(
      [whole.delivered, sent[2]!.includes("Subject: Raw\r\n\r\nHi\r\n")],
      [["user@there.example"], true],
    );
  });

  test("send returns each published error that can occur", async (t) => {
    const { call, url, account, base, suppressions, domains, zone, routed, verified, clock, ready } = await start(
      t,
      engine,
      { limits: { perDay: 1, perMinute: 6, messageBytes: 10_000 } },
    );
    const tag = await ready();
    const message = { from: "app@example.com", to: "user@there.example", subject: "s", text: "t" };
    const send = (more: Record<string, unknown>, path = "send") =>
      call("post", `${account}/${path}`, {
        body:
          path === "send"
            ? { ...message, ...more }
            : { from: message.from, recipients: [message.to], mime_message: mimeOf(), ...more },
      });
    const schema = [400, 10001, "email.sending.error.invalid_request_schema"];
    const invalid = [400, 10202, "email.sending.error.email.invalid"];

    for (const [more, text] of [
      [{ from: undefined }, /^Invalid request body: from/],
      [{ subject: undefined }, /^Invalid request body: subject/],
      [{ to: undefined }, /^E_FIELD_MISSING: 'to' is required/],
      [{ to: [] }, /^E_FIELD_MISSING/],
      [{ text: undefined }, /^E_FIELD_MISSING: 'text' is required/],
      [{ to: "nobody" }, /^E_VALIDATION_ERROR: 'to' is not an email address: "nobody"/],
      [{ to: { address: "no body" } }, /'to.address' is not an email address/],
      [{ from: { address: "no body" } }, /'from\.address' is not an email address: "no body"$/],
      [{ cc: ["a@there.example", { address: "" }] }, /'cc\[1\]\.address' is not an email address/],
      [{ reply_to: { address: "x" } }, /'reply_to\.address' is not an email address/],
      [{ reply_to: "x" }, /'reply_to' is not an email address/],
      [{ headers: { "Reply-To": "x@there.example" } }, /must be set via the 'reply_to' API field/],
      [
        { attachments: [{ content: "aGk=", filename: "a", type: "text/plain", disposition: "inline" }] },
        /'attachments\[0\]\.content_id' is required/,
      ],
      [
        { attachments: [{ content: "aGk=", filename: "a", type: "text/plain", content_id: "a b" }] },
        /'attachments\[0\]\.content_id' must be a word/,
      ],
      [{ subject: "a\r\nb" }, /^E_VALIDATION_ERROR: 'subject'/],
      [
        { headers: { Received: "x" } },
        /^E_HEADER_NOT_ALLOWED: Header 'Received' is not allowed. It is auto-generated by the platform.$/,
      ],
      [{ headers: { Subject: "x" } }, /^E_HEADER_USE_API_FIELD/],
      [{ headers: { "X-A": "" } }, /^E_HEADER_VALUE_INVALID/],
      [
        { attachments: [{ content: "!", filename: "a", type: "text/plain", disposition: "attachment" }] },
        /'attachments\[0\]\.content' is not base64$/,
      ],
      [{ to: Array.from({ length: 51 }, (_, i) => `u${i}@there.example`) }, /^E_TOO_MANY_RECIPIENTS: 51 recipients/],
    ] as const) {
      const answered = await send(more);
      assert.deepEqual(sendingErrorOf(answered), schema, JSON.stringify(more));
      assert.match(chainedReasonOf(answered)!, text);
    }
    assert.deepEqual(sendingErrorOf(await call("post", `${account}/send`, { body: "{" })), schema);
    const unknown = await send({ recipients: ["user@there.example", "x"] }, "send_raw");
    assert.deepEqual(
      [sendingErrorOf(unknown), chainedReasonOf(unknown)],
      [schema, "E_VALIDATION_ERROR: 'recipients[1]' is not an email address: \"x\""],
    );
    assert.equal(
      chainedReasonOf(await send({ recipients: [] }, "send_raw")),
      "E_FIELD_MISSING: 'recipients' is required",
    );
    const foreign = await send({ mime_message: mimeOf({ Sender: "boss@elsewhere.example" }) }, "send_raw");
    assert.deepEqual(
      [sendingErrorOf(foreign), chainedReasonOf(foreign)],
      [
        [403, 10204, "email.sending.error.email.sender_not_configured"],
        "E_SENDER_DOMAIN_NOT_AVAILABLE: email from elsewhere.example not allowed: Email Sending is not enabled for that domain (field Sender)",
      ],
    );
    assert.deepEqual(sendingErrorOf(await send({ mime_message: mimeOf({ Sender: "nobody" }) }, "send_raw")), invalid);
    for (const mime_message of [
      "no header at all",
      mimeOf({ From: "a@example.com, b@example.com" }),
      `${"X-Long: y\r\n".repeat(30_000)}\r\nx`,
    ])
      assert.deepEqual(sendingErrorOf(await send({ mime_message }, "send_raw")), invalid);
    assert.deepEqual(sendingErrorOf(await send({ mime_message: "" }, "send_raw")), [
      400,
      10201,
      "email.sending.error.email.no_content_length",
    ]);
    assert.deepEqual(sendingErrorOf(await send({ text: "x".repeat(20_000) })), [
      400,
      10200,
      "email.sending.error.email.too_big",
    ]);
    assert.deepEqual(
      sendingErrorOf(
        await call("post", `${account}/send`, {
          body: JSON.stringify({ ...message, text: "x".repeat(37 * 1024 * 1024) }),
        }),
      ),
      [400, 10200, "email.sending.error.email.too_big"],
    );

    await suppressions.create(TEST_ACCOUNT, { email: "user@there.example" });
    const suppressed = await send({});
    assert.deepEqual(
      [sendingErrorOf(suppressed), chainedReasonOf(suppressed)],
      [
        invalid,
        "E_RECIPIENT_SUPPRESSED: email to user@there.example not allowed: the address is on the suppression list",
      ],
    );
    await call("patch", `${base}/${tag}`, { body: { drop_suppressed_recipients: true } });
    assert.deepEqual((await send({ cc: "else@there.example" })).body.result.suppressed_recipients, [
      "user@there.example",
    ]);
    const [{ id } = { id: "" }] = (await suppressions.list(TEST_ACCOUNT, {}, { perPage: 1 })).items;
    await suppressions.delete(TEST_ACCOUNT, id);

    const daily = await send({});
    assert.deepEqual(
      [sendingErrorOf(daily), daily.headers.get("retry-after"), chainedReasonOf(daily)],
      [
        [429, 10004, "email.sending.error.throttled"],
        String(12 * 3600),
        "E_DAILY_LIMIT_EXCEEDED: Daily limit exceeded: 1 messages per account",
      ],
    );
    assert.deepEqual((await call("get", `${account}/limits`)).body.result, {
      quota: { unit: "day", value: 1 },
      usage: { sent: 1, over_quota: true, resets_at: "2026-11-21T00:00:00.000Z" },
    });
    verified.add("user@there.example");
    let last = await send({});
    for (let i = 0; i < 6 && last.status === 200; i++) last = await send({});
    assert.deepEqual(
      [sendingErrorOf(last), last.headers.get("retry-after"), chainedReasonOf(last)],
      [
        [429, 10004, "email.sending.error.throttled"],
        "60",
        "E_RATE_LIMIT_EXCEEDED: Rate limit exceeded: 6 messages per minute",
      ],
    );
    clock.advance(60_000);

    assert.deepEqual(sendingErrorOf(await send({ from: "app@example.org" })), [
      403,
      10204,
      "email.sending.error.email.sender_not_configured",
    ]);
    routed.add("example.com");
    await domains.delete(zone, tag);
    assert.deepEqual(sendingErrorOf(await send({ cc: "else@there.example" })), [
      403,
      10203,
      "email.sending.error.email.sending_disabled",
    ]);

    const post = async (path: string, headers: Record<string, string>) => {
      const answered = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(message), headers });
      const body = (await answered.json()) as SendingResponse["body"];
      return sendingErrorOf({ status: answered.status, body });
    };
    assert.deepEqual(await post(`${account}/send`, {}), [
      401,
      10101,
      "email.sending.error.authentication.unauthorized",
    ]);
    assert.deepEqual(await post(`${account}/send`, { authorization: "Bearer unknown" }), [
      401,
      10101,
      "email.sending.error.authentication.unauthorized",
    ]);
    assert.deepEqual(await post(`${account}/send`, { authorization: "Basic eA==" }), [
      401,
      10103,
      "email.sending.error.authentication.bad_token_type",
    ]);
    assert.deepEqual(
      await post(`/accounts/${"0".repeat(32)}/email/sending/send`, { authorization: `Bearer ${TEST_TOKEN}` }),
      [404, 10000, "email.sending.error.not_found"],
    );
  });

  test("send reports a missing permission and an internal error", async (t) => {
    const reading = await start(t, engine, { caller: sendingCallerWith("Email Sending Read") });
    const answered = await fetch(`${reading.url}${reading.account}/send`, {
      method: "POST",
      body: "{}",
      headers: { authorization: `Bearer ${TEST_TOKEN}` },
    });
    assert.deepEqual(
      sendingErrorOf({ status: answered.status, body: (await answered.json()) as SendingResponse["body"] }),
      [403, 10102, "email.sending.error.authentication.forbidden"],
    );
    assert.equal((await reading.call("get", `${reading.account}/limits`)).status, 200);
    const broken = await start(t, engine, { transport: { deliver: () => Promise.reject(new Error("broken")) } });
    await broken.ready();
    assert.deepEqual(
      sendingErrorOf(
        await broken.call("post", `${broken.account}/send`, {
          body: { from: "app@example.com", to: "user@there.example", subject: "s", text: "t" },
        }),
      ),
      [500, 10002, "email.sending.error.internal_server"],
    );
    assert.deepEqual((await broken.call("get", `${broken.account}/limits`)).body.result, { quota: null, usage: null });
  });
});
