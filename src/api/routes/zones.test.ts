import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Caller } from "../../accounts/index.ts";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createLocalEvents, migrate, openSqlite } from "../../store/index.ts";
import { createZones, zonesMigrations } from "../../zones/index.ts";
import { unrestrictedCaller, startApi, TEST_ACCOUNT } from "../api.testing.ts";
import { dnsRecordRoutes } from "./dns-records.ts";
import { zonesRoutes } from "./zones.ts";

const OTHER = "e".repeat(32);
const ACCOUNTS = [
  { id: TEST_ACCOUNT, name: "Dev Account" },
  { id: OTHER, name: "Other" },
];

async function start(t: TestContext, caller: Caller = { ...unrestrictedCaller, accounts: [TEST_ACCOUNT, OTHER] }) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-zones-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, zonesMigrations);
  const events = createLocalEvents({ log: silentLog });
  const zones = createZones({
    db,
    clock: systemClock,
    ids: randomIds,
    events,
    nameServers: ["ns1.reelpost.example", "ns2.reelpost.example"],
  });
  const accounts = {
    list: async (by: Caller) => {
      const items = ACCOUNTS.filter(({ id }) => by.accounts.includes(id)).map((account) => ({
        ...account,
        type: "standard" as const,
        settings: { enforceTwofactor: false },
        createdAt: 0,
      }));
      return { items, total: items.length };
    },
  };
  const api = await startApi(t, {
    routes: [...zonesRoutes({ zones, accounts }), ...dnsRecordRoutes({ zones })],
    caller,
    gate: { zoneAccount: zones.zoneAccount },
  });
  t.after(async () => {
    zones.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true });
  });
  const zone = async (name = "example.com", account = TEST_ACCOUNT) => (await zones.create({ account, name })).id;
  return { ...api, zones, zone };
}

const codes = ({
  status,
  body,
}: {
  status: number;
  body: { errors: { code: number; error_chain?: { code: number }[] }[] };
}) => [status, body.errors[0]?.code, body.errors[0]?.error_chain?.[0]?.code];

test("zones: created, found by name as wrangler does, updated, deleted", async (t) => {
  const { call } = await start(t);
  const made = await call("post", "/zones", {
    body: { name: "Example.COM", account: { id: TEST_ACCOUNT }, type: "full", jump_start: true },
  });
  assert.equal(made.status, 200);
  const { id } = made.body.result;
  assert.deepEqual(
    [made.body.result.name, made.body.result.status, made.body.result.account, made.body.result.name_servers.length],
    ["example.com", "active", { id: TEST_ACCOUNT, name: "Dev Account" }, 2],
  );
  const found = await call("get", "/zones", { query: { name: "example.com", "account.id": TEST_ACCOUNT } });
  assert.deepEqual(
    [found.body.result.map((zone: { id: string }) => zone.id), found.body.result_info],
    [[id], { page: 1, per_page: 20, count: 1, total_count: 1, total_pages: 1 }],
  );
  assert.deepEqual((await call("get", `/zones/${id}`)).body.result, made.body.result);
  const changed = await call("patch", `/zones/${id}`, { body: { paused: true } });
  assert.equal(changed.body.result.paused, true);
  assert.deepEqual(
    (await call("patch", `/zones/${id}`, { body: { vanity_name_servers: ["ns1.example.com"] } })).body.result
      .vanity_name_servers,
    ["ns1.example.com"],
  );
  assert.deepEqual((await call("delete", `/zones/${id}`)).body.result, { id });
  assert.deepEqual(codes(await call("get", `/zones/${id}`)), [404, 7003, undefined]);
});

