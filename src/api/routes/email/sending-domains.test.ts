import assert from "node:assert/strict";
import { test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { start, sendingErrorOf } from "./sending-api.testing.ts";

onEveryDatabase((engine) => {
  test("sending domains are created, read, updated, checked, fixed and deleted", async (t) => {
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
        sendingErrorOf(await call("get", `${base}/${made.tag}/reputation/complaints`, { query: bad })).slice(0, 2),
        [422, 2011],
      );

    const gone = await call("delete", `${base}/${made.tag}`);
    assert.deepEqual(gone.body, { success: true, errors: [], messages: [] });
    assert.deepEqual(
      [(await call("get", base)).body.result, sendingErrorOf(await call("get", `${base}/${made.tag}`))],
      [[], [404, 2033, "Sending subdomain not found"]],
    );
  });

  test("reports conflicts of sending domains by error code", async (t) => {
    const { call, base, zone, zones, ready } = await start(t, engine);
    const name = (text: string) => call("post", base, { body: { name: text } });
    assert.deepEqual(sendingErrorOf(await name("*.example.com")), [
      403,
      2067,
      "Wildcard Email Sending is not enabled for this account.",
    ]);
    assert.deepEqual(sendingErrorOf(await name("example.org")), [
      400,
      2940,
      "example.org is not in the zone example.com",
    ]);
    assert.deepEqual(sendingErrorOf(await call("post", base, { body: {} })).slice(0, 2), [400, 10001]);
    await zones.records.create(zone, { type: "MX", name: "rp-bounce", content: "mail.example.net", priority: 5 });
    assert.deepEqual(sendingErrorOf(await name("example.com")), [
      409,
      2008,
      "rp-bounce.example.com has MX records that point to another mail service: 5 mail.example.net",
    ]);
    await zones.records.create(zone, { type: "TXT", name: "rp-bounce.sub", content: "v=spf1 -all" });
    assert.deepEqual(sendingErrorOf(await name("sub.example.com")).slice(0, 2), [409, 2026]);
    for (const content of ["v=DMARC1; p=none", "v=DMARC1; p=reject"])
      await zones.records.create(zone, { type: "TXT", name: "_dmarc.two", content });
    assert.deepEqual(sendingErrorOf(await name("two.example.com")).slice(0, 2), [409, 2027]);
    const [mx] = await zones.records.managed.at(zone.id, "rp-bounce.example.com", ["MX"]);
    await zones.records.delete(zone, mx!.id);
    const tag = await ready();
    await zones.records.create(zone, { type: "MX", name: "rp-bounce", content: "mail.example.net", priority: 5 });
    assert.deepEqual(sendingErrorOf(await call("post", `${base}/${tag}/dns`)).slice(0, 2), [409, 2008]);
    assert.deepEqual((await call("get", `${base}/${tag}/dns/status`)).body.result.errors, [
      {
        code: "mx.foreign",
        existing: { type: "MX", name: "rp-bounce.example.com", content: "mail.example.net", priority: 5, ttl: 1 },
      },
    ]);
  });
});
