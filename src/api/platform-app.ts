import type { AccountsModule } from "../accounts/index.ts";
import type { ClientAddress } from "../kernel/client-address.ts";
import type { Basics } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { RateLimits } from "../kernel/rate-limits.ts";
import type { Settings } from "../kernel/settings.ts";
import type { Mail } from "../mail/index.ts";
import type { Events } from "../store/index.ts";
import type { Stream } from "../stream/index.ts";
import type {
  AssetUploads,
  Bindings,
  InvocationMetrics,
  LiveWorkers,
  ObjectNamespaces,
  Scripts,
  Tails,
  WorkerRouting,
} from "../workers/index.ts";
import type { Lookups, Zones } from "../zones/index.ts";
import { createApi } from "./app.ts";
import { credentialsOf } from "./authorize.ts";
import { createChosenIds } from "./chosen-id.ts";
import type { LiveEvents } from "./live-events.ts";
import { openApiDocument } from "./openapi.ts";
import type { Route } from "./operation.ts";
import type { AccessControl } from "./ports.ts";
import type { RateLimit } from "./rate-limit.ts";
import { aiGatewayRoutes } from "./routes/ai-gateway/routes.ts";
import { analyticsEngineRoutes } from "./routes/analytics-engine.ts";
import { accountRoutes } from "./routes/accounts.ts";
import { auditLogRoutes } from "./routes/audit-logs.ts";
import { d1Routes } from "./routes/d1/routes.ts";
import { dnsRecordRoutes } from "./routes/dns-records.ts";
import type { DoctorDeps } from "./routes/email/doctor.ts";
import { inboxRoutes } from "./routes/email/inbox.ts";
import { emailRoutes } from "./routes/email/index.ts";
import { healthRoutes, type HealthDeps } from "./routes/health.ts";
import { serverRoutes, type ServerInfo } from "./routes/server.ts";
import { eventRoutes } from "./routes/events.ts";
import { emailAccountDatasets, emailDatasets } from "./routes/graphql/email-datasets.ts";
import { graphqlRoutes } from "./routes/graphql/routes.ts";
import { streamDatasets } from "./routes/graphql/stream-datasets.ts";
import { workerDatasets } from "./routes/graphql/worker-datasets.ts";
import { kvRoutes } from "./routes/kv/routes.ts";
import { memberRoutes } from "./routes/members.ts";
import { membershipRoutes } from "./routes/memberships.ts";
import { secretsStoreRoutes } from "./routes/secrets-store/routes.ts";
import { queuesRoutes } from "./routes/queues/routes.ts";
import { r2Routes } from "./routes/r2/routes.ts";
import { streamRoutes } from "./routes/stream/index.ts";
import { tokenRoutes } from "./routes/tokens.ts";
import { userInviteRoutes } from "./routes/user-invites.ts";
import { userRoutes } from "./routes/user.ts";
import { userSessionRoutes } from "./routes/user-sessions.ts";
import { userSignInRoutes } from "./routes/user-sign-in.ts";
import { workersTailsRoutes } from "./routes/workers-tails.ts";
import { workerRoutes } from "./routes/workers/index.ts";
import { zonesRoutes } from "./routes/zones.ts";

/** The domains behind the operations. */
export interface PlatformModules {
  accounts: AccountsModule;
  zones: Zones;
  scripts: Scripts;
  assets: AssetUploads;
  objectNamespaces: ObjectNamespaces;
  tails: Tails;
  live: Pick<LiveWorkers, "scheduled">;
  routing: WorkerRouting;
  bindings: Bindings;
  mail: Mail;
  stream: Pick<Stream, "services" | "upload" | "changes">;
  invocationMetrics: InvocationMetrics;
  /** Resolves the names that an SPF record includes. */
  lookups: Pick<Lookups, "resolveTxt">;
  /** Counts the responses. */
  metrics: Pick<Metrics, "registry">;
  /** Publishes changes to the clients of every process. */
  events: Events;
  /** Counts requests and failed attempts. */
  rateLimits: RateLimits;
}

export interface PlatformApiOptions {
  settings: Pick<Settings, "api" | "http" | "r2">;
  /** For the OpenAPI document. */
  version: string;
  /** URL of a worker; `label` is the account's. */
  workerUrl(label: string, script: string): string;
  /** The diagnosis of a name in a zone, for `reelpost doctor`. */
  diagnose: DoctorDeps["diagnose"];
  /** True if the server itself uses the host name. Such a host cannot be the domain of a public bucket. */
  isOwnHost(host: string): boolean;
  /** The server, for its operator. */
  server: ServerInfo;
  /** The state of the server's components. */
  components: HealthDeps["components"];
  /** For tests: a response that violates its schema fails the request. */
  checkResponses?: boolean;
}

interface PlatformAppDeps {
  accessControl: AccessControl;
  address: ClientAddress;
  changes: LiveEvents;
  isSignedIn(request: Parameters<ClientAddress["ip"]>[0]): Promise<boolean>;
  rateLimit: RateLimit;
  /** Counts a response. */
  onResponse: NonNullable<Parameters<typeof createApi>[0]["onResponse"]>;
}