test("zones: filters, order, finite paging", async (t) => {
  const { call, zone } = await start(t);
  for (const name of ["a.test", "b.test", "c.example"]) await zone(name);
  await zone("d.test", OTHER);
  const names = async (query: Record<string, string | number>) => {
    const { status, body } = await call("get", "/zones", { query });
    return status === 200 ? body.result.map(({ name }: { name: string }) => name).join(" ") : status;
  };
  assert.equal(await names({}), "a.test b.test c.example d.test");
  assert.equal(await names({ name: "ends_with:.test", direction: "desc" }), "d.test b.test a.test");
  assert.equal(await names({ name: "contains:ex" }), "c.example");
  assert.equal(await names({ name: "starts_with:b" }), "b.test");
  assert.equal(await names({ name: "not_equal:a.test", per_page: 2, page: 2 }), "d.test");
  assert.equal(await names({ "account.name": "contains:dev" }), "a.test b.test c.example");
  assert.equal(await names({ "account.name": "contains_case_sensitive:dev" }), "");
  assert.equal(await names({ "account.id": OTHER, name: "a.test", match: "any" }), "a.test d.test");
  assert.equal(await names({ order: "account.name", direction: "desc" }), "d.test c.example b.test a.test");
  assert.equal(await names({ status: "pending" }), "");
  assert.equal(await names({ type: "full,partial" }), "a.test b.test c.example d.test");
  assert.equal(await names({ page: 9 }), "");
  assert.equal(await names({ type: "quick" }), 400);
  assert.equal(await names({ order: "colour" }), 400);
});

test("zones: rejects invalid zones with the published code", async (t) => {
  const { call, zone } = await start(t);
  await zone();
  const post = async (body: unknown) => codes(await call("post", "/zones", { body })).slice(0, 2);
  const account = { id: TEST_ACCOUNT };
  assert.deepEqual(await post({ name: "example.com", account }), [400, 1061]);
  assert.equal(
    (await call("post", "/zones", { body: { name: "example.com", account } })).body.errors[0].message,
    "example.com already exists",
  );
  assert.deepEqual(await post({ name: "localhost", account }), [400, 1003]);
  assert.deepEqual(await post({ name: "co.uk", account }), [400, 1049]);
  assert.deepEqual(await post({ name: "x.test", account, type: "secondary" }), [400, 1098]);
  assert.deepEqual(await post({ name: "x.test", account, type: "quick" }), [400, 10001]);
  assert.deepEqual(await post({ account }), [400, 10001]);
  assert.deepEqual(await post({ name: "x.test" }), [400, 10001]);
  assert.deepEqual(await post({ name: "x.test", account: { id: "f".repeat(32) } }), [403, 9109]);
  assert.deepEqual(await post("{"), [400, 6007]);
});

test("zones: a token for one zone sees only that zone", async (t) => {
  let mine = "";
  const caller: Caller = {
    ...unrestrictedCaller,
    accounts: [TEST_ACCOUNT],
    allows: (permission, on) => permission === "Zone Read" && "zone" in on && on.zone === mine,
  };
  const { call, zone } = await start(t, caller);
  mine = await zone("mine.test");
  const other = await zone("other.test");
  assert.deepEqual(
    (await call("get", "/zones")).body.result.map(({ name }: { name: string }) => name),
    ["mine.test"],
  );
  assert.equal((await call("get", `/zones/${mine}`)).status, 200);
  assert.deepEqual(codes(await call("get", `/zones/${other}`)).slice(0, 2), [403, 9109]);
  assert.deepEqual(codes(await call("delete", `/zones/${mine}`)).slice(0, 2), [403, 9109]);
  assert.deepEqual(codes(await call("get", `/zones/${mine}/dns_records`)).slice(0, 2), [403, 9109]);
  assert.deepEqual(codes(await call("post", "/zones", { body: { name: "x.test" } })).slice(0, 2), [403, 9109]);
});

