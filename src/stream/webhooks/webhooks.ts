import type { Repetition } from "../../kernel/periodic.ts";
import type { GuardedFetch } from "../../kernel/guarded-fetch.ts";
import { type Clock, type Ids, isHexId, type Log } from "../../kernel/index.ts";
import { localSweeps, type Db, type Jobs, type JobWorker, type Secrets, type Sweeps } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { newVideo, showVideo, type StreamUrls, type Video } from "../videos/index.ts";
import { attemptDelivery, WEBHOOK_ATTEMPTS, isSuccess, webhookRetryDelay, webhookUrl } from "./attempt.ts";
import type { WebhookDelivery, WebhookEndpoint, Webhooks, WebhookTopic } from "./types.ts";
import { createWebhooksTable, type EndpointRow } from "./webhooks-table.ts";

export interface WebhooksDeps {
  db: Db;
  jobs: Jobs;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every"> | undefined;
  secrets: Pick<Secrets, "seal" | "open">;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  urls: Pick<StreamUrls, "of">;
  fetch: GuardedFetch;
  /** Also allow loopback and private addresses. */
  allowPrivate: boolean;
  /** JSON that a test sends to live-only endpoints. Default: a video example, as for all other endpoints. */
  liveExample?: (now: number) => string;
}

const WEBHOOK_JOB = "stream.webhook";
/** Maximum number of endpoints in addition to the main one. */
const MAX_ENDPOINTS = 10;
/** Maximum number of concurrent deliveries, which mostly wait for the network. */
const MAX_CONCURRENT_DELIVERIES = 32;
/** Extra attempts, to replace those lost when their process ends. */
const SPARE_ATTEMPTS = 10;
const LEASE_MS = 60_000;
const RECOVER_MS = 60_000;
/** Maximum time between storing a delivery and creating its job. */
const MAX_UNQUEUED_MS = 60_000;
/** Unfinished deliveries of this age have lost their job. */
const GIVE_UP_AFTER_MS = 3 * 86_400_000;
const BATCH = 500;
/**
 * Waiting deliveries of an endpoint: between `from` and `to`, the priority of new ones falls as the queue grows.
 */
const QUEUE_LENGTH = { from: 4, to: 1024 };
const MAX_LIVE_INPUTS = 1000;

