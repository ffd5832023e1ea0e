import assert from "node:assert/strict";
import { test } from "node:test";
import { codes, openZonesApi } from "./zones.testing.ts";

test("returns records of every type in the published form, and accepts that form", async (t) => {
  const { call, zone } = await openZonesApi(t);
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
  const mx = list.body.result.find(({ type }: { type: string }) => type === "MX");
  assert.deepEqual([mx.priority, mx.data], [10, null], "a type without specific fields has no data");

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
            // Zone files contain the normalized form.
            ...(item.content === "v=spf1 -all" && { content: '"v=spf1 -all"' }),
          }).sort(),
        ),
      )
      .sort();
  assert.deepEqual(strip((await call("get", base)).body.result), strip(list.body.result));
});

test("filters the list of records by query parameters", async (t) => {
  const { call, zone } = await openZonesApi(t);
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

test("reports errors in records by code", async (t) => {
  const { call, zone, zones } = await openZonesApi(t);
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

test("returns the content of TXT, CNAME and AAAA records as it was sent", async (t) => {
  const { call, zone } = await openZonesApi(t);
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

test("treats null in a record as an omitted field", async (t) => {
  const { call, zone } = await openZonesApi(t);
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

test("applies a batch of record changes", async (t) => {
  const { call, zone } = await openZonesApi(t);
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