test("records: every type is returned as published, and accepted in the same form", async (t) => {
  const { call, zone } = await start(t);
  const base = `/zones/${await zone()}/dns_records`;
  const hex = "ab".repeat(32);
  const bodies: Record<string, unknown>[] = [
    {
      type: "A",
      name: "a",
      content: "192.0.2.1",
      ttl: 120,
      proxied: true,
      comment: "hello",
      tags: ["team:dns"],
      settings: { ipv4_only: true },
      private_routing: true,
    },
    { type: "AAAA", name: "a", content: "2001:db8::1", ttl: 1 },
    { type: "CNAME", name: "c", content: "x.example.net", settings: { flatten_cname: true } },
    { type: "MX", name: "@", content: "mx.example.net", priority: 10 },
    { type: "NS", name: "n", content: "ns.example.net" },
    { type: "PTR", name: "p", content: "host.example.net" },
    { type: "TXT", name: "@", content: "v=spf1 -all" },
    { type: "OPENPGPKEY", name: "o", content: "mQENBFVHm5sBCADa" },
    { type: "CAA", name: "@", data: { flags: 0, tag: "issue", value: "letsencrypt.org" } },
    { type: "CERT", name: "x", data: { type: 9, key_tag: 1, algorithm: 8, certificate: "TUlJ" } },
    { type: "DNSKEY", name: "x", data: { flags: 257, protocol: 3, algorithm: 13, public_key: "TUlJ" } },
    { type: "DS", name: "n", data: { key_tag: 1, algorithm: 13, digest_type: 2, digest: hex } },
    {
      type: "HTTPS",
      name: "h",
      data: { priority: 1, target: ".", value: 'alpn="h3,h2" ipv4hint="127.0.0.1" ipv6hint="::1"' },
    },
    { type: "SVCB", name: "h", data: { priority: 0, target: "svc.example.net" } },
    {
      type: "LOC",
      name: "l",
      data: {
        lat_degrees: 37,
        lat_minutes: 46,
        lat_seconds: 46,
        lat_direction: "N",
        long_degrees: 122,
        long_minutes: 23,
        long_seconds: 35,
        long_direction: "W",
        altitude: 0,
        size: 100,
        precision_horz: 0,
        precision_vert: 0,
      },
    },
    {
      type: "NAPTR",
      name: "l",
      data: {
        order: 100,
        preference: 10,
        flags: "u",
        service: "E2U+sip",
        regex: "!^.*$!sip:info@example.com!",
        replacement: ".",
      },
    },
    { type: "SMIMEA", name: "l", data: { usage: 3, selector: 0, matching_type: 1, certificate: hex } },
    { type: "SRV", name: "_sip._tcp", data: { priority: 10, weight: 5, port: 8806, target: "example.net" } },
    { type: "SSHFP", name: "l", data: { algorithm: 4, type: 2, fingerprint: hex } },
    { type: "TLSA", name: "_443._tcp", data: { usage: 3, selector: 1, matching_type: 1, certificate: hex } },
    { type: "URI", name: "l", priority: 10, data: { weight: 20, target: "http://example.com/example.html" } },
  ];
  for (const body of bodies) {
    const made = await call("post", base, { body });
    assert.equal(made.status, 200, JSON.stringify([body, made.body]));
    const record = made.body.result;
    assert.deepEqual((await call("get", `${base}/${record.id}`)).body.result, record);
    const { modified_on: _, comment_modified_on: __, tags_modified_on: ___, ...steady } = record;
    const again = (await call("put", `${base}/${record.id}`, { body: record })).body.result;
    assert.deepEqual({ ...again, ...steady }, again, "a returned record that is sent back is unchanged");
    assert.equal(
      (await call("patch", `${base}/${record.id}`, { body: { comment: "patched" } })).body.result.comment,
      "patched",
    );
  }
  const list = await call("get", base);
  assert.deepEqual(
    [list.body.result.length, list.body.result_info.total_count, list.body.result_info.per_page],
    [21, 21, 100],
  );
  assert.deepEqual((await call("get", `${base}/usage`)).body.result, { record_usage: 21, record_quota: null });
  assert.deepEqual(list.body.result.find(({ type }: { type: string }) => type === "MX").priority, 10);

  const file = (await call("get", `${base}/export`)).text;
  for (const { id } of list.body.result) assert.deepEqual((await call("delete", `${base}/${id}`)).body.result, { id });
  const form = new FormData();
  form.set("file", new File([file], "bind_config.txt", { type: "text/plain" }));
  assert.deepEqual((await call("post", `${base}/import`, { body: form })).body.result, {
    recs_added: 21,
    total_records_parsed: 21,
  });
  const strip = (items: { id: string; content: string }[]) =>
    items
      .map((item) =>
        JSON.stringify(
          Object.entries({
            ...item,
            id: "",
            created_on: "",
            modified_on: "",
            comment_modified_on: "",
            tags_modified_on: "",
            settings: {},
            private_routing: false,
            // A zone file contains the normal form.
            ...(item.content === "v=spf1 -all" && { content: '"v=spf1 -all"' }),
          }).sort(),
        ),
      )
      .sort();
  assert.deepEqual(strip((await call("get", base)).body.result), strip(list.body.result));
});

