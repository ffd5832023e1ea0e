import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const scope = createScope();
let platform: Platform;
before(async () => void (platform = await startPlatform(scope)));
after(() => scope.close());

const hex = (digit: string) => digit.repeat(32);
const UUID = "11111111-2222-4333-8444-555555555555";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

interface Made {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line no-explicit-any
  body: any;
}

async function post(path: string, id: string | undefined, body: unknown, more: Record<string, string> = {}) {
  const { api, token } = platform;
  const response = await fetch(`${api}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${more["token"] ?? token}`,
      ...(id !== undefined && { "reelpost-id": id }),
      ...(body instanceof FormData ? {} : { "content-type": "application/json" }),
      ...more,
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const made: Made = {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
  };
  return made;
}

const keys = { publish: `${hex("1")}k${hex("2")}`, playback: `${hex("3")}k${hex("4")}` };

test("the operator can choose the ids of new resources, and each id only once", async () => {
  const base = `/accounts/${platform.account}`;
  const image = () => {
    const form = new FormData();
    form.set("file", new File([PNG], "logo.png"));
    return form;
  };
  const tus = { "tus-resumable": "1.0.0", "upload-length": "1000" };
  const kinds: [what: string, id: string, create: (id: string, n: number) => Promise<Made>, field: string][] = [
    ["zone", hex("a"), (id, n) => post("/zones", id, { name: `chosen${n}.example` }), "id"],
    ["namespace", hex("b"), (id, n) => post(`${base}/storage/kv/namespaces`, id, { title: `t${n}` }), "id"],
    ["database", UUID, (id, n) => post(`${base}/d1/database`, id, { name: `d${n}` }), "uuid"],
    ["live input", hex("c"), (id) => post(`${base}/stream/live_inputs`, id, {}), "uid"],
    ["watermark", hex("d"), (id) => post(`${base}/stream/watermarks`, id, image()), "uid"],
    ["video", hex("e"), (id) => post(`${base}/stream`, id, {}, tus), "stream-media-id"],
  ];
  for (const [what, id, create, field] of kinds) {
    const first = await create(id, 1);
    assert.equal(first.body?.result?.[field] ?? first.headers.get(field), id, `${what}: ${JSON.stringify(first.body)}`);
    // A client that did not receive the response to its create request retries the request.
    assert.equal((await create(id, 2)).status, what === "video" ? 201 : 409, what);
    assert.equal((await create("not-an-id", 3)).status, 400, what);
  }
});

test("the operator can choose the keys of a live input", async () => {
  const path = `/accounts/${platform.account}/stream/live_inputs`;
  const made = await post(path, undefined, { keys });
  assert.deepEqual(
    [
      made.body.result.srt?.passphrase ?? made.body.result.rtmp?.streamKey,
      made.body.result.webRTC.url.includes(keys.publish),
    ],
    [keys.publish, true],
  );
  assert.equal((await post(path, undefined, { keys: { publish: "short", playback: "short" } })).status, 400);
});

test("a token without the operator's permission cannot choose ids, keys or verified addresses", async () => {
  const base = `/accounts/${platform.account}`;
  const made = await post("/user/tokens", undefined, {
    name: "member",
    policies: [
      {
        effect: "allow",
        resources: { [`com.cloudflare.api.account.${platform.account}`]: "*" },
        permission_groups: await Promise.all(
          ["Stream Write", "Workers KV Storage Write", "Email Routing Addresses Write"].map(async (name) => ({
            id: (await platform.ask<{ id: string; name: string }[]>("/user/tokens/permission_groups")).find(
              (group) => group.name === name,
            )!.id,
          })),
        ),
      },
    ],
  });
  const authorization = `Bearer ${made.body.result.value}`;
  for (const [path, id, body] of [
    [`${base}/stream/live_inputs`, hex("f"), {}],
    [`${base}/stream/live_inputs`, undefined, { keys }],
    [`${base}/storage/kv/namespaces`, hex("f"), { title: "member" }],
    [`${base}/email/routing/addresses`, undefined, { email: "ada@example.org", status: "verified" }],
  ] as const)
    assert.equal((await post(path, id, body, { authorization })).status, 403, path);
  assert.equal(
    (await post(`${base}/storage/kv/namespaces`, undefined, { title: "member" }, { authorization })).status,
    200,
  );
});

test("an administrator can create a verified destination address", async () => {
  const path = `/accounts/${platform.account}/email/routing/addresses`;
  const made = await post(path, undefined, { email: "ada@example.org", status: "verified" });
  assert.notEqual(made.body.result.verified, null);
});
