import { streamWebhookRoutes, type Route } from "../../api/index.ts";
import { createGuardedFetch, type GuardedFetch } from "../../kernel/guarded-fetch.ts";
import type { Secrets } from "../../store/index.ts";
import { createWebhooks, liveNotificationExample, type StreamUrls, type Webhooks } from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeWebhooksParts {
  store: Pick<Store, "db" | "jobs">;
  secrets: Secrets;
  urls: StreamUrls;
  /** `stream.allow_private`; in `reelpost dev` always. */
  allowPrivate: boolean;
  /** Default: one of its own, by the same rule. */
  fetch?: GuardedFetch;
}

export interface ComposedWebhooks {
  webhooks: Webhooks;
  routes: Route[];
  /** Delivers from now on. In one or more of the processes that share a database. */
  start(): void;
}

const EVERY_MS = 60_000;

/** To be made before videos, whose `onSettled` is `webhooks.settled`. */
export function composeWebhooks(
  {
    store: { db, jobs },
    secrets,
    urls,
    allowPrivate,
    fetch = createGuardedFetch({ allowPrivate }),
  }: ComposeWebhooksParts,
  { clock, ids, log, lifecycle }: Basics,
): ComposedWebhooks {
  const webhooks = createWebhooks({
    db,
    jobs,
    secrets,
    clock,
    ids,
    log,
    urls,
    fetch,
    allowPrivate,
    liveExample: liveNotificationExample,
  });
  let timer: NodeJS.Timeout | undefined;
  const recover = () =>
    void webhooks
      .recover()
      .catch((err: unknown) => log.warn({ err }, "webhooks that wait could not be looked after; it is tried again"));
  lifecycle.onStop("webhooks of videos", async () => {
    clearInterval(timer);
    await webhooks.close();
  });
  return {
    webhooks,
    routes: streamWebhookRoutes({ webhooks }),
    start() {
      webhooks.start();
      recover();
      timer = setInterval(recover, EVERY_MS).unref();
    },
  };
}
