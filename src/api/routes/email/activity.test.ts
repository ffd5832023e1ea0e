import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { unrestrictedCaller, TEST_ACCOUNT, TEST_ZONE } from "../../api.testing.ts";
import { DENIED, LOG, OTHER, QUEUE, recordSampleMessages, startActivityApi } from "./activity.testing.ts";

test("the log is listed, searched, paged by cursor, and shown per message", async (t) => {
  const all = await startActivityApi(t);
  const { call } = all;
  const { id: queued } = await recordSampleMessages(all);
  const { body } = await call("get", LOG);
  assert.deepEqual(
    body.result.map(({ kind, subject, status, from, to, message_id: id, event_type: type }: Record<string, string>) => [
      kind,
      subject,
      status,
      from,
      to,
      id,
      type,
    ]),
    [
      ["sending", "News", "queued", "news@here.example", "b@else.example", "<s1@here.example>", "newEmail"],
      ["routing", "Hello", "delivered", "a@there.example", "box@here.example", "<in@there.example>", "incoming"],
    ],
  );
  assert.deepEqual(body.result_info, { count: 2, per_page: 50, next_cursor: null });

  const first = (await call("get", LOG, { query: { per_page: 1 } })).body;
  const second = (await call("get", LOG, { query: { per_page: 1, cursor: first.result_info.cursor } })).body;
  const third = (await call("get", LOG, { query: { per_page: 1, cursor: second.result_info.cursor } })).body;
  assert.deepEqual(
    [first.result[0].subject, second.result[0].subject, third.result, third.result_info.next_cursor],
    ["News", "Hello", [], null],
  );

  const { result: timeline } = (await call("get", `${LOG}/${body.result[1].id}`)).body;
  assert.deepEqual(timeline.deliveries, [
    {
      message_id: "<copy@here.example>",
      to: "me@else.example",
      status: "delivered",
      modified: "2026-11-20T12:00:01.000Z",
      queue_id: null,
      host: "mx.else.example",
      code: 250,
      enhanced_code: "2.0.0",
      response: "Ok",
      reply: false,
    },
  ]);
  assert.deepEqual(
    timeline.events.map(({ step, datetime }: Record<string, string>) => [step, datetime]),
    [
      ["received", "2026-11-20T12:00:00.000Z"],
      ["delivered", "2026-11-20T12:00:01.000Z"],
    ],
  );
  assert.equal((await call("get", `${LOG}/${body.result[0].id}`)).body.result.deliveries[0].queue_id, queued);
  assert.equal(
    (await call("get", `/zones/${TEST_ZONE}/email/activity/${body.result[1].id}`)).body.result.subject,
    "Hello",
  );

  const subjects = async (path: string, query: Record<string, string>) =>
    (await call("get", path, { query })).body.result.map(({ subject }: { subject: string }) => subject).join(" ");
  for (const [query, found] of [
    [{ kind: "routing" }, "Hello"],
    [{ status: "queued" }, "News"],
    [{ search: "HELL" }, "Hello"],
    [{ from: "news@here.example" }, "News"],
    [{ to: "box@here.example" }, "Hello"],
    [{ action: "forward" }, ""],
    [{ since: "2026-11-20T12:00:02Z" }, "News"],
    [{ until: "2026-11-20T13:00:01+01:00" }, "Hello"],
  ] as [Record<string, string>, string][]) {
    assert.equal(await subjects(LOG, query), found, JSON.stringify(query));
    assert.equal(await subjects(`/zones/${TEST_ZONE}/email/activity`, query), found, JSON.stringify(query));
  }
  assert.equal(await subjects(LOG, { zone_id: TEST_ZONE, kind: "sending" }), "News");
  assert.equal(await subjects(LOG, { zone_id: "0".repeat(32) }), "");
});

test("rejects invalid queries of the log", async (t) => {
  const { call } = await startActivityApi(t);
  for (const [query, why] of [
    [{ status: "lost" }, /status/],
    [{ since: "yesterday" }, /since/],
    [{ cursor: "x" }, /The cursor does not belong to this list/],
    [{ per_page: 0 }, /per_page/],
    [{ search: "" }, /search/],
  ] as [Record<string, string | number>, RegExp][]) {
    const { status, body } = await call("get", LOG, { query });
    assert.equal(status, 400, JSON.stringify(query));
    assert.match(body.errors[0].message, why);
  }
  assert.deepEqual(
    [
      (await call("get", `${LOG}/${"0".repeat(32)}`)).status,
      (await call("get", `${LOG}/%00'`)).status,
      (await call("get", `/accounts/${OTHER}/email/activity`)).status,
    ],
    [404, 404, 404],
  );
});

test("a token sees only the log entries that it may read", async (t) => {
  for (const [allowed, kinds] of [
    [["Email Routing Rules Read"], "routing"],
    [["Email Sending Read"], "sending"],
    [["Account Analytics Read"], "sending routing"],
  ] as [Permission[], string][]) {
    const all = await startActivityApi(t, { allowed });
    await recordSampleMessages(all);
    const { items } = await all.activity.search({ account: TEST_ACCOUNT });
    assert.equal((await all.call("get", LOG)).body.result.map(({ kind }: { kind: string }) => kind).join(" "), kinds);
    assert.deepEqual(
      await Promise.all(items.map(async ({ id }) => (await all.call("get", `${LOG}/${id}`)).status)),
      items.map(({ kind }) => (kinds.includes(kind) ? 200 : 403)),
    );
    const denied = await all.call("get", LOG, { query: { kind: kinds === "sending" ? "routing" : "sending" } });
    assert.equal(denied.status, kinds.includes(" ") ? 200 : 403);
  }
  const unauthorized = await startActivityApi(t, { allowed: ["DNS Read"] });
  assert.deepEqual(
    [(await unauthorized.call("get", LOG)).status, (await unauthorized.call("get", QUEUE)).status],
    [403, 403],
  );
  // Without permission, the responses for known and unknown entries are the same.
  await recordSampleMessages(unauthorized);
  const [known] = (await unauthorized.activity.search({ account: TEST_ACCOUNT })).items;
  for (const log of [LOG, `/zones/${TEST_ZONE}/email/activity`])
    for (const id of [known!.id, "0".repeat(32)])
      assert.equal((await unauthorized.call("get", `${log}/${id}`)).status, 403);
});

