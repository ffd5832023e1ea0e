import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { onEveryDatabase, type TestEngine } from "../../../../test/support/databases.ts";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { almighty, startApi, TEST_ACCOUNT, TEST_TOKEN } from "../../api.testing.ts";
import { mimeOf, openSendingModules } from "./sending.testing.ts";
import { emailSendingRoutes } from "./sending.ts";

async function start(
  t: TestContext,
  engine: TestEngine,
  { caller = almighty, ...options }: NonNullable<Parameters<typeof openSendingModules>[2]> & { caller?: Caller } = {},
) {
  const opened = await openSendingModules(t, engine, options);
  const { call, url } = await startApi(t, {
    routes: emailSendingRoutes(opened),
    caller,
    gate: { zoneAccount: opened.zones.zoneAccount },
  });
  const zone = await opened.zones.create({ account: TEST_ACCOUNT, name: "example.com" });
  const base = `/zones/${zone.id}/email/sending/subdomains`;
  const account = `/accounts/${TEST_ACCOUNT}/email/sending`;
  return {
    ...opened,
    call,
    url,
    zone,
    base,
    account,
    ready: async () => (await call("post", base, { body: { name: "example.com" } })).body.result.tag as string,
  };
}

type Answered = {
  status: number;
  body: { errors: { code: number; message: string; error_chain?: { message: string }[] }[]; result: unknown };
};
const refused = ({ status, body }: Answered) => [status, body.errors[0]!.code, body.errors[0]!.message];
const why = ({ body }: Answered) => body.errors[0]!.error_chain?.[0]?.message;
const only = (...permissions: Permission[]): Caller => ({
  ...almighty,
  allows: (permission) => permissions.includes(permission),
});

