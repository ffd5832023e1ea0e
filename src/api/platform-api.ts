import type { AccountsModule } from "../accounts/index.ts";
import { createClientAddress, type ClientAddress } from "../kernel/client-address.ts";
import { RATE_WINDOW_SECONDS } from "../kernel/failure-windows.ts";
import type { Basics } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { RateLimits } from "../kernel/rate-limits.ts";
import type { Settings } from "../kernel/settings.ts";
import { ROUTING_CHANGED, type Mail } from "../mail/index.ts";
import type { Events } from "../store/index.ts";
import type { Stream } from "../stream/index.ts";
import { AI_GATEWAY_PREFIX, createAiGatewayHttp } from "../workers/index.ts";
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
import { RECORDS_CHANGED, type Lookups, type Zones } from "../zones/index.ts";
import { meterApi } from "./api-meter.ts";
import { createApi } from "./app.ts";
import { credentialsOf } from "./authorize.ts";
import { createChosenIds } from "./chosen-id.ts";
import { createAccessControl } from "./gate.ts";
import { createLiveEvents } from "./live-events.ts";
import { openApiDocument } from "./openapi.ts";
import { createSignedInCheck } from "./signed-in.ts";
import type { Route } from "./operation.ts";
import { type PlatformHttpOptions, UPLOADS } from "./platform-http.ts";
import { aiGatewayRoutes } from "./routes/ai-gateway/routes.ts";
import { analyticsEngineRoutes } from "./routes/analytics-engine.ts";
import { accountRoutes } from "./routes/accounts.ts";
import { auditLogRoutes } from "./routes/audit-logs.ts";
import { createD1TransferHttp, d1Routes, D1_TRANSFERS } from "./routes/d1/routes.ts";
import { dnsRecordRoutes } from "./routes/dns-records.ts";
import type { DoctorDeps } from "./routes/email/doctor.ts";
import { inboxRoutes } from "./routes/email/inbox.ts";
import { emailRoutes } from "./routes/email/index.ts";
import { healthRoutes, type HealthDeps } from "./routes/health.ts";
import { serverRoutes, type ServerInfo } from "./routes/server.ts";
import { createMtaStsPolicyPage } from "./routes/email/mta-sts-policy.ts";
import { createVerifyPage, VERIFY_PREFIX } from "./routes/email/verify-page.ts";
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
import { createTailSockets } from "./tail-socket.ts";

/** The domains behind the operations. */
interface PlatformModules {
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

interface PlatformApiOptions {
  settings: Pick<Settings, "api" | "http" | "r2">;
  /** For the OpenAPI document. */
  version: string;
  /** Returns the URL of a worker; `label` is the account's. */
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
  checkAnswers?: boolean;
}

/** The parts of `PlatformHttpOptions` that belong to the API. */
interface PlatformApi {
  api: ReturnType<typeof createApi>;
  /** True if a request has valid credentials. */
  isSignedIn: ReturnType<typeof createSignedInCheck>;
  /** Opens the WebSocket connections of tails. */
  upgrade: NonNullable<PlatformHttpOptions["upgrade"]>;
  /** D1 transfers, the page that verifies destination addresses, video uploads, and AI Gateway. */
  prefixes: NonNullable<PlatformHttpOptions["prefixes"]>;
  /** The MTA-STS policies, for any host. */
  wellKnown: NonNullable<PlatformHttpOptions["wellKnown"]>;
}

/** Creates the v4 API with all operations, and the endpoints that its responses link to. */
export function createPlatformApi(
  modules: PlatformModules,
  { settings, version, workerUrl, diagnose, isOwnHost, server, components, checkAnswers = false }: PlatformApiOptions,
  { clock, ids, log, lifecycle, tracing }: Basics,
): PlatformApi {
  const { accounts, zones, tails, bindings, mail, stream, metrics, events } = modules;
  const address = createClientAddress(settings.http.trusted_proxies);
  const tailSockets = createTailSockets({ tails, log });
  lifecycle.onStop("tail sockets", () => tailSockets.close());
  const accessControl = createAccessControl({ accounts, zoneAccount: zones.zoneAccount });
  const rateLimit = { requests: settings.api.rate_limit, seconds: RATE_WINDOW_SECONDS };
  const isSignedIn = createSignedInCheck({
    accessControl,
    limits: modules.rateLimits,
    rateLimit,
    clientIp: address.ip,
  });
  const operator = async () => (await accounts.firstAccount())?.id;
  const zoneOwner = async (zone: string) => {
    const account = await zones.zoneAccount(zone);
    return account === undefined ? undefined : { account, zone, id: "" };
  };
  const changes = createLiveEvents({
    events,
    sources: [
      ...stream.changes,
      { topic: "dns", event: RECORDS_CHANGED, ownerOf: zoneOwner },
      { topic: "routing", event: ROUTING_CHANGED, ownerOf: zoneOwner },
    ],
    zoneAccount: zones.zoneAccount,
    log,
  });
  const liveEvents = eventRoutes({
    live: changes,
    clock,
    authenticateAgain: ({ node: { incoming } }) =>
      accessControl.authenticate(credentialsOf(incoming.headers, address.ip(incoming))),
  });
  // The listeners wait for running responses when they close, so these end first.
  lifecycle.stopping.addEventListener("abort", () => liveEvents.close(), { once: true });
  lifecycle.onStop("live events", () => changes.close());
  return {
    api: createApi({
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
      checkAnswers,
      limits: modules.rateLimits,
      rateLimit,
      clientIp: address.ip,
      onAnswer: meterApi(metrics),
      changes: { audit: accounts.audit, zoneName: async (id) => (await zones.find(id))?.name },
      onChanged: (operation, params) => void changes.publish(operation, params),
    }),
    isSignedIn,
    upgrade: tailSockets.upgrade,
    prefixes: {
      [D1_TRANSFERS]: createD1TransferHttp({ transfers: bindings.d1.transfers, log }),
      [VERIFY_PREFIX]: createVerifyPage(mail.routing),
      [UPLOADS]: stream.upload,
      [AI_GATEWAY_PREFIX]: createAiGatewayHttp({
        ...bindings.aiGateway,
        async mayRun(secret, account, request) {
          const ip = address.ip(request);
          const caller = await accounts.authenticate({ secret, ...(ip !== undefined && { ip }) });
          return caller?.allows("AI Gateway Run", { account }) === true;
        },
        log,
      }),
    },
    wellKnown: [createMtaStsPolicyPage(mail.mtaSts)],
  };
}

/**
 * Returns the OpenAPI document of the operations of `reelpost serve` and `reelpost dev`, without a server, for
 * generated clients.
 */
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

/** Returns all operations, bound to the domains of this process. */
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
