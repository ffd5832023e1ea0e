import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Account, Accounts, User, AccountsModule } from "../accounts/index.ts";
import { createClientAddress } from "../kernel/client-address.ts";
import type { GuardedFetch } from "../kernel/guarded-fetch.ts";
import type { Basics } from "../kernel/index.ts";
import type { Inbox, InboxActions } from "../mail/index.ts";
import type { Bindings, Scripts } from "../workers/index.ts";
import type { LocalPlatform } from "../workers/local/index.ts";
import { createApi } from "./app.ts";
import type { Route } from "./operation.ts";
import type { AccessControl } from "./ports.ts";
import { accountRoutes } from "./routes/accounts.ts";
import { analyticsEngineRoutes } from "./routes/analytics-engine.ts";
import { databaseRoutes } from "./routes/d1/databases.ts";
import { queryRoutes } from "./routes/d1/query.ts";
import { createD1TransferHttp, D1_TRANSFERS } from "./routes/d1/routes.ts";
import { transferRoutes } from "./routes/d1/transfers.ts";
import { inboxRoutes } from "./routes/email/inbox.ts";
import { keyRoutes } from "./routes/kv/keys.ts";
import { namespaceRoutes } from "./routes/kv/namespaces.ts";
import { valueRoutes } from "./routes/kv/values.ts";
import { liveEventRoutes, type LiveEventFeed } from "./routes/live-events.ts";
import { messageRoutes } from "./routes/queues/messages.ts";
import { queueRoutes } from "./routes/queues/queues.ts";
import { bucketRoutes } from "./routes/r2/buckets.ts";
import { objectRoutes } from "./routes/r2/object.ts";
import { objectListRoutes } from "./routes/r2/objects.ts";
import { userRoutes } from "./routes/user.ts";
import { scheduleRoutes } from "./routes/workers/schedules.ts";
import { scriptRoutes } from "./routes/workers/scripts.ts";
import { settingRoutes } from "./routes/workers/settings.ts";
import { workersTailsRoutes } from "./routes/workers-tails.ts";
import { wranglerStateRoutes } from "./routes/wrangler-state.ts";
import { createTailSockets } from "./tail-socket.ts";

/** The v4 API of a development server, or of its storage. */
interface LocalApi {
  /** Handles requests under /client/v4, and D1 transfers. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Opens the WebSocket connection of a tail; returns true if the request was for one. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
}

/** The modules of a running development server, besides its storage. */
export interface DevApiModules extends Omit<LocalPlatform, "storage" | "onInvocation"> {
  /** The only account and its user. */
  account: Account;
  user: User;
  inbox: Inbox;
  inboxActions: InboxActions;
  /** Checks links to public addresses; `fetchPrivate` checks links to all addresses, on request. */
  fetch: GuardedFetch;
  fetchPrivate: GuardedFetch;
  events: LiveEventFeed;
}

interface LocalApiDeps {
  /** Storage without account lists, in which every id exists. */
  bindings: Pick<Bindings, "kv" | "r2" | "d1">;
  /** If absent, the API has only the operations on storage. */
  dev?: DevApiModules | undefined;
  accessControl: AccessControl;
  /** Base URL of the requests that `handle` receives, without a trailing slash. */
  url(): string;
}

/**
 * Creates the v4 API over what exists in development: KV, R2 and D1 data, and with `dev` also the account, workers,
 * queues, logs, analytics and the inbox. The dashboard of `reelpost dev`, the command line and tests use it.
 */
export function createLocalApi({ bindings, dev, accessControl, url }: LocalApiDeps, basics: Basics): LocalApi {
  const { clock, log, lifecycle } = basics;
  const { kv, r2, d1 } = bindings;
  const api = createApi({
    ...basics,
    routes: [
      ...keyRoutes(kv),
      ...valueRoutes({ ...kv, clock }),
      ...objectRoutes(r2),
      ...queryRoutes(d1),
      ...transferRoutes({ ...d1, origin: url }),
      ...wranglerStateRoutes({ kv, r2, d1, clock }),
      ...(dev === undefined ? [] : devRoutes(dev, bindings, basics)),
    ],
    version: "dev",
    accessControl,
    rateLimit: { requests: 0, seconds: 1 },
  });
  const handleApi = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  const handleTransfer = createD1TransferHttp({ transfers: d1.transfers, log });
  const tailSockets = dev && createTailSockets({ tails: dev.tails, log });
  if (tailSockets !== undefined) lifecycle.onStop("tail sockets", () => tailSockets.close());
  return {
    handle: async (request, response) =>
      request.url!.startsWith(D1_TRANSFERS) ? handleTransfer(request, response) : handleApi(request, response),
    upgrade: (request, socket, head) => tailSockets?.upgrade(request, socket, head) ?? false,
  };
}

function devRoutes(
  dev: DevApiModules,
  { kv, r2, d1 }: LocalApiDeps["bindings"],
  { clock, lifecycle }: Basics,
): Route[] {
  // The configuration files determine the resources and the workers: operations that would change them are absent.
  // Reads call only functions that `dev` has.
  const scripts = dev.scripts as Scripts;
  const accounts = fixedAccount(dev.account) as Accounts;
  const users = { get: async () => dev.user } as unknown as AccountsModule["users"];
  const twoFactor = { status: async () => ({ enabled: false }) } as unknown as AccountsModule["twoFactor"];
  const workers = { scripts, assets: {}, routing: {}, objectNamespaces: {} } as Parameters<typeof scriptRoutes>[0];
  return [
    ...readsOf(accountRoutes({ accounts })),
    ...readsOf(userRoutes({ users, twoFactor })),
    ...readsOf(namespaceRoutes(kv)),
    ...readsOf(databaseRoutes(d1)),
    ...readsOf(bucketRoutes(r2)),
    ...objectListRoutes({ ...r2, clock }),
    ...readsOf(scriptRoutes(workers), ["worker-script-list-workers", "worker-script-search-workers"]),
    ...readsOf(settingRoutes(workers), ["worker-script-get-settings", "worker-script-settings-get-settings"]),
    ...readsOf(scheduleRoutes(workers)),
    ...workersTailsRoutes({ tails: dev.tails, scripts, address: createClientAddress([]) }),
    ...readsOf(queueRoutes({ queues: dev.queues, scripts })),
    ...messageRoutes({ queues: dev.queues, messages: dev.messages, scripts }),
    ...analyticsEngineRoutes({ analytics: dev.analytics }),
    ...inboxRoutes({
      inbox: dev.inbox,
      actions: dev.inboxActions,
      fetch: dev.fetch,
      fetchPrivate: dev.fetchPrivate,
    }),
    ...liveEventRoutes({ events: dev.events, stopping: lifecycle.stopping }),
  ];
}

const readsOf = (routes: Route[], ids?: readonly string[]): Route[] =>
  routes.filter(({ operation }) => operation.method === "get" && (ids === undefined || ids.includes(operation.id)));

const fixedAccount = (account: Account): Pick<Accounts, "get" | "list"> => ({
  get: async () => account,
  list: async (_, { page }, { name } = {}) => {
    const isListed = name === undefined || name === account.name;
    return { items: isListed && page === 1 ? [account] : [], total: Number(isListed) };
  },
});
