import assert from "node:assert/strict";
import { request, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { spawnServe } from "../../test/support/serve.ts";
import { settingsSchema, type SettingsInput } from "../kernel/settings.ts";
import { checkHosts } from "./serve-dashboard.ts";

test("rejects a host name of the dashboard at which workers or uploads are served", () => {
  const check = (input: SettingsInput) => checkHosts(settingsSchema.parse(input));
  const dashboard = { hosts: ["Admin.example.com"] };
  check({ dashboard, api: { hosts: ["api.example.com"] }, http: { public_url: "https://api.example.com" } });
  for (const input of [
    { api: { hosts: ["admin.example.com"] } },
    { http: { public_url: "https://admin.example.com:8443/" } },
    { stream: { upload_host: "admin.example.com:8443" } },
  ] satisfies SettingsInput[])
    assert.throws(() => check({ dashboard, ...input }), /Admin\.example\.com is in both dashboard\.hosts and/);
});

test("serves the dashboard at its host name on the HTTP port, separately from the API and the workers", async (t) => {
  const { ready } = await spawnServe(t, {
    env: {
      REELPOST_DASHBOARD_HOSTS: "admin.example.com",
      REELPOST_API_HOSTS: "api.example.com,127.0.0.1",
      REELPOST_HTTP_PUBLIC_URL: "https://api.example.com",
    },
  });
  assert.equal(ready.dashboard, "https://admin.example.com");

  async function get(host: string, path: string, headers: Record<string, string> = {}) {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request(`${ready.url}${path}`, { headers: { ...headers, host } }, resolve)
      .on("error", reject)
      .end();
    const response = await promise;
    return {
      status: response.statusCode,
      headers: response.headers,
      text: Buffer.concat(await response.toArray()).toString(),
    };
  }
  const info = await get("admin.example.com", "/app.json");
  assert.equal(JSON.parse(info.text).urls.api, "https://api.example.com");
  assert.equal(JSON.parse(info.text).chunkBytes, 200 * 1024 * 1024);
  // Clients without credentials do not learn the version of the program.
  const signedIn = { authorization: `Bearer ${ready.token}` };
  for (const [host, path, versionOf] of [
    ["admin.example.com", "/app.json", ({ version }: { version?: string }) => version],
    ["api.example.com", "/client/v4/openapi.json", ({ info }: { info: { version: string } }) => info.version],
  ] as const) {
    const versionFor = async (headers: Record<string, string>) =>
      versionOf(JSON.parse((await get(host, path, headers)).text) as never);
    assert.match((await versionFor(signedIn))!, /^\d+\.\d+\.\d+/, path);
    for (const headers of [{}, { authorization: "Bearer wrong" }] as Record<string, string>[])
      assert.equal(await versionFor(headers), path === "/app.json" ? undefined : "4", path);
  }
  const user = await get("admin.example.com", "/client/v4/user", { authorization: `Bearer ${ready.token}` });
  assert.equal(user.status, 200);
  assert.match(String(user.headers["content-security-policy"]), /sandbox/);
  // Neither workers nor health pages nor uploads are on the origin of the dashboard.
  for (const path of ["/workers/x/", "/upload/x", "/metrics"]) {
    const response = await get("admin.example.com", path);
    assert.match(String(response.headers["content-security-policy"]), /frame-ancestors 'none'/, path);
  }
  assert.equal((await get("api.example.com", "/app.json")).status, 404);
  assert.equal((await get("other.example.com", "/app.json")).status, 421);
});