onEveryDatabase((engine) => {
  test("sending domains: created, read, updated, checked, fixed and deleted", async (t) => {
    const { call, base, account, zone, zones, clock } = await start(t, engine);
    const preview = (await call("post", `${base}/preview`, { body: { name: "example.com" } })).body.result;
    assert.deepEqual(
      [preview.records.length, preview.errors[0]],
      [
        5,
        {
          code: "mx.missing",
          missing: { type: "MX", name: "rp-bounce.example.com", content: "mx1.reelpost.example", priority: 10, ttl: 1 },
        },
      ],
    );
    const made = (await call("post", base, { body: { name: "example.com" } })).body.result;
    assert.deepEqual(made, {
      tag: made.tag,
      name: "example.com",
      enabled: true,
      created: "2026-11-20T12:00:00.000Z",
      modified: "2026-11-20T12:00:00.000Z",
      dkim_selector: "rp-bounce",
      return_path_domain: "rp-bounce.example.com",
      preview_enabled: true,
      drop_suppressed_recipients: false,
    });
    const list = (await call("get", base)).body;
    assert.deepEqual(
      [list.result, list.result_info],
      [[made], { page: 1, per_page: 100, count: 1, total_count: 1, total_pages: 1 }],
    );
    assert.deepEqual((await call("get", base, { query: { page: 2 } })).body.result, []);
    assert.deepEqual((await call("get", `${base}/${made.tag}`)).body.result, made);
    assert.deepEqual((await call("patch", `${base}/${made.tag}`, { body: { preview_enabled: false } })).body.result, {
      ...made,
      preview_enabled: false,
    });
    assert.equal(
      (await call("patch", `${base}/${made.tag}`, { body: { drop_suppressed_recipients: true } })).body.result
        .preview_enabled,
      false,
    );
    assert.deepEqual((await call("get", `${base}/${made.tag}/dns`)).body.result, preview.records);
    assert.deepEqual((await call("get", `${base}/${made.tag}/dns/status`)).body.result, {
      status: "ready",
      errors: [],
      records: preview.records,
    });
    await zones.records.managed.lock(zone, "email-sending", false);
    assert.deepEqual(
      [
        (await call("get", `${base}/${made.tag}/dns/status`)).body.result.status,
        (await call("post", `${base}/${made.tag}/dns`)).body.result.status,
      ],
      ["unlocked", "ready"],
    );
    const all = (await call("get", `${account}/zones`, { query: { page: 1 } })).body;
    assert.deepEqual(
      [all.result, all.result_info.total_count],
      [
        [
          {
            id: zone.id,
            tag: zone.id,
            name: "example.com",
            enabled: true,
            created: made.created,
            modified: made.modified,
          },
        ],
        1,
      ],
    );
    assert.deepEqual((await call("get", `${account}/zones`, { query: { page: 2 } })).body.result, []);

    const window = { start_at: "2026-11-14T00:00:00Z", end_at: new Date(clock.now()).toISOString() };
    const { result } = (await call("get", `${base}/${made.tag}/reputation/complaints`, { query: window })).body;
    assert.deepEqual(result, {
      subdomain_id: made.tag,
      window_start: "2026-11-14T00:00:00.000Z",
      window_end: "2026-11-20T12:00:00.000Z",
      complaints: 0,
      generated_at: "2026-11-20T12:00:00.000Z",
    });
    for (const bad of [
      {},
      { ...window, end_at: window.start_at },
      { ...window, start_at: "2026-11-01T00:00:00Z" },
      { ...window, start_at: "yesterday" },
    ])
      assert.deepEqual(
        refused(await call("get", `${base}/${made.tag}/reputation/complaints`, { query: bad })).slice(0, 2),
        [422, 2011],
      );

    const gone = await call("delete", `${base}/${made.tag}`);
    assert.deepEqual(gone.body, { success: true, errors: [], messages: [] });
    assert.deepEqual(
      [(await call("get", base)).body.result, refused(await call("get", `${base}/${made.tag}`))],
      [[], [404, 2033, "Sending subdomain not found"]],
    );
  });

  test("sending domains: reports conflicts by code", async (t) => {
    const { call, base, zone, zones, ready } = await start(t, engine);
    const name = (text: string) => call("post", base, { body: { name: text } });
    assert.deepEqual(refused(await name("*.example.com")), [
      403,
      2067,
      "Wildcard Email Sending is not enabled for this account.",
    ]);
    assert.deepEqual(refused(await name("example.org")), [400, 2940, "example.org is not in the zone example.com"]);
    assert.deepEqual(refused(await call("post", base, { body: {} })).slice(0, 2), [400, 10001]);
    await zones.records.create(zone, { type: "MX", name: "rp-bounce", content: "mail.example.net", priority: 5 });
    assert.deepEqual(refused(await name("example.com")), [
      409,
      2008,
      "rp-bounce.example.com has MX records of another mail service: 5 mail.example.net",
    ]);
    await zones.records.create(zone, { type: "TXT", name: "rp-bounce.sub", content: "v=spf1 -all" });
    assert.deepEqual(refused(await name("sub.example.com")).slice(0, 2), [409, 2026]);
    for (const content of ["v=DMARC1; p=none", "v=DMARC1; p=reject"])
      await zones.records.create(zone, { type: "TXT", name: "_dmarc.two", content });
    assert.deepEqual(refused(await name("two.example.com")).slice(0, 2), [409, 2027]);
    const [mx] = await zones.records.managed.at(zone.id, "rp-bounce.example.com", ["MX"]);
    await zones.records.delete(zone, mx!.id);
    const tag = await ready();
    await zones.records.create(zone, { type: "MX", name: "rp-bounce", content: "mail.example.net", priority: 5 });
    assert.deepEqual(refused(await call("post", `${base}/${tag}/dns`)).slice(0, 2), [409, 2008]);
    assert.deepEqual((await call("get", `${base}/${tag}/dns/status`)).body.result.errors, [
      {
        code: "mx.foreign",
        existing: { type: "MX", name: "rp-bounce.example.com", content: "mail.example.net", priority: 5, ttl: 1 },
      },
    ]);
  });

  test("send and send_raw: work when called like the SDK and wrangler do", async (t) => {
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

  test("send: returns every error in the published table that can occur", async (t) => {
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
      assert.deepEqual(refused(answered), schema, JSON.stringify(more));
      assert.match(why(answered)!, text);
    }
    assert.deepEqual(refused(await call("post", `${account}/send`, { body: "{" })), schema);
    const unknown = await send({ recipients: ["user@there.example", "x"] }, "send_raw");
    assert.deepEqual(
      [refused(unknown), why(unknown)],
      [schema, "E_VALIDATION_ERROR: 'recipients[1]' is not an email address: \"x\""],
    );
    assert.equal(why(await send({ recipients: [] }, "send_raw")), "E_FIELD_MISSING: 'recipients' is required");
    const foreign = await send({ mime_message: mimeOf({ Sender: "boss@elsewhere.example" }) }, "send_raw");
    assert.deepEqual(
      [refused(foreign), why(foreign)],
      [
        [403, 10204, "email.sending.error.email.sender_not_configured"],
        "E_SENDER_DOMAIN_NOT_AVAILABLE: email from elsewhere.example not allowed: Email Sending is not enabled for that domain (field Sender)",
      ],
    );
    assert.deepEqual(refused(await send({ mime_message: mimeOf({ Sender: "nobody" }) }, "send_raw")), invalid);
    for (const mime_message of [
      "no header at all",
      mimeOf({ From: "a@example.com, b@example.com" }),
      `${"X-Long: y\r\n".repeat(30_000)}\r\nx`,
    ])
      assert.deepEqual(refused(await send({ mime_message }, "send_raw")), invalid);
    assert.deepEqual(refused(await send({ mime_message: "" }, "send_raw")), [
      400,
      10201,
      "email.sending.error.email.no_content_length",
    ]);
    assert.deepEqual(refused(await send({ text: "x".repeat(20_000) })), [
      400,
      10200,
      "email.sending.error.email.too_big",
    ]);
    assert.deepEqual(
      refused(
        await call("post", `${account}/send`, {
          body: JSON.stringify({ ...message, text: "x".repeat(37 * 1024 * 1024) }),
        }),
      ),
      [400, 10200, "email.sending.error.email.too_big"],
    );

    await suppressions.create(TEST_ACCOUNT, { email: "user@there.example" });
    const suppressed = await send({});
    assert.deepEqual(
      [refused(suppressed), why(suppressed)],
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
      [refused(daily), daily.headers.get("retry-after"), why(daily)],
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
      [refused(last), last.headers.get("retry-after"), why(last)],
      [
        [429, 10004, "email.sending.error.throttled"],
        "60",
        "E_RATE_LIMIT_EXCEEDED: Rate limit exceeded: 6 messages per minute",
      ],
    );
    clock.advance(60_000);

    assert.deepEqual(refused(await send({ from: "app@example.org" })), [
      403,
      10204,
      "email.sending.error.email.sender_not_configured",
    ]);
    routed.add("example.com");
    await domains.delete(zone, tag);
    assert.deepEqual(refused(await send({ cc: "else@there.example" })), [
      403,
      10203,
      "email.sending.error.email.sending_disabled",
    ]);

    const post = async (path: string, headers: Record<string, string>) => {
      const answered = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(message), headers });
      const body = (await answered.json()) as Answered["body"];
      return refused({ status: answered.status, body });
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

  test("send: reports a missing permission and an internal error", async (t) => {
    const reading = await start(t, engine, { caller: only("Email Sending Read") });
    const answered = await fetch(`${reading.url}${reading.account}/send`, {
      method: "POST",
      body: "{}",
      headers: { authorization: `Bearer ${TEST_TOKEN}` },
    });
    assert.deepEqual(refused({ status: answered.status, body: (await answered.json()) as Answered["body"] }), [
      403,
      10102,
      "email.sending.error.authentication.forbidden",
    ]);
    assert.equal((await reading.call("get", `${reading.account}/limits`)).status, 200);
    const broken = await start(t, engine, { transport: { deliver: () => Promise.reject(new Error("broken")) } });
    await broken.ready();
    assert.deepEqual(
      refused(
        await broken.call("post", `${broken.account}/send`, {
          body: { from: "app@example.com", to: "user@there.example", subject: "s", text: "t" },
        }),
      ),
      [500, 10002, "email.sending.error.internal_server"],
    );
    assert.deepEqual((await broken.call("get", `${broken.account}/limits`)).body.result, { quota: null, usage: null });
  });

  test("suppressions: created, listed, updated and deleted as the SDK does", async (t) => {
    const { call, account, suppressions } = await start(t, engine);
    const base = `${account}/suppressions`;
    const made = (
      await call("post", base, {
        body: { email: "a@there.example", expires_at: "2026-12-01T00:00:00+01:00", note: "by hand" },
      })
    ).body.result;
    const one = (await call("get", `${base}/${made.id}`)).body.result;
    assert.deepEqual(
      [made.scope, one],
      [
        { type: "account" },
        {
          id: made.id,
          email: "a@there.example",
          reason: "manual",
          created_at: "2026-11-20T12:00:00.000Z",
          expires_at: "2026-11-30T23:00:00.000Z",
          note: "by hand",
          read_only: false,
          scope: { type: "account" },
        },
      ],
    );
    assert.equal((await call("post", base, { body: { email: "A@there.example" } })).body.result.id, made.id);
    assert.deepEqual(
      (await call("patch", `${base}/${made.id}`, { body: { expires_at: null, note: "" } })).body.result,
      { ...one, expires_at: null, note: null },
    );
    await call("post", base, {
      body: { email: "b@there.example", scope: { type: "sending_domain", value: "example.com" } },
    });

    const first = (await call("get", base, { query: { per_page: 1 } })).body;
    assert.deepEqual(
      [
        first.result.length,
        first.result_info.count,
        first.result_info.per_page,
        first.result_info.next_cursor === first.result_info.cursor,
      ],
      [1, 1, 1, true],
    );
    const second = (await call("get", base, { query: { per_page: 1, cursor: first.result_info.next_cursor } })).body;
    assert.deepEqual(
      [new Set([first.result[0].email, second.result[0].email]).size, second.result_info],
      [2, { count: 1, per_page: 1, next_cursor: null }],
    );
    assert.deepEqual(
      (await call("get", base, { query: { scope_type: "sending_domain", scope_value: "example.com" } })).body.result[0]
        .scope,
      { type: "sending_domain", value: "example.com" },
    );
    assert.equal(
      (await call("get", base, { query: { search: "a@", per_page: 5000 } })).body.result_info.per_page,
      1000,
    );

    const bulk = (
      await call("post", `${base}/bulk`, {
        body: {
          items: [
            { email: "c@there.example" },
            { email: 7 },
            { email: "nobody" },
            { email: "C@there.example", expires_at: null },
            { email: "a@there.example" },
          ],
        },
      })
    ).body.result;
    assert.deepEqual(
      [bulk.total, bulk.processed, bulk.invalid, bulk.errors, bulk.skipped, bulk.deduplicated],
      [5, 1, 2, 0, 2, 1],
    );
    assert.deepEqual(
      bulk.items.map(({ index, status }: { index: number; status: string }) => `${index} ${status}`),
      ["0 processed", "1 invalid", "2 invalid", "3 skipped", "4 skipped"],
    );
    assert.deepEqual((await call("delete", `${base}/${made.id}`)).body.result, {
      id: made.id,
      scope: { type: "account" },
    });

    await suppressions.add({ account: TEST_ACCOUNT, email: "policy@there.example", reason: "policy", expiresAt: null });
    const [policy] = (await call("get", base, { query: { reason: "policy" } })).body.result;
    assert.equal(policy.read_only, true);
    for (const [method, path, options, expected] of [
      ["get", `${base}/${made.id}`, {}, [404, 2920, "Suppression not found"]],
      ["delete", `${base}/${made.id}`, {}, [404, 2920, "Suppression not found"]],
      ["delete", `${base}/${policy.id}`, {}, [403, 2921, "This suppression is read-only."]],
      ["patch", `${base}/${policy.id}`, { body: { note: "x" } }, [403, 2921, "This suppression is read-only."]],
      ["post", base, { body: { email: "policy@there.example" } }, [403, 2921, "This suppression is read-only."]],
      ["post", base, { body: { email: "nobody" } }, [400, 2922, '"nobody" is not an e-mail address']],
      [
        "post",
        base,
        { body: { email: "x@there.example", expires_at: "2020-01-01T00:00:00Z" } },
        [400, 2923, "expires_at is not in the future"],
      ],
      [
        "post",
        base,
        { body: { email: "x@there.example", scope: { type: "sending_domain", value: "-" } } },
        [400, 2924, '"-" is not a domain'],
      ],
      [
        "post",
        base,
        { body: { email: "x@there.example", note: "n".repeat(1001) } },
        [400, 2925, "A note can have at most 1000 characters"],
      ],
      ["patch", `${base}/${policy.id}`, { body: {} }, [400, 2926, "No updatable fields supplied."]],
      [
        "patch",
        `${base}/${policy.id}`,
        { body: { scope: { type: "account" }, note: "x" } },
        [400, 2927, "scope_immutable"],
      ],
      ["get", base, { query: { search: "user" } }, [400, 2928, 'Invalid search: "user"']],
      ["get", base, { query: { cursor: "x" } }, [400, 2929, "The cursor does not belong to this list"]],
      [
        "post",
        `${base}/bulk`,
        { body: { items: Array.from({ length: 1001 }, () => ({})) } },
        [400, 2930, "An import can contain at most 1000 items"],
      ],
    ] as const)
      assert.deepEqual(refused(await call(method, path, options)), expected, `${method} ${path}`);
    assert.deepEqual(
      (await call("post", base, { body: {} })).body.result,
      {},
      "an object, as these failures are published",
    );
    for (let i = 1; i < 10; i++) await call("post", `${base}/bulk`, { body: { items: [] } });
    const limited = await call("post", `${base}/bulk`, { body: { items: [] } });
    assert.deepEqual([refused(limited), limited.headers.get("retry-after")], [[429, 2931, "Rate limited."], "60"]);
  });
});
