import assert from "node:assert/strict";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { PlatformServer } from "../../src/server/index.ts";
import { createScope } from "./dev-bench.ts";
import { createApi, servePlatform, TOKEN, type Api } from "./serve-client.ts";

const ACCOUNT = "com.cloudflare.api.account";
const SECRET = "nobody reads this again";
const HELLO = `export default { fetch: () => new Response("hello") }`;

/** Status and code of the rejection when the token has no access to an account or zone. */
const NOT_ALLOWED = [403, 9109];
/** Operations that are rejected with a different status or code. */
const OTHER_REFUSALS: Record<string, [status: number, code: number]> = {
  // The token is invalid for that account.
  "get /accounts/{account_id}/tokens/verify": [401, 1000],
  // Email Sending has its own documented error codes.
  "post /accounts/{account_id}/email/sending/send": [403, 10102],
  "post /accounts/{account_id}/email/sending/send_raw": [403, 10102],
  // Accepts only the token of an upload session, which belongs to one account.
  "post /accounts/{account_id}/workers/assets/upload": [401, 10000],
};

/** Resources of an account, keyed by the names of path parameters. */
type ResourceIds = Record<string, string>;

describe("the API under abuse", () => {
  const scope = createScope();
  let server: PlatformServer;
  let api: Api;
  let groups: { id: string; name: string; scopes: string[] }[];
  before(async () => {
    server = await servePlatform(scope);
    api = createApi(server, TOKEN);
    groups = await api.ok("get", "/user/tokens/permission_groups");
  });
  after(() => scope.close());

  const groupsOf = (scope: string) => groups.filter(({ scopes }) => scopes[0] === scope).map(({ id }) => ({ id }));
  const make = async (policies: object[]): Promise<string> =>
    (await api.ok("post", "/user/tokens", { body: { name: "limited", policies } })).value;
  const zonesOf = (account: string, zone = "*") => ({
    [`${ACCOUNT}.${account}`]: { [`${ACCOUNT}.zone.${zone}`]: "*" },
  });
  const everythingIn = (account: string) =>
    make([
      { effect: "allow", permission_groups: groupsOf(ACCOUNT), resources: { [`${ACCOUNT}.${account}`]: "*" } },
      { effect: "allow", permission_groups: groupsOf(`${ACCOUNT}.zone`), resources: zonesOf(account) },
    ]);

  async function fill(account: string, name: string): Promise<ResourceIds> {
    const at = createApi({ ...server, account: { id: account } }, TOKEN);
    const kv = (await at.ok("post", "storage/kv/namespaces", { body: { title: name } })).id;
    await at.ok("put", `storage/kv/namespaces/${kv}/values/k`, { body: SECRET });
    await at.ok("post", "r2/buckets", { body: { name: `bucket-${name}` } });
    await at.ok("put", `r2/buckets/bucket-${name}/objects/o`, { body: SECRET });
    const database = (await at.ok("post", "d1/database", { body: { name } })).uuid;
    await at.deploy(name, HELLO, { bindings: [{ type: "secret_text", name: "S", text: SECRET }] });
    const deployment = (await at.ok("get", `workers/scripts/${name}/deployments`)).deployments[0];
    const zone = (await at.ok("post", "/zones", { body: { name: `${name}.example`, account: { id: account } } })).id;
    return {
      account_id: account,
      zone_id: zone,
      namespace_id: kv,
      key_name: "k",
      bucket_name: `bucket-${name}`,
      object_key: "o",
      database_id: database,
      script_name: name,
      service_name: name,
      consumer_name: name,
      environment_name: "production",
      secret_name: "S",
      worker_id: (await at.ok("get", `workers/workers/${name}`)).id,
      version_id: deployment.versions[0].version_id,
      deployment_id: deployment.id,
      id: (await at.ok("post", `workers/scripts/${name}/tails`, { body: {} })).id,
      dns_record_id: (
        await at.ok("post", `/zones/${zone}/dns_records`, { body: { type: "A", name: "x", content: "192.0.2.1" } })
      ).id,
      token_id: (
        await at.ok("post", "tokens", {
          body: {
            name,
            policies: [
              { effect: "allow", permission_groups: groupsOf(ACCOUNT), resources: { [`${ACCOUNT}.${account}`]: "*" } },
            ],
          },
        })
      ).id,
    };
  }

  test(
    "no operation reaches another account, either through its path or through the ids of its resources",
    { timeout: 240_000 },
    async () => {
      const other = (await api.ok("post", "/accounts", { body: { name: "Other" } })).id;
      const [mine, theirs] = [await fill(api.account, "mine"), await fill(other, "theirs")];
      const token = await everythingIn(api.account);
      const { paths } = (await api.call("get", "/openapi.json")).body as {
        paths: Record<string, Record<string, unknown>>;
      };
      const with_ = (path: string, ids: ResourceIds) =>
        path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "none");
      const foreignIds = new Set(
        Object.entries(theirs).flatMap(([name, value]) => (mine[name] === value ? [] : [value])),
      );
      const others: Record<string, [status: number, code: number]> = {};
      let called = 0;
      for (const [path, methods] of Object.entries(paths))
        for (const method of Object.keys(methods)) {
          const options = { token, ...(method !== "get" && { body: "{}" }) };
          if (/\{(account|zone)_id\}/.test(path)) {
            const refusal = await api.refused(method, with_(path, theirs), options);
            if (!isDeepStrictEqual(refusal, NOT_ALLOWED)) others[`${method} ${path}`] = refusal;
          }
          // A stream of events has no end; events.test.ts covers its accounts.
          if (!path.includes("{account_id}") || path.endsWith("/events")) continue;
          const { status, body } = await api.call(method, with_(path, { ...theirs, account_id: api.account }), options);
          const found = JSON.stringify(body.result ?? body);
          assert.ok(status < 500, `${method} ${path}: ${status}`);
          assert.ok(
            status >= 400 || ![...foreignIds].some((id) => id.length >= 32 && found.includes(id)),
            `${method} ${path} exposes another account: ${found}`,
          );
          called++;
        }
      assert.deepEqual(others, OTHER_REFUSALS);
      assert.ok(called > 80, `${called} operations were called`);
      for (const path of ["/accounts", "/zones"])
        assert.ok(!JSON.stringify(await api.ok("get", path, { token })).includes(other), path);
      assert.equal(
        (await api.call("get", `/accounts/${other}/storage/kv/namespaces/${theirs.namespace_id}/values/k`)).body,
        SECRET,
      );
      assert.equal(
        (await api.call("get", `/accounts/${other}/r2/buckets/${theirs.bucket_name}/objects/o`)).body,
        SECRET,
      );

      for (const [path, methods] of Object.entries(paths)) {
        if (!("get" in methods) || /\/(values|objects)\/|\/events$/.test(path)) continue;
        assert.ok(
          !JSON.stringify((await api.call("get", with_(path, mine))).body).includes(SECRET),
          `${path} exposes a secret`,
        );
      }
    },
  );

  test("a token without access to a zone cannot find out that the zone exists", async () => {
    const hidden = (await api.ok("post", "/zones", { body: { name: "hidden.example", account: { id: api.account } } }))
      .id;
    const open = (await api.ok("post", "/zones", { body: { name: "open.example", account: { id: api.account } } })).id;
    const zone = groupsOf(`${ACCOUNT}.zone`);
    const token = await make([
      { effect: "allow", permission_groups: zone, resources: zonesOf(api.account) },
      { effect: "deny", permission_groups: zone, resources: { [`${ACCOUNT}.zone.${hidden}`]: "*" } },
    ]);
    const seen = (await api.ok("get", "/zones", { token })).map(({ id }: { id: string }) => id);
    assert.deepEqual([seen.includes(open), seen.includes(hidden)], [true, false]);
    assert.deepEqual(await api.refused("get", `/zones/${hidden}`, { token }), [403, 9109]);
  });

  const raw = (request: string) => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(request);
    return text(socket).then((answer) => Number(answer.split(" ")[1] ?? 0));
  };

  test("malformed requests and requests that specify two hosts are rejected", { timeout: 240_000 }, async () => {
    const head = (line: string, ...headers: string[]) =>
      `${[line, ...headers, `Authorization: Bearer ${TOKEN}`, "Connection: close"].join("\r\n")}\r\n\r\n`;
    assert.equal(await raw(head("GET /client/v4/accounts HTTP/1.1", "Host: a")), 200);
    assert.equal(await raw(head("GET /client/v4/accounts HTTP/1.1", "Host: a", "Host: mine.main.localhost")), 400);
    assert.equal(await raw(head("GET /client/v4/accounts HTTP/1.1")), 400);
    assert.equal(await raw(head("GET /client/v4/accounts HTTP/1.1", "Host: a/b?")), 400);
    assert.equal(await raw(head("GET http://a/client/v4/accounts HTTP/1.1", "Host: a")), 404);
    assert.equal(await raw(head("GET //client/v4/accounts HTTP/1.1", "Host: a")), 404);
    assert.equal(await raw(head(`GET /client/v4/accounts/${api.account}/../../user HTTP/1.1`, "Host: a")), 404);
    assert.equal(await raw(head(`GET /client/v4/accounts%2f${api.account} HTTP/1.1`, "Host: a")), 404);
    assert.equal(
      await raw(
        head("POST /client/v4/accounts HTTP/1.1", "Host: a", "Content-Length: 4", "Transfer-Encoding: chunked"),
      ),
      400,
    );
    assert.equal(
      await raw(head("POST /client/v4/accounts HTTP/1.1", "Host: a", "Content-Length: 4", "Content-Length: 5")),
      400,
    );
  });
});