test("records: query filters", async (t) => {
  const { call, zone } = await start(t);
  const base = `/zones/${await zone()}/dns_records`;
  const post = (body: object) => call("post", base, { body });
  await post({ type: "A", name: "www", content: "192.0.2.1", tags: ["team:DNS", "kind:web"], comment: "web" });
  await post({ type: "TXT", name: "_acme-challenge", content: "token" });
  await post({ type: "NS", name: "sub", content: "ns.example.net" });
  await post({ type: "A", name: "deep.sub", content: "192.0.2.2", tags: ["team:mail"] });
  const names = async (query: string) => {
    const { status, body } = await call("get", `${base}?${query}`);
    return status === 200
      ? body.result.map(({ name }: { name: string }) => name.replace(".example.com", "")).join(" ")
      : body.errors[0].code;
  };
  assert.equal(await names("type=a"), "deep.sub www");
  assert.equal(await names("name=WWW.example.com."), "www");
  assert.equal(await names("name.contains=acme&type=TXT&content=token"), "_acme-challenge");
  assert.equal(await names("content=%22token%22"), "_acme-challenge");
  assert.equal(await names("content.startswith=192&order=content&direction=desc"), "deep.sub www");
  assert.equal(await names("comment=WEB"), "www");
  assert.equal(await names("comment.present"), "www");
  assert.equal(await names("comment.absent=&type=A"), "deep.sub");
  assert.equal(await names("tag=team"), "deep.sub www");
  assert.equal(await names("tag=team:dns"), "www");
  assert.equal(await names("tag.exact=team:mail&tag.exact=kind:web"), "");
  assert.equal(await names("tag.exact=team:mail&tag.exact=kind:web&tag_match=any"), "deep.sub www");
  assert.equal(await names("tag.absent=kind&match=any&name=sub.example.com"), "deep.sub sub _acme-challenge");
  assert.equal(await names("tag.contains=kind"), 9209);
  assert.equal(await names("search=challenge"), "_acme-challenge");
  assert.equal(await names("proxied=false&per_page=1&page=2"), "www");
  assert.equal(await names("shadowing_name=x.deep.sub.example.com"), "sub");
  assert.equal(await names("shadowed_by_name=sub.example.com&include_shadow_metadata=true"), "deep.sub");
  assert.equal(await names("shadowed_by_name=sub.example.com"), 9209);
  assert.equal(await names("shadowing_name=example.com"), 9209);
  assert.equal(await names("type=NOPE"), 10001);
  assert.equal(await names("page=5"), "");
});

test("records: reports errors by code", async (t) => {
  const { call, zone, zones } = await start(t);
  const id = await zone();
  const base = `/zones/${id}/dns_records`;
  const post = async (body: unknown) => codes(await call("post", base, { body }));
  assert.deepEqual(await post({ type: "A", name: "x", content: "1.2.3" }), [400, 1004, 9005]);
  assert.deepEqual((await call("post", base, { body: { type: "A", name: "x", content: "1.2.3" } })).body, {
    success: false,
    messages: [],
    result: null,
    errors: [
      {
        code: 1004,
        message: "DNS Validation Error",
        error_chain: [{ code: 9005, message: "Content for A record is invalid. Must be a valid IPv4 address" }],
      },
    ],
  });
  await post({ type: "A", name: "x", content: "192.0.2.1" });
  assert.deepEqual(await post({ type: "A", name: "X", content: "192.0.2.1" }), [400, 81058, undefined]);
  assert.deepEqual(await post({ type: "CNAME", name: "x", content: "y.example.net" }), [400, 81053, undefined]);
  assert.deepEqual((await post({ type: "A", content: "192.0.2.1" })).slice(0, 2), [400, 10001]);
  assert.deepEqual((await post({ type: "A", name: "x", content: 7 })).slice(0, 2), [400, 10001]);
  assert.deepEqual((await post({ type: "A", name: "x", ttl: "soon" })).slice(0, 2), [400, 10001]);
  assert.deepEqual((await post("not json")).slice(0, 2), [400, 6007]);
  assert.deepEqual(codes(await call("get", `${base}/${"0".repeat(32)}`)), [404, 81044, undefined]);
  assert.deepEqual(codes(await call("delete", `${base}/nonsense`)), [404, 81044, undefined]);
  assert.deepEqual(codes(await call("get", `/zones/${"0".repeat(32)}/dns_records`)).slice(0, 2), [404, 7003]);
  const { id: kept } = (
    await zones.records.managed.set(await zones.get(id), {
      owner: "email-routing",
      locked: true,
      meta: { email_routing: true },
      records: [{ type: "MX", name: "@", content: "r.example.net", priority: 1 }],
    })
  )[0]!;
  assert.deepEqual((await call("get", `${base}/${kept}`)).body.result.meta, {
    email_routing: true,
    managed_by: "email-routing",
    read_only: true,
  });
  assert.deepEqual(codes(await call("patch", `${base}/${kept}`, { body: { ttl: 60 } })), [400, 1046, undefined]);
});

