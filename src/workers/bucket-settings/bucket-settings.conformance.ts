import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, type UserError } from "../../kernel/index.ts";
import { createLocalEvents, openFsObjects } from "../../store/index.ts";
import { createR2Service, r2Migrations } from "../bindings/r2/index.ts";
import { createQueueStore, queueMigrations } from "../queues/index.ts";
import { createBucketSettings } from "./settings.ts";
import { watchDeletedZones } from "./deleted-zones.ts";
import { createLifecycleSweep } from "./lifecycle-sweep.ts";
import { createR2Notifications } from "./notifications.ts";
import type { CustomDomain, LifecycleRule } from "./port.ts";
import { bucketSettingsMigrations } from "./schema.ts";
import type { DomainLimits } from "./settings-table.ts";

const ACCOUNT = "a".repeat(32);
const DAY = 24 * 3600_000;

const refusal = (kind: string) => (err: unknown) => {
  assert.equal((err as UserError).kind, kind, String(err));
  return true;
};

async function start(engine: TestEngine, t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "bucket-settings-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { db, another: openAnother } = await engine.open(t, [
    ...r2Migrations,
    ...queueMigrations,
    ...bucketSettingsMigrations,
  ]);
  const clock = createManualClock(Date.now());
  const events = createLocalEvents({ log: silentLog });
  t.after(() => events.close());
  const shared = { clock, ids: randomIds };
  const queue = createQueueStore({ db, events, ...shared, log: silentLog });
  const settings = createBucketSettings({ db, ...shared });
  const { onChange } = createR2Notifications({ settings, ...queue, clock, log: silentLog });
  const r2 = createR2Service({
    db,
    objects: await openFsObjects({ folder }),
    ...shared,
    limits: { minimumPartBytes: 1 },
    onChange,
    onRemoved: settings.removeBucket,
  });
  t.after(() => r2.buckets.close());
  const { id, name } = await r2.bucketList.create(ACCOUNT, "bucket");
  return {
    clock,
    settings,
    queue,
    ...r2,
    ref: { id, name, account: ACCOUNT },
    id,
    events,
    put: (key: string) => r2.buckets.put(id, key, Buffer.from(key)),
    keys: async () => (await r2.buckets.list(id)).objects.map(({ key }) => key),
    openElsewhere: async (domainLimits?: DomainLimits) =>
      createBucketSettings({ db: await openAnother(), ...shared, ...(domainLimits && { domainLimits }) }),
  };
}