export function createWebhooks({
  db,
  jobs,
  sweeps = localSweeps,
  secrets,
  clock,
  ids,
  log,
  urls,
  fetch,
  allowPrivate,
  liveExample,
}: WebhooksDeps): Webhooks {
  const table = createWebhooksTable(db);
  let worker: JobWorker | undefined;
  let recovery: Repetition | undefined;

  const contextOf = (id: string) => `stream-webhook/${id}`;
  const fromRow = ({
    id,
    account_id: account,
    main,
    url,
    secret,
    created_at: created,
    modified_at: modified,
    ...row
  }: EndpointRow): WebhookEndpoint => ({
    id,
    account,
    url,
    main: main === 1,
    ...subscriptionOf(row),
    secret: secrets.open(secret, contextOf(id)),
    created,
    modified,
  });

  function newRow(
    account: string,
    urlText: string,
    main: 0 | 1,
    { topics = ["videos"], liveInputs = [] }: Partial<Subscription> = {},
  ): EndpointRow {
    const [id, now] = [ids.hex(), clock.now()];
    if (topics.length === 0) throw streamErrors.badParameter({ reason: "topics must be videos, live, or both" });
    if (liveInputs.length > MAX_LIVE_INPUTS || !liveInputs.every(isHexId))
      throw streamErrors.badParameter({ reason: `liveInputs can have at most ${MAX_LIVE_INPUTS} uids of live inputs` });
    return {
      id,
      account_id: account,
      main,
      url: webhookUrl(urlText, allowPrivate),
      secret: secrets.seal(ids.hex(), contextOf(id)),
      created_at: now,
      modified_at: now,
      topics: Array.from(new Set(topics)).join(" "),
      live_inputs: JSON.stringify(liveInputs),
    };
  }

  async function get(account: string, id: string): Promise<WebhookEndpoint> {
    const row = isHexId(id) ? await table.endpoint(id) : undefined;
    if (row?.account_id !== account) throw streamErrors.webhookNotFound({ id });
    return fromRow(row);
  }

  async function remove(id: string): Promise<void> {
    if (!(await table.delete(id))) throw streamErrors.webhookNotFound({ id });
  }

  async function main(account: string): Promise<WebhookEndpoint> {
    const row = await table.main(account);
    if (row === undefined) throw streamErrors.webhookNotFound({ id: "of the account" });
    return fromRow(row);
  }

  const storeDelivery = (
    endpoint: string,
    { occasion, video, event, payload }: Pick<WebhookDelivery, "video" | "event" | "payload"> & { occasion: string },
  ) =>
    table.insertDelivery({
      id: ids.hex(),
      endpoint_id: endpoint,
      occasion,
      video,
      event,
      status: "waiting",
      attempts: "[]",
      created_at: clock.now(),
      payload,
    });

  async function enqueue(delivery: WebhookDelivery): Promise<void> {
    // A delivery that has already been attempted has a scheduled next attempt.
    if (delivery.status === "waiting" && delivery.attempts.length === 0)
      await jobs.enqueue(
        WEBHOOK_JOB,
        { delivery: delivery.id },
        {
          key: delivery.id,
          attempts: WEBHOOK_ATTEMPTS + SPARE_ATTEMPTS,
          priority: await priorityFor(delivery.endpoint),
        },
      );
  }

  /**
   * Returns a priority that decreases with each doubling of the number of waiting deliveries, so that a slow endpoint
   * does not delay the deliveries of others.
   */
  async function priorityFor(endpoint: string): Promise<number> {
    return -Math.floor(
      Math.log2(Math.max(1, (await table.countWaiting(endpoint, QUEUE_LENGTH.to)) / QUEUE_LENGTH.from)),
    );
  }

  /** Makes one attempt and records it. */
  async function deliver(
    delivery: WebhookDelivery,
    endpoint: WebhookEndpoint,
    maxAttempts: number,
    signal?: AbortSignal,
  ): Promise<WebhookDelivery> {
    const made = await attemptDelivery(endpoint, delivery.payload, { fetch, clock, ...(signal && { signal }) });
    const attempts = [...delivery.attempts, made];
    const status = isSuccess(made) ? "delivered" : attempts.length >= maxAttempts ? "failed" : "waiting";
    const after: WebhookDelivery = { ...delivery, attempts, status };
    await table.recordAttempts(after);
    if (status === "failed")
      log.info(
        {
          account: endpoint.account,
          webhook: endpoint.id,
          delivery: delivery.id,
          video: delivery.video,
          error: made.error,
        },
        "stream: webhook delivery failed",
      );
    return after;
  }

  async function notifyEndpoints(
    endpoints: readonly EndpointRow[],
    deliveryEvent: Parameters<typeof storeDelivery>[1],
  ): Promise<void> {
    for (const { id } of endpoints) {
      const made = await storeDelivery(id, deliveryEvent);
      if (made !== undefined) await enqueue(made);
    }
  }

  async function recover(): Promise<void> {
    const now = clock.now();
    for (const delivery of await table.waiting(now - MAX_UNQUEUED_MS, { untried: true, limit: BATCH }))
      await enqueue(delivery);
    for (const { id, attempts } of await table.waiting(now - GIVE_UP_AFTER_MS, { untried: false, limit: BATCH }))
      await table.recordAttempts({ id, status: "failed", attempts });
  }

  return {
    setMain: async (account, url) => fromRow(await table.putMain(newRow(account, url, 1))),
    main,
    deleteMain: async (account) => remove((await main(account)).id),
    list: async (account) => (await table.endpoints(account)).map(fromRow),
    async create(account, url, endpointOptions) {
      const row = newRow(account, url, 0, endpointOptions);
      if (!(await table.insert(row, MAX_ENDPOINTS))) throw streamErrors.tooManyWebhooks({ limit: MAX_ENDPOINTS });
      return fromRow(row);
    },
    get,
    delete: async (account, id) => remove((await get(account, id)).id),
    deliveries: async (account, id, page) => table.deliveries((await get(account, id)).id, page),
    async replay(account, id, deliveryId) {
      const endpoint = await get(account, id);
      const before = isHexId(deliveryId) ? await table.delivery(deliveryId) : undefined;
      if (before?.endpoint !== endpoint.id) throw streamErrors.deliveryNotFound({ id: deliveryId });
      const made = await storeDelivery(endpoint.id, { ...before, occasion: ids.hex() });
      if (made === undefined) throw streamErrors.webhookNotFound({ id });
      await enqueue(made);
      return made;
    },
    async test(account, id) {
      const endpoint = await get(account, id);
      const video = exampleVideo(account, clock.now());
      const payload =
        liveExample !== undefined && !endpoint.topics.includes("videos")
          ? liveExample(clock.now())
          : JSON.stringify(showVideo(video, urls));
      const made = await storeDelivery(endpoint.id, { video: video.uid, event: "test", payload, occasion: ids.hex() });
      if (made === undefined) throw streamErrors.webhookNotFound({ id });
      return deliver(made, endpoint, 1);
    },
    async onVideoSettled(video) {
      const endpoints = (await table.endpoints(video.account)).filter((row) =>
        subscriptionOf(row).topics.includes("videos"),
      );
      if (endpoints.length === 0) return;
      const event = video.state === "error" ? "error" : "ready";
      const payload = JSON.stringify(showVideo(video, urls));
      await notifyEndpoints(endpoints, { video: video.uid, event, payload, occasion: `${video.uid} ${event}` });
    },
    async liveEvent({ account, input, type, occasion, payload }) {
      const isSubscribed = (row: EndpointRow) => {
        const { topics, liveInputs } = subscriptionOf(row);
        return topics.includes("live") && (liveInputs.length === 0 || liveInputs.includes(input));
      };
      await notifyEndpoints((await table.endpoints(account)).filter(isSubscribed), {
        video: input,
        event: type,
        payload,
        occasion,
      });
    },
    recover,
    start() {
      worker ??= jobs.work(
        WEBHOOK_JOB,
        { concurrency: MAX_CONCURRENT_DELIVERIES, leaseMs: LEASE_MS, backoff: webhookRetryDelay },
        async ({ payload }, { signal }) => {
          const delivery = await table.delivery((payload as { delivery: string }).delivery);
          if (delivery?.status !== "waiting") return;
          const row = await table.endpoint(delivery.endpoint);
          if (row === undefined) return;
          const { status, attempts } = await deliver(delivery, fromRow(row), WEBHOOK_ATTEMPTS, signal);
          // The rejected job runs again after webhookRetryDelay.
          if (status === "waiting") throw new Error(attempts.at(-1)!.error ?? "not delivered");
        },
      );
      recovery ??= sweeps.every(RECOVER_MS, recover, { name: "stream: recovery of webhook deliveries", log });
      void recovery.run();
    },
    async close() {
      await recovery?.stop();
      await worker?.stop();
    },
  };
}

type Subscription = { topics: readonly WebhookTopic[]; liveInputs: readonly string[] };

const subscriptionOf = ({
  topics,
  live_inputs,
}: Pick<EndpointRow, "topics" | "live_inputs">): Pick<WebhookEndpoint, "topics" | "liveInputs"> => ({
  topics: topics.split(" ") as WebhookTopic[],
  liveInputs: JSON.parse(live_inputs) as string[],
});

/** Returns the example that a webhook test sends. */
function exampleVideo(account: string, now: number): Video {
  const video = newVideo(
    { uid: "0".repeat(32), account, now, state: "pendingupload" },
    { meta: { name: "This is a test of the webhook" }, size: 1_000_000 },
  );
  return {
    ...video,
    state: "ready",
    pctComplete: 100,
    readyToStream: true,
    readyToStreamAt: now,
    uploaded: now,
    duration: 10,
    input: { width: 1280, height: 720 },
  };
}