test("hides log entries of a zone that a policy denies, also in the account's list", async (t) => {
  const readers = new Set<Permission>(["Email Routing Rules Read", "Email Sending Read"]);
  const allows: Caller["allows"] = (permission, on) =>
    readers.has(permission) && !(permission === "Email Routing Rules Read" && "zone" in on && on.zone === DENIED);
  const all = await startActivityApi(t, { caller: { ...unrestrictedCaller, deniedZones: [DENIED], allows } });
  const { call, recordStep, activity } = all;
  recordStep("m2", "received", {
    from: "a@there.example",
    to: ["box@denied.example"],
    subject: "Secret",
    messageId: "<in2@there.example>",
    size: 100,
  });
  recordStep("y", "sent", {
    from: "news@denied.example",
    to: ["b@else.example"],
    messageId: "<s2@denied.example>",
    subject: "Told",
    via: "rest",
  });
  await recordSampleMessages(all);
  const subjects = async (query: Record<string, string | number> = {}) =>
    (await call("get", LOG, { query })).body.result.map(({ subject }: { subject: string }) => subject).join(" ");
  const statuses = async () =>
    Promise.all(
      (await activity.search({ account: TEST_ACCOUNT })).items.map(async ({ id, subject }) => [
        subject,
        (await call("get", `${LOG}/${id}`)).status,
      ]),
    );

  // Sent mail belongs to the account: a policy cannot deny it for a single zone.
  assert.deepEqual(
    [await subjects(), await subjects({ kind: "routing" }), await subjects({ kind: "sending" })],
    ["News Hello Told", "Hello", "News Told"],
  );
  assert.deepEqual(
    [
      await subjects({ to: "box@denied.example" }),
      await subjects({ search: "secret" }),
      await subjects({ per_page: 2 }),
    ],
    ["", "", "News Hello"],
  );
  assert.deepEqual(await statuses(), [
    ["News", 200],
    ["Hello", 200],
    ["Told", 200],
    ["Secret", 404],
  ]);
  assert.deepEqual(
    [await subjects({ zone_id: DENIED }), (await call("get", `/zones/${TEST_ZONE}/email/activity`)).body.result.length],
    ["Told", 2],
  );

  readers.delete("Email Sending Read");
  assert.deepEqual([await subjects(), (await call("get", LOG, { query: { zone_id: DENIED } })).status], ["Hello", 403]);
  // Account Analytics Read grants access to the whole log, including entries of the denied zone.
  readers.add("Account Analytics Read");
  assert.equal(await subjects(), "News Hello Told Secret");
});

test("an account fetches the content of its sent message", async (t) => {
  const { call, messages } = await startActivityApi(t);
  const raw = Buffer.from("Subject: \xff\r\n\r\nbody\0\r\n", "latin1");
  await messages.store({ account: TEST_ACCOUNT, messageId: "<s1@here.example>", source: { open: () => raw } });
  await messages.store({ account: OTHER, messageId: "<s2@here.example>", source: { open: () => raw } });
  const path = (id: string) => `/accounts/${TEST_ACCOUNT}/email/sending/messages/${encodeURIComponent(id)}`;
  for (const id of ["<s1@here.example>", "s1@here.example"]) {
    const { status, headers, bytes } = await call("get", path(id));
    assert.deepEqual(
      [status, headers.get("content-type"), headers.get("x-content-type-options"), Buffer.compare(bytes, raw)],
      [200, "message/rfc822", "nosniff", 0],
    );
  }
  for (const id of ["<s2@here.example>", "nothing", "../../x"]) {
    const { status, body } = await call("get", path(id));
    assert.deepEqual(
      [status, body.errors[0].code, body.errors[0].message],
      [404, 10000, "email.sending.error.not_found"],
    );
  }
});

test("lists system mail only for the operator account", async (t) => {
  const all = await startActivityApi(t);
  all.recordStep("<v1@platform.example>", "sent", {
    via: "platform",
    from: "noreply@platform.example",
    to: ["me@else.example"],
    messageId: "<v1@platform.example>",
  });
  const list = async (api: typeof all) =>
    (await api.call("get", `/accounts/${TEST_ACCOUNT}/email/activity?platform=true`)).body.result as {
      id: string;
      to: string;
      status: string;
    }[];
  assert.deepEqual(await list(all), []);
  const operator = await startActivityApi(t, { operator: TEST_ACCOUNT });
  operator.recordStep("<v1@platform.example>", "sent", {
    via: "platform",
    from: "noreply@platform.example",
    to: ["me@else.example"],
    messageId: "<v1@platform.example>",
  });
  const [entry] = await list(operator);
  assert.deepEqual([entry!.to, entry!.status], ["me@else.example", "sent"]);
  assert.equal((await operator.call("get", `/accounts/${TEST_ACCOUNT}/email/activity/${entry!.id}`)).status, 200);
  assert.equal((await all.call("get", `/accounts/${TEST_ACCOUNT}/email/activity/${entry!.id}`)).status, 404);
  assert.deepEqual((await operator.call("get", `/accounts/${TEST_ACCOUNT}/email/activity`)).body.result, []);
});
