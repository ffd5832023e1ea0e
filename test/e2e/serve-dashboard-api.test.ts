import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PlatformServer } from "../../src/server/index.ts";
import { createScope } from "./dev-bench.ts";
import { createApi, servePlatform, TOKEN, type Api } from "./serve-client.ts";

/** Operations that the pages of an account and of its server need. */
describe("an account and its server", () => {
  const scope = createScope();
  let server: PlatformServer;
  let api: Api;
  before(async () => {
    server = await servePlatform(scope, { env: { REELPOST_HTTP_METRICS_TOKEN: "metrics-secret" } });
    api = createApi(server, TOKEN);
  });
  after(() => scope.close());

  test("the operator sees components, and problems that need attention", async () => {
    await api.ok("post", "email/routing/addresses", { body: { email: "me@elsewhere.example" } });
    const zone = (await api.ok("post", "/zones", { body: { name: "example.com", account: { id: api.account } } })).id;
    await api.ok("post", `/zones/${zone}/email/routing/dns`, { body: {} });
    const mx = (await api.ok("get", `/zones/${zone}/dns_records?type=MX`))[0];
    await api.ok("patch", `/zones/${zone}/email/routing/dns`, { body: {} }).catch(() => {});
    await api.call("delete", `/zones/${zone}/dns_records/${mx.id}`);
    const health = await api.ok("get", "health");
    const names = health.components.map(({ name }: { name: string }) => name);
    for (const name of ["Database", "Disk", "Outgoing mail", "Certificates"]) assert.ok(names.includes(name), name);
    assert.equal(health.components[0].status, "ok");
    const address = health.attention.find(({ kind }: { kind: string }) => kind === "destination-address");
    assert.match(address.text, /me@elsewhere\.example is not verified/);
    assert.notEqual(health.status, "ok");
  });

  test("another account sees neither the server nor its components", async () => {
    const other = (await api.ok("post", "/accounts", { body: { name: "Other" } })).id;
    assert.deepEqual(await api.ok("get", `/accounts/${other}/health`), { status: "ok", components: [], attention: [] });
    for (const path of ["server", "server/settings", "server/certificates", "server/cluster"])
      assert.deepEqual(await api.refused("get", `/accounts/${other}/${path}`), [403, 9109]);
  });

  test("the operator sees version, settings with their origin, and certificates", async () => {
    const description = await api.ok("get", "server");
    assert.deepEqual([description.version, description.database], ["0.0.0", "sqlite"]);
    assert.ok(description.urls.some(({ name }: { name: string }) => name === "API"));
    const settings = await api.ok("get", "server/settings");
    const of = (name: string) => settings.find((one: { name: string }) => one.name === name);
    assert.deepEqual([of("http.port").value, of("http.port").origin], [0, "environment"]);
    assert.deepEqual([of("http.metrics_token").value, of("http.metrics_token").secret], [null, true]);
    assert.equal(of("email.log_days").origin, "default");
    assert.ok(!JSON.stringify(settings).includes(TOKEN) && !JSON.stringify(settings).includes("metrics-secret"));
    const [certificate] = await api.ok("get", "server/certificates");
    assert.deepEqual([certificate.source, certificate.error], ["self-signed", null]);
    assert.ok(certificate.names.includes("localhost") && Date.parse(certificate.not_after) > Date.now());
  });

  test("a cron trigger shows its next runs, and is run on request", async () => {
    await api.deploy(
      "clock",
      `export default {
        async scheduled(event) { if (event.cron === "0 0 1 1 *") throw new Error("not today"); },
        async fetch() { return new Response(); },
      }`,
    );
    await api.ok("put", "workers/scripts/clock/schedules", { body: [{ cron: "*/5 * * * *" }] });
    const [trigger] = await api.ok("get", "workers/scripts/clock/schedules/next");
    assert.deepEqual([trigger.cron, trigger.next.length], ["*/5 * * * *", 5]);
    assert.ok(Date.parse(trigger.next[0]) > Date.now());
    const run = (cron: string) => api.ok("post", "workers/scripts/clock/schedules/run", { body: { cron } });
    assert.deepEqual(await run("*/5 * * * *"), { cron: "*/5 * * * *", outcome: "ok", exception: null });
    assert.deepEqual(await run("0 0 1 1 *"), {
      cron: "0 0 1 1 *",
      outcome: "exception",
      exception: "Error: not today",
    });
    assert.deepEqual(
      await api.refused("post", "workers/scripts/clock/schedules/run", { body: { cron: "never" } }),
      [400, 10100],
    );
    assert.equal(
      (await api.refused("post", "workers/scripts/none/schedules/run", { body: { cron: "* * * * *" } }))[0],
      404,
    );
  });

  test("paused destinations of an account are listed", async () => {
    assert.deepEqual(await api.ok("get", "email/queue/pauses"), []);
    assert.equal(
      (await api.refused("post", "email/queue/pauses/resume", { body: { destination: "x.example" } }))[0],
      404,
    );
  });
});