/** The v4 API with all operations. */
export function createPlatformApp(
  modules: PlatformModules,
  { settings, version, workerUrl, diagnose, isOwnHost, server, components, checkResponses = false }: PlatformApiOptions,
  { accessControl, address, changes, isSignedIn, rateLimit, onResponse }: PlatformAppDeps,
  { clock, ids, log, lifecycle, tracing }: Basics,
): ReturnType<typeof createApi> {
  const { accounts, zones, mail, stream } = modules;
  const operator = async () => (await accounts.firstAccount())?.id;
  const liveEvents = eventRoutes({
    live: changes,
    clock,
    authenticateAgain: ({ node: { incoming } }) =>
      accessControl.authenticate(credentialsOf(incoming.headers, address.ip(incoming))),
  });
  // When the listeners close, they wait for responses in progress, so the event streams end first.
  if (lifecycle.stopping.aborted) liveEvents.close();
  lifecycle.stopping.addEventListener("abort", () => liveEvents.close(), { once: true });
  return createApi({
    routes: [
      ...routesOf(modules, {
        address,
        publicUrl: settings.http.public_url,
        publicDomain: settings.r2.public_domain,
        workerUrl,
        diagnose,
        isOwnHost,
        clock,
      }),
      ...liveEvents.routes,
      ...serverRoutes({ server, operator }),
      ...healthRoutes({ components, mail, stream: stream.services, operator, clock }),
    ],
    tracing,
    accessControl,
    clock,
    ids,
    log,
    version,
    isSignedIn,
    checkResponses,
    limits: modules.rateLimits,
    rateLimit,
    clientIp: address.ip,
    onResponse,
    changes: { audit: accounts.audit, zoneName: async (id) => (await zones.find(id))?.name },
    onChanged: (operation, params) => void changes.publish(operation, params),
  });
}

/** The OpenAPI document of the operations of `reelpost serve` and `reelpost dev`, without a server, for generated clients. */
export function platformDocument(version: string): object {
  // Declarations do not depend on the domains, which handlers use only when they are called.
  const absent: unknown = new Proxy(() => absent, {
    get: (_, name) => (name === Symbol.toPrimitive ? () => "" : absent),
  });
  const routes = [
    ...routesOf(absent as PlatformModules, absent as RouteOptions),
    ...eventRoutes(absent as Parameters<typeof eventRoutes>[0]).routes,
    ...serverRoutes(absent as Parameters<typeof serverRoutes>[0]),
    ...healthRoutes(absent as Parameters<typeof healthRoutes>[0]),
    ...inboxRoutes(absent as Parameters<typeof inboxRoutes>[0]),
  ];
  return openApiDocument(routes, version);
}

interface RouteOptions extends Pick<PlatformApiOptions, "workerUrl" | "diagnose" | "isOwnHost">, Pick<Basics, "clock"> {
  address: ClientAddress;
  /** Empty: derived from the request. */
  publicUrl: string;
  /** Parent domain of public R2 buckets. */
  publicDomain: string;
}

/** All operations, bound to the domains of this process. */
function routesOf(
  {
    accounts,
    zones,
    scripts,
    assets,
    objectNamespaces,
    tails,
    live,
    routing,
    bindings: { kv, r2, d1, queue, analytics, secretsStore, ai, aiGateway },
    mail,
    stream,
    invocationMetrics,
    lookups,
  }: PlatformModules,
  { address, publicUrl, publicDomain, workerUrl, diagnose, isOwnHost, clock }: RouteOptions,
): Route[] {
  const operator = async () => (await accounts.firstAccount())?.id;
  const chosenIds = createChosenIds(operator);
  return [
    ...accountRoutes(accounts),
    ...userRoutes(accounts),
    ...userSessionRoutes(accounts),
    ...userSignInRoutes(accounts),
    ...tokenRoutes(accounts),
    ...membershipRoutes(accounts),
    ...memberRoutes(accounts),
    ...userInviteRoutes(accounts, clock),
    ...auditLogRoutes(accounts),
    ...zonesRoutes({ zones, accounts: accounts.accounts, chosenIds }),
    ...dnsRecordRoutes({ zones }),
    ...workerRoutes({
      scripts,
      assets,
      routing,
      objectNamespaces,
      offersAi: ai.isOffered,
      urlOf: workerUrl,
      live,
      clock,
    }),
    ...workersTailsRoutes({ tails, scripts, address, publicUrl }),
    ...kvRoutes({ ...kv, clock, chosenIds }),
    ...r2Routes({ ...r2, queues: queue.queues, zones, publicDomain, isReserved: isOwnHost, clock }),
    ...queuesRoutes({ queues: queue.queues, messages: queue.messages, scripts }),
    ...aiGatewayRoutes({
      gateways: aiGateway.gateways,
      origin: ({ request, node }) =>
        publicUrl === ""
          ? `${address.scheme(node.incoming)}://${request.headers.get("host") ?? "localhost"}`
          : publicUrl.replace(/\/+$/, ""),
    }),
    ...secretsStoreRoutes({ store: secretsStore.store! }),
    ...d1Routes({
      list: d1.list,
      chosenIds,
      databases: d1.databases,
      transfers: d1.transfers,
      ...(publicUrl !== "" && { origin: () => publicUrl.replace(/\/+$/, "") }),
      clock,
    }),
    ...analyticsEngineRoutes({ analytics }),
    ...emailRoutes(mail, {
      zones,
      clock,
      resolveTxt: lookups.resolveTxt,
      operator,
      workerExists: async (account, name) => (await scripts.get(account, name)) !== undefined,
      diagnose,
    }),
    ...graphqlRoutes({
      datasets: {
        accounts: {
          ...streamDatasets({ audience: stream.services.audience, clock }),
          ...workerDatasets({ figures: invocationMetrics, clock }),
          ...emailAccountDatasets({ activity: mail.activity, days: mail.activity.days }),
        },
        zones: emailDatasets({ activity: mail.activity, days: mail.activity.days }),
      },
      zoneAccount: zones.zoneAccount,
    }),
    ...streamRoutes(stream, chosenIds),
  ];
}
