import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { all, failsWith, sdk, toFile } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const main = (edition: string) =>
  `import { name } from "./name.mjs";\nexport default { fetch: (request, env) => new Response([name, "${edition}", env.PLACE, env.KEY].join(" ")), scheduled() {} };\n`;
const files = async (edition: string) => [
  await toFile(Buffer.from(main(edition)), "worker.mjs", { type: "application/javascript+module" }),
  await toFile(Buffer.from(`export const name = "sdk";\n`), "name.mjs", { type: "application/javascript+module" }),
];
const metadata = {
  main_module: "worker.mjs",
  compatibility_date: "2026-10-01",
  compatibility_flags: ["nodejs_compat"],
  bindings: [{ type: "plain_text", name: "PLACE", text: "here" }],
};

describe("cloudflare SDK: workers", () => {
  const scope = createScope();
  let platform: Platform;
  let account_id: string;
  let client: ReturnType<typeof sdk>;
  const script_name = "shop";
  before(async () => {
    platform = await startPlatform(scope);
    account_id = platform.account;
    client = sdk(platform, { apiToken: platform.token });
  });
  after(scope.close);

  const received = async () => (await platform.visit(script_name)).text;
  const newest = async (): Promise<string> =>
    (await client.workers.scripts.versions.list(script_name, { account_id })).result.items[0].id;

  it("scripts.update deploys files, and get, list and search find the worker", async () => {
    const made = await client.workers.scripts.update(script_name, { account_id, metadata, files: await files("one") });
    assert.deepEqual([made.id, made.handlers, made.has_modules], [script_name, ["fetch", "scheduled"], true]);
    // A worker uploaded through the API has no public URL until one is enabled.
    assert.equal((await platform.visit(script_name)).status, 404);
    await client.workers.scripts.subdomain.create(script_name, { account_id, enabled: true });
    assert.equal(await received(), "sdk one here ");
    assert.deepEqual(
      (await all(client.workers.scripts.list({ account_id }))).map(({ id }) => id),
      [script_name],
    );
    assert.deepEqual(
      (await client.workers.scripts.search({ account_id, name: "sho" })).map(
        ({ script_name }: { script_name: string }) => script_name,
      ),
      [script_name],
    );
    assert.match(await client.workers.scripts.get(script_name, { account_id }), /export default/);
    assert.match(
      await (await client.workers.scripts.content.get(script_name, { account_id })).text(),
      /export const name = "sdk"/,
    );
  });

  it("a script in service-worker format is sent as text", async () => {
    const form = {
      account_id,
      metadata: { body_part: "script", compatibility_date: "2026-10-01" },
      files: [
        await toFile(
          Buffer.from(`addEventListener("fetch", (event) => event.respondWith(new Response("old style")));`),
          "script",
          { type: "application/javascript" },
        ),
      ],
    };
    await client.workers.scripts.update("old", form);
    await client.workers.scripts.subdomain.create("old", { account_id, enabled: true });
    assert.equal((await platform.visit("old")).text, "old style");
    await client.workers.scripts.delete("old", { account_id });
    assert.equal((await platform.visit("old")).status, 404);
  });

  it("a worker with a disabled subdomain has no URL", async () => {
    assert.deepEqual(await client.workers.subdomains.get({ account_id }), { subdomain: platform.label });
    assert.equal((await client.workers.scripts.subdomain.get(script_name, { account_id })).enabled, true);
    await client.workers.scripts.subdomain.create(script_name, { account_id, enabled: false });
    assert.equal((await platform.visitHost(script_name)).status, 404);
    await client.workers.scripts.subdomain.create(script_name, { account_id, enabled: true, previews_enabled: false });
    assert.equal((await platform.visitHost(script_name)).text, "sdk one here ");
  });

  it("secrets are put, listed, read, changed in bulk, and deleted", async () => {
    const { secrets } = client.workers.scripts;
    assert.deepEqual(
      await secrets.update(script_name, { account_id, name: "KEY", text: "s3cret", type: "secret_text" }),
      { name: "KEY", type: "secret_text" },
    );
    assert.equal(await received(), "sdk one here s3cret");
    assert.deepEqual(await secrets.get("KEY", { account_id, script_name }), { name: "KEY", type: "secret_text" });
    await secrets.bulkUpdate(script_name, {
      account_id,
      secrets: {
        KEY: { name: "KEY", text: "other", type: "secret_text" },
        TWO: { name: "TWO", text: "2", type: "secret_text" },
      },
    });
    assert.equal(await received(), "sdk one here other");
    await secrets.delete("TWO", { account_id, script_name });
    assert.deepEqual(await all(secrets.list(script_name, { account_id })), [{ name: "KEY", type: "secret_text" }]);
    await assert.rejects(
      secrets.get("TWO", { account_id, script_name }),
      (error: { status: number }) => error.status === 404,
    );
    await assert.rejects(
      secrets.update("nobody", { account_id, name: "KEY", text: "x", type: "secret_text" }),
      failsWith(404, 10007),
    );
  });

  it("versions and deployments are uploaded, split, listed to the end, and rolled back", async () => {
    const { versions, deployments } = client.workers.scripts;
    const first = await newest();
    const made = await versions.create(script_name, {
      account_id,
      metadata: { ...metadata, keep_bindings: ["secret_text"], annotations: { "workers/message": "second" } },
      files: await files("two"),
    });
    assert.equal(await received(), "sdk one here other");
    const shown = await versions.get(made.id, { account_id, script_name });
    assert.deepEqual(
      [shown.id, shown.number, shown.resources.script_runtime.compatibility_date],
      [made.id, made.number, "2026-10-01"],
    );
    assert.deepEqual(shown.resources.bindings.map(({ name }: { name: string }) => name).sort(), ["KEY", "PLACE"]);

    const deploy = (...parts: [version_id: string, percentage: number][]) =>
      deployments.create(script_name, {
        account_id,
        strategy: "percentage",
        versions: parts.map(([version_id, percentage]) => ({ version_id, percentage })),
      });
    const split = await deploy([first, 50], [made.id, 50]);
    const editions = new Set<string>();
    for (let visits = 0; visits < 64 && editions.size < 2; visits++) editions.add(await received());
    assert.deepEqual([...editions].sort(), ["sdk one here other", "sdk two here other"]);
    await deploy([made.id, 100]);
    for (let visits = 0; visits < 5; visits++) assert.equal(await received(), "sdk two here other");

    const listed = (await deployments.list(script_name, { account_id })).result.deployments;
    assert.deepEqual(
      listed.slice(0, 2).map(({ versions }: { versions: unknown }) => versions),
      [
        [{ version_id: made.id, percentage: 100 }],
        [
          { version_id: first, percentage: 50 },
          { version_id: made.id, percentage: 50 },
        ],
      ],
    );
    assert.equal((await deployments.get(split.id, { account_id, script_name })).id, split.id);
    await all(deployments.list(script_name, { account_id }));
    const numbers = (await all<{ number: number }>(versions.list(script_name, { account_id, per_page: 2 }))).map(
      ({ number }) => number,
    );
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => numbers.length - index),
    );

    await assert.rejects(deploy([first, 60], [made.id, 50]), (error: { status: number }) => error.status === 400);
    await assert.rejects(
      deploy(["00000000-0000-4000-8000-000000000000", 100]),
      (error: { status: number }) => error.status === 400 || error.status === 404,
    );
    assert.equal(await received(), "sdk two here other");
    await deploy([first, 100]);
    assert.equal(await received(), "sdk one here other");
    // Settings are part of a version, and changing them must not deploy newer code.
    const moved = { settings: { bindings: [{ type: "plain_text", name: "PLACE", text: "there" }] } };
    await assert.rejects(
      client.workers.scripts.scriptAndVersionSettings.edit(script_name, { account_id, ...moved }),
      failsWith(400, 10215),
    );
    await deploy([made.id, 100]);
  });

  it("schedules, settings and content change only their own fields", async () => {
    const { schedules, settings, scriptAndVersionSettings, content } = client.workers.scripts;
    await schedules.update(script_name, { account_id, body: [{ cron: "*/30 * * * *" }] });
    assert.deepEqual(
      (await schedules.get(script_name, { account_id })).schedules.map(({ cron }: { cron: string }) => cron),
      ["*/30 * * * *"],
    );
    await assert.rejects(
      schedules.update(script_name, { account_id, body: [{ cron: "not a cron" }] }),
      (error: { status: number }) => error.status === 400,
    );

    assert.equal((await settings.edit(script_name, { account_id, logpush: true })).logpush, true);
    assert.equal((await settings.get(script_name, { account_id })).logpush, true);
    const edited = await scriptAndVersionSettings.edit(script_name, {
      account_id,
      settings: {
        bindings: [
          { type: "plain_text", name: "PLACE", text: "there" },
          { type: "inherit", name: "KEY" },
        ],
      },
    });
    assert.deepEqual(edited.bindings.map(({ name }: { name: string }) => name).sort(), ["KEY", "PLACE"]);
    assert.equal(await received(), "sdk two there other");

    await content.update(script_name, {
      account_id,
      metadata: { main_module: "worker.mjs" },
      files: await files("three"),
    });
    assert.equal(await received(), "sdk three there other");
  });

  it("workers are listed and read through the beta routes", async () => {
    const [worker, ...others] = await all(client.workers.beta.workers.list({ account_id, per_page: 5 }));
    assert.deepEqual([worker!.name, others.length], [script_name, 0]);
    assert.equal((await client.workers.beta.workers.get(worker!.id, { account_id })).name, script_name);
    const listed = await all(client.workers.beta.workers.versions.list(worker!.id, { account_id, per_page: 3 }));
    assert.equal(listed[0]!.id, await newest());
  });

  it("renames a worker, by name and by id", async () => {
    const { workers } = client.workers.beta;
    const { id } = await workers.get(script_name, { account_id });
    const renamed = await workers.edit(script_name, { account_id, name: "store" });
    assert.deepEqual([renamed.id, renamed.name], [id, "store"]);
    assert.match(renamed.subdomain.url ?? "", /store/);
    await assert.rejects(workers.get(script_name, { account_id }), failsWith(404, 10007));
    await assert.rejects(client.workers.scripts.versions.list(script_name, { account_id }), failsWith(404, 10007));
    assert.equal((await platform.visit(script_name)).status, 404);
    assert.equal((await platform.visit("store")).text, "sdk three there other");

    await client.workers.scripts.update("taken", { account_id, metadata, files: await files("taken") });
    await assert.rejects(workers.edit("store", { account_id, name: "taken" }), failsWith(409, 10040));
    await client.workers.scripts.delete("taken", { account_id, force: true });
    assert.equal((await workers.update(id, { account_id, name: script_name })).name, script_name);
    assert.equal(await received(), "sdk three there other");
  });

  it("invalid uploads are rejected and do not affect the running version", async () => {
    const update = (more: Record<string, unknown>, parts: unknown) =>
      client.workers.scripts.update(script_name, { account_id, metadata: { ...metadata, ...more }, files: parts });
    const broken = [
      await toFile(Buffer.from("export default {"), "worker.mjs", { type: "application/javascript+module" }),
    ];
    await assert.rejects(update({}, broken), failsWith(400, 10021));
    await assert.rejects(update({ main_module: "none.mjs" }, await files("four")), failsWith(400, 10021));
    await assert.rejects(
      update({ bindings: [{ type: "kv_namespace", name: "KV", namespace_id: "0".repeat(32) }] }, await files("four")),
      failsWith(400, 10041),
    );
    await assert.rejects(
      update({ bindings: [{ type: "telepathy", name: "T" }] }, await files("four")),
      failsWith(400, 10021),
    );
    const big = [
      await toFile(Buffer.alloc(11 * 1024 * 1024, "/"), "worker.mjs", { type: "application/javascript+module" }),
    ];
    await assert.rejects(
      update({}, big),
      (error: { status: number; errors: { code: number }[] }) =>
        error.errors[0]!.code === 10027 && (error.status === 413 || error.status === 400),
    );
    assert.equal(await received(), "sdk three there other");
  });

  it("a worker is deleted", async () => {
    await client.workers.scripts.delete(script_name, { account_id, force: true });
    assert.deepEqual(await all(client.workers.scripts.list({ account_id })), []);
    await assert.rejects(client.workers.scripts.versions.list(script_name, { account_id }), failsWith(404, 10007));
  });
});