test("zones: null is treated as omitted", async (t) => {
  const { call, zone } = await start(t);
  const id = await zone();
  const before = (await call("patch", `/zones/${id}`, { body: { paused: true } })).body.result;
  const { status, body } = await call("patch", `/zones/${id}`, {
    body: { paused: null, type: null, vanity_name_servers: null },
  });
  assert.deepEqual([status, body.result], [200, { ...before, modified_on: body.result.modified_on }]);
  const made = await call("post", "/zones", {
    body: { name: "null.example", account: { id: TEST_ACCOUNT }, type: null },
  });
  assert.deepEqual([made.status, made.body.result.type], [200, "full"]);
});

test("records: content of TXT, CNAME and AAAA is returned as it was sent", async (t) => {
  const { call, zone } = await start(t);
  const id = await zone();
  const base = `/zones/${id}/dns_records`;
  for (const [type, content, other] of [
    ["TXT", "v=spf1  include:x.example ~all", '"v=spf1  include:x.example ~all"'],
    ["TXT", '"one" "two"', '"one" "two"'],
    ["CNAME", "Target.Example.NET.", "target.example.net"],
    ["AAAA", "2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
  ] as const) {
    const made = (await call("post", base, { body: { type, name: `n-${type.toLowerCase()}`, content } })).body.result;
    assert.deepEqual([made.content, made.comment], [content, null]);
    const patched = await call("patch", `${base}/${made.id}`, { body: { ttl: 120 } });
    assert.equal(patched.body.result.content, content);
    for (const searched of [content, other]) {
      const found = await call("get", base, { query: { type, "content.exact": searched } });
      assert.deepEqual(
        found.body.result.map((record: { id: string }) => record.id),
        [made.id],
        searched,
      );
    }
    const zoneFile = (await call("get", `${base}/export`)).text;
    assert.ok(zoneFile.includes(other), zoneFile);
    assert.equal((await call("put", `${base}/${made.id}`, { body: made })).body.result.content, content);
    assert.equal((await call("post", base, { body: { type, name: made.name, content: other } })).status, 400);
    await call("delete", `${base}/${made.id}`);
  }
});

test("records: null is treated as omitted", async (t) => {
  const { call, zone } = await start(t);
  const base = `/zones/${await zone()}/dns_records`;
  const { status, body } = await call("post", base, {
    body: {
      type: "A",
      name: "x",
      content: "192.0.2.1",
      data: null,
      priority: null,
      ttl: null,
      proxied: null,
      comment: null,
      tags: null,
      settings: null,
    },
  });
  assert.deepEqual([status, body.result.ttl, body.result.tags], [200, 1, []]);
});

test("records: a batch", async (t) => {
  const { call, zone } = await start(t);
  const base = `/zones/${await zone()}/dns_records`;
  const first = (await call("post", base, { body: { type: "A", name: "x", content: "192.0.2.1", ttl: 1 } })).body
    .result;
  const { status, body } = await call("post", `${base}/batch`, {
    body: {
      deletes: [{ id: first.id }],
      posts: [
        { type: "A", name: "x", content: "192.0.2.1", ttl: 1 },
        { type: "CNAME", name: "y", content: "x.example.com" },
      ],
    },
  });
  assert.deepEqual(
    [status, body.result.deletes[0].id, body.result.posts.length, body.result.patches, body.result.puts],
    [200, first.id, 2, [], []],
  );
  assert.deepEqual(codes(await call("post", `${base}/batch`, { body: { patches: [{ id: first.id, ttl: 60 }] } })), [
    404,
    81044,
    undefined,
  ]);
  assert.deepEqual(
    codes(await call("post", `${base}/batch`, { body: { patches: [{ ttl: 60 }] } })).slice(0, 2),
    [400, 10001],
  );
  assert.deepEqual((await call("post", `${base}/batch`, { body: {} })).body.result, {
    deletes: [],
    patches: [],
    puts: [],
    posts: [],
  });
});

test("zone files: rejects invalid forms", async (t) => {
  const { call, zone } = await start(t);
  const base = `/zones/${await zone()}/dns_records`;
  const send = async (file: string | File | undefined, fields: Record<string, string> = {}) => {
    const form = new FormData();
    if (file !== undefined) form.set("file", file);
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return call("post", `${base}/import`, { body: form });
  };
  assert.deepEqual(codes(await send(undefined, { proxied: "true" })).slice(0, 2), [400, 9208]);
  assert.deepEqual(codes(await send(new File([new Uint8Array([0x61, 0xff])], "x"))).slice(0, 2), [400, 9208]);
  assert.deepEqual(codes(await call("post", `${base}/import`, { body: "www A 192.0.2.1" })).slice(0, 2), [400, 10021]);
  const bad = await send("www A 192.0.2.1\nwww A nonsense\n");
  assert.deepEqual(codes(bad), [400, 9207, 9207]);
  assert.match(bad.body.errors[0].error_chain[0].message, /^line 2: address: it is not an IPv4 address/);
  assert.deepEqual((await send("www A 192.0.2.1\n", { proxied: "true" })).body.result, {
    recs_added: 1,
    total_records_parsed: 1,
  });
  assert.equal((await call("get", base)).body.result[0].proxied, true);
  const exported = await call("get", `${base}/export`);
  assert.match(exported.headers.get("content-type")!, /^text\/plain/);
  assert.match(exported.text, /^www\.example\.com\.\t1\tIN\tA\t192\.0\.2\.1 ; cf_tags=cf-proxied:true$/m);
  assert.match(exported.text, /^example\.com\.\t86400\tIN\tNS\tns1\.reelpost\.example\.$/m);
});

test("scans find nothing", async (t) => {
  const { call, zone } = await start(t);
  const base = `/zones/${await zone()}/dns_records`;
  assert.deepEqual((await call("post", `${base}/scan`)).body.result, { recs_added: 0, total_records_parsed: 0 });
  assert.equal((await call("post", `${base}/scan/trigger`)).status, 200);
  assert.deepEqual((await call("get", `${base}/scan/review`)).body.result, []);
  assert.deepEqual((await call("post", `${base}/scan/review`, { body: { accepts: [], rejects: [] } })).body.result, {
    accepts: [],
    rejects: [],
  });
  assert.deepEqual(
    codes(await call("post", `${base}/scan/review`, { body: { rejects: [{ id: "x" }] } })).slice(0, 2),
    [404, 81044],
  );
});

test("zones: a zone that a policy denies does not appear in any list", async (t) => {
  const denied: string[] = [];
  const caller: Caller = {
    ...unrestrictedCaller,
    accounts: [TEST_ACCOUNT, OTHER],
    deniedZones: denied,
    allows: (_, on) => !("zone" in on && denied.includes(on.zone)),
  };
  const { call, zone } = await start(t, caller);
  const seen = await zone("seen.test");
  denied.push(await zone("hidden.test"), "0".repeat(32));
  const { result, result_info } = (await call("get", "/zones")).body;
  assert.deepEqual([result.map(({ id }: { id: string }) => id), result_info.total_count], [[seen], 1]);
  assert.equal((await call("get", `/zones/${denied[0]}`)).status, 403);
});