export function bucketSettingsConformance(engine: TestEngine): void {
  test("the settings of a bucket are independent of each other and visible to other processes", async (t) => {
    const { settings, ref, id, openElsewhere } = await start(engine, t);
    assert.deepEqual(await settings.get(id), { notifications: [], managedHostEnabled: false });
    const rules = [{ allowed: { origins: ["*"], methods: ["GET" as const] } }];
    await settings.setCors(ref, rules);
    await settings.setManagedHost(ref, true);
    await settings.setLifecycle(ref, []);
    const otherProcess = await openElsewhere();
    assert.deepEqual(await otherProcess.get(id), {
      ...ref,
      cors: rules,
      lifecycle: [],
      notifications: [],
      managedHostEnabled: true,
    });
    await settings.setCors(ref, undefined);
    const { cors, managedHostEnabled } = await settings.get(id);
    assert.deepEqual([cors, managedHostEnabled], [undefined, true]);
  });

  test("invalid rules are rejected and change nothing", async (t) => {
    const { settings, ref, id } = await start(engine, t);
    const cors = (origins: string[], headers?: string[]) =>
      settings.setCors(ref, [{ allowed: { origins, methods: ["GET"], ...(headers && { headers }) } }]);
    for (const origin of ["https://example.com/", "example.com", "https://*.*.example.com", "", "https://a b"])
      await assert.rejects(cors([origin]), refusal("invalidCors"), origin);
    await assert.rejects(cors([]), refusal("invalidCors"));
    await assert.rejects(cors(["*"], ["a b"]), refusal("invalidCors"));
    await assert.rejects(cors(["*"], Array<string>(101).fill("x-a")), refusal("invalidCors"));
    const rule: LifecycleRule = { id: "r", enabled: true, conditions: { prefix: "" } };
    const deletion = (condition: unknown): LifecycleRule =>
      ({ ...rule, deleteObjectsTransition: { condition } }) as LifecycleRule;
    for (const rules of [
      [rule],
      [deletion({ type: "Age", maxAge: 0 })],
      [deletion({ type: "Date", date: "soon" })],
      [deletion({ type: "Age", maxAge: 1 }), deletion({ type: "Age", maxAge: 1 })],
    ])
      await assert.rejects(settings.setLifecycle(ref, rules), refusal("invalidLifecycle"), JSON.stringify(rules));
    assert.deepEqual(await settings.get(id), { notifications: [], managedHostEnabled: false });
  });

  test("a domain belongs to one bucket, and serves it while the domain is enabled", async (t) => {
    const { settings, ref, id, bucketList, openElsewhere, clock } = await start(engine, t);
    const domain: CustomDomain = {
      domain: "files.example.com",
      bucket: id,
      account: ACCOUNT,
      zone: "z",
      enabled: true,
      minTls: "1.0",
      ciphers: [],
    };
    const otherProcess = await openElsewhere();
    assert.equal(await otherProcess.findBucketByDomain("files.example.com"), undefined);
    await settings.addDomain(domain);
    await assert.rejects(settings.addDomain({ ...domain, bucket: "another" }), refusal("domainTaken"));
    await assert.rejects(settings.addDomain({ ...domain, domain: "no host" }), refusal("invalidDomain"));
    assert.deepEqual(await settings.findBucketByDomain("files.example.com"), { id, account: ACCOUNT });
    assert.equal(await settings.findBucketByDomain("example.com"), undefined);
    clock.advance(6000);
    assert.deepEqual(await otherProcess.findBucketByDomain("files.example.com"), { id, account: ACCOUNT });
    await settings.updateDomain(id, "Files.example.com", { enabled: false, minTls: "1.2" });
    assert.equal(await settings.findBucketByDomain("files.example.com"), undefined);
    assert.deepEqual(await settings.listDomains(id), [{ ...domain, enabled: false, minTls: "1.2" }]);
    await assert.rejects(settings.removeDomain("another", "files.example.com"), refusal("noDomain"));
    await settings.updateDomain(id, "files.example.com", { enabled: true });
    // Deleting the bucket releases the domain.
    await bucketList.delete(ACCOUNT, ref.name);
    assert.equal(await settings.findBucketByDomain("files.example.com"), undefined);
    await settings.addDomain({ ...domain, bucket: "another" });
  });

  test("the domains in a deleted zone are deleted with it, or at the next start", async (t) => {
    const { settings, id, events } = await start(engine, t);
    const add = (domain: string, zone: string, account = ACCOUNT) =>
      settings.addDomain({ domain, bucket: id, account, zone, enabled: true, minTls: "1.0", ciphers: [] });
    const domains = async () => (await settings.listDomains(id)).map(({ domain }) => domain);
    const zones = new Set(["z1", "z2", "z3"]);
    for (const zone of zones) await add(`${zone}.example.com`, zone);
    const deletedZones = watchDeletedZones({
      settings,
      zones: { find: async (zone) => (zones.has(zone) ? zone : undefined) },
      events,
      zoneDeletedTopic: "zone-deleted",
      log: silentLog,
    });
    zones.delete("z1");
    events.publish("zone-deleted", "z1");
    while ((await domains()).length === 3) await new Promise((resolve) => void setImmediate(resolve));
    assert.deepEqual(await domains(), ["z2.example.com", "z3.example.com"]);
    assert.equal(await settings.findBucketByDomain("z1.example.com"), undefined);
    zones.delete("z2");
    await deletedZones.load();
    assert.deepEqual(await domains(), ["z3.example.com"]);
    await deletedZones.close();
  });

  test("a domain that remains from another account is replaced", async (t) => {
    const { settings, id } = await start(engine, t);
    const domain: CustomDomain = {
      domain: "files.example.com",
      bucket: "another",
      account: "b".repeat(32),
      zone: "z1",
      enabled: true,
      minTls: "1.0",
      ciphers: [],
    };
    await settings.addDomain(domain);
    await settings.addDomain({ ...domain, bucket: id, account: ACCOUNT, zone: "z2" });
    assert.deepEqual(await settings.findBucketByDomain("files.example.com"), { id, account: ACCOUNT });
    assert.deepEqual(await settings.listDomains("another"), []);
  });

  test("a bucket, an account and the server have a limited number of domains", async (t) => {
    const { settings, id, openElsewhere } = await start(engine, t);
    const add = (bucket: string, n: number, { account = ACCOUNT, to = settings } = {}) =>
      to.addDomain({
        domain: `d${n}.${bucket}.example`,
        bucket,
        account,
        zone: "z",
        enabled: true,
        minTls: "1.0",
        ciphers: [],
      });
    const isFull = (owner: string, limit: number) => (err: UserError) => {
      assert.equal(err.message.split(".")[0], `The ${owner} already has ${limit} custom domains`);
      return refusal("tooManyDomains")(err);
    };
    for (let n = 0; n < 50; n++) await add(id, n);
    await assert.rejects(add(id, 50), isFull("bucket", 50));
    await assert.rejects(add(id, 0), refusal("domainTaken"));
    await settings.removeDomain(id, `d0.${id}.example`);
    await add(id, 50);
    const to = await openElsewhere({ perBucket: 50, perAccount: 51, perServer: 52 });
    await add("second", 0, { to });
    await assert.rejects(add("second", 1, { to }), isFull("account", 51));
    await add("theirs", 0, { to, account: "b".repeat(32) });
    await assert.rejects(add("others", 0, { to, account: "c".repeat(32) }), isFull("server", 52));
  });

  test("lifecycle rules delete and move objects and abort uploads, by age, date and prefix", async (t) => {
    const { settings, ref, id, clock, put, keys, buckets } = await start(engine, t);
    const { sweep } = createLifecycleSweep({ settings, buckets, clock });
    for (const key of ["logs/old", "other", "archive/a"]) await put(key);
    const upload = await buckets.createUpload(id, "logs/upload");
    const keptUpload = await buckets.createUpload(id, "upload");
    await settings.setLifecycle(ref, [
      {
        id: "logs",
        enabled: true,
        conditions: { prefix: "logs/" },
        deleteObjectsTransition: { condition: { type: "Age", maxAge: 86_400 } },
        abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 86_400 } },
      },
      {
        id: "archive",
        enabled: true,
        conditions: { prefix: "archive/" },
        storageClassTransitions: [{ condition: { type: "Age", maxAge: 3600 }, storageClass: "InfrequentAccess" }],
      },
      {
        id: "later",
        enabled: true,
        conditions: { prefix: "other" },
        deleteObjectsTransition: {
          condition: { type: "Date", date: new Date(clock.now() + 3 * DAY).toISOString() },
        },
      },
      {
        id: "off",
        enabled: false,
        conditions: { prefix: "" },
        deleteObjectsTransition: { condition: { type: "Age", maxAge: 1 } },
      },
    ]);
    await sweep();
    assert.deepEqual(await keys(), ["archive/a", "logs/old", "other"]);
    clock.advance(DAY + 1000);
    await put("logs/new");
    await sweep();
    assert.deepEqual(await keys(), ["archive/a", "logs/new", "other"]);
    assert.equal((await buckets.head(id, "archive/a"))!.storageClass, "InfrequentAccess");
    assert.deepEqual(
      (await buckets.listUploads(id)).uploads.map(({ uploadId }) => uploadId),
      [keptUpload.uploadId],
    );
    await assert.rejects(buckets.uploadPart(id, upload, 1, Buffer.from("x")), refusal("noSuchUpload"));
    clock.advance(3 * DAY);
    await sweep();
    assert.deepEqual(await keys(), ["archive/a"]);
  });

  test("an object that is overwritten during a sweep is kept", async (t) => {
    const { settings, ref, id, clock, put, keys, buckets } = await start(engine, t);
    await put("a");
    await put("b");
    await settings.setLifecycle(ref, [
      {
        id: "all",
        enabled: true,
        conditions: { prefix: "" },
        deleteObjectsTransition: { condition: { type: "Age", maxAge: 1 } },
      },
    ]);
    clock.advance(2000);
    const { sweep } = createLifecycleSweep({
      settings,
      clock,
      buckets: {
        ...buckets,
        async list(...args) {
          const page = await buckets.list(...args);
          await put("a");
          return page;
        },
      },
    });
    await sweep();
    assert.deepEqual(await keys(), ["a"]);
    assert.equal((await buckets.head(id, "a"))!.uploaded.getTime(), clock.now());
  });

  test("accounts take turns in a sweep, and the next sweep continues where an account reached its maximum", async (t) => {
    const { settings, ref, id, clock, put, buckets, bucketList } = await start(engine, t);
    const smallAccount = "b".repeat(32);
    const small = await bucketList.create(smallAccount, "small");
    const second = await bucketList.create(ACCOUNT, "second");
    const rule: LifecycleRule = {
      id: "all",
      enabled: true,
      conditions: { prefix: "" },
      deleteObjectsTransition: { condition: { type: "Age", maxAge: 1 } },
    };
    for (const [bucket, account] of [
      [ref, ACCOUNT],
      [second, ACCOUNT],
      [small, smallAccount],
    ] as const)
      await settings.setLifecycle({ ...bucket, account }, [rule]);
    for (const key of ["a", "b", "c", "d", "e"]) await put(key);
    for (const key of ["a", "b"])
      for (const { id: other } of [second, small]) await buckets.put(other, key, Buffer.from(key));
    clock.advance(2000);
    const nameOf = new Map([
      [id, "big"],
      [second.id, "big"],
      [small.id, "small"],
    ]);
    const calls: string[] = [];
    const { sweep } = createLifecycleSweep({
      settings,
      clock,
      pagesPerAccount: 3,
      buckets: {
        ...buckets,
        list(bucket, options) {
          calls.push(nameOf.get(bucket)!);
          return buckets.list(bucket, { ...options, limit: 1 });
        },
      },
    });
    await sweep();
    assert.deepEqual(calls.slice(0, 4), ["big", "small", "big", "small"]);
    assert.ok(calls.length <= 6, calls.join());
    assert.deepEqual((await buckets.list(small.id)).objects, []);
    for (let before = await remaining(); before > 0;) {
      await sweep();
      const after = await remaining();
      assert.ok(after < before, `${before} ${after}`);
      before = after;
    }

    async function remaining() {
      return (await buckets.list(id)).objects.length + (await buckets.list(second.id)).objects.length;
    }
  });

  test("object changes become messages in the queues of matching rules", async (t) => {
    const { settings, ref, id, queue, put, buckets, clock } = await start(engine, t);
    const eventQueue = await queue.queues.create(ACCOUNT, "events");
    const deletionQueue = await queue.queues.create(ACCOUNT, "deletions");
    await settings.addNotifications(ref, eventQueue.id, [
      { actions: ["PutObject", "CopyObject", "CompleteMultipartUpload"], prefix: "img/", suffix: ".png" },
      // Overlaps with the previous rule: the queue still receives one message.
      { actions: ["PutObject"], prefix: "img/a" },
    ]);
    await settings.addNotifications(ref, deletionQueue.id, [{ actions: ["DeleteObject", "LifecycleDeletion"] }]);
    const receivedBodies = async (target: typeof eventQueue) =>
      (await queue.messages.peek(target, 100)).map(({ body, contentType }) => {
        assert.equal(contentType, "json");
        return JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>;
      });

    const { etag } = await put("img/a.png");
    await put("img/b.jpg");
    await put("doc/c.png");
    await buckets.put(id, "img/d.png", Buffer.from("copy"), { copiedFrom: { bucket: "bucket", key: "img/a.png" } });
    const upload = await buckets.createUpload(id, "img/e.png");
    const part = await buckets.uploadPart(id, upload, 1, Buffer.from("part"));
    await buckets.completeUpload(id, upload, [part]);
    const commonFields = { account: ACCOUNT, bucket: "bucket", eventTime: new Date(clock.now()).toISOString() };
    const [putBody, copyBody, completeBody, ...otherBodies] = await receivedBodies(eventQueue);
    assert.deepEqual(putBody, {
      ...commonFields,
      action: "PutObject",
      object: { key: "img/a.png", size: 9, eTag: etag },
    });
    assert.deepEqual(
      [copyBody!.action, copyBody!.copySource],
      ["CopyObject", { bucket: "bucket", object: "img/a.png" }],
    );
    assert.deepEqual([completeBody!.action, otherBodies], ["CompleteMultipartUpload", []]);

    await buckets.delete(id, ["img/a.png", "doc/c.png", "absent"]);
    await buckets.expire(id, [(await buckets.head(id, "img/b.jpg"))!.version]);
    assert.deepEqual(
      (await receivedBodies(deletionQueue)).map(({ action, object }) => JSON.stringify([action, object])).toSorted(),
      [
        '["DeleteObject",{"key":"doc/c.png"}]',
        '["DeleteObject",{"key":"img/a.png"}]',
        '["LifecycleDeletion",{"key":"img/b.jpg"}]',
      ],
    );

    // The change does not fail if the queue no longer exists.
    await queue.queues.delete(ACCOUNT, eventQueue.id);
    await put("img/f.png");
    const rules = (await settings.get(id)).notifications;
    await assert.rejects(settings.removeNotifications(ref, eventQueue.id, ["none"]), refusal("noNotification"));
    await settings.removeNotifications(ref, eventQueue.id, [rules[0]!.id]);
    await settings.removeNotifications(ref, eventQueue.id);
    await assert.rejects(settings.removeNotifications(ref, eventQueue.id), refusal("noNotification"));
    assert.equal((await settings.get(id)).notifications.length, 1);
  });
}
