import { createClientAddress } from "../kernel/client-address.ts";
import { RATE_WINDOW_SECONDS } from "../kernel/failure-windows.ts";
import type { Basics } from "../kernel/index.ts";
import { ROUTING_CHANGED } from "../mail/index.ts";
import { AI_GATEWAY_PREFIX, createAiGatewayHttp } from "../workers/index.ts";
import { RECORDS_CHANGED } from "../zones/index.ts";
import type { ApiApp } from "./api-handler.ts";
import { meterApi } from "./api-meter.ts";
import { createAccessControl } from "./access-control.ts";
import { createLiveEvents } from "./live-events.ts";
import { createSignedInCheck } from "./signed-in.ts";
import type { PlatformApiOptions, PlatformModules } from "./platform-app.ts";
import { type PlatformHttpOptions, UPLOADS } from "./platform-http.ts";
import { createD1TransferHttp, D1_TRANSFERS } from "./routes/d1/transfer-http.ts";
import { createMtaStsPolicyPage } from "./routes/email/mta-sts-policy.ts";
import { createVerifyPage, VERIFY_PREFIX } from "./routes/email/verify-page.ts";
import { createTailSockets } from "./tail-socket.ts";

/** The parts of `PlatformHttpOptions` that belong to the API. */
interface PlatformApi {
  /** Its operations take more than 10 MB of memory: the first request loads them. */
  api: ApiApp;
  /** Resolves with true if a request has valid credentials. */
  isSignedIn: ReturnType<typeof createSignedInCheck>;
  /** Opens the WebSocket connections of tails. */
  upgrade: NonNullable<PlatformHttpOptions["upgrade"]>;
  /** D1 transfers, the page that verifies destination addresses, video uploads, and AI Gateway. */
  prefixes: NonNullable<PlatformHttpOptions["prefixes"]>;
  /** The MTA-STS policies, for any host. */
  wellKnown: NonNullable<PlatformHttpOptions["wellKnown"]>;
}

/** The v4 API with all operations, and the endpoints that its responses link to. */
export function createPlatformApi(modules: PlatformModules, options: PlatformApiOptions, basics: Basics): PlatformApi {
  const { settings } = options;
  const { log, lifecycle } = basics;
  const { accounts, zones, tails, bindings, mail, stream, events } = modules;
  const address = createClientAddress(settings.http.trusted_proxies);
  const tailSockets = createTailSockets({ tails, log });
  lifecycle.onStop("tail sockets", () => tailSockets.close());
  const accessControl = createAccessControl({ accounts, zones });
  const rateLimit = { requests: settings.api.rate_limit, seconds: RATE_WINDOW_SECONDS };
  const isSignedIn = createSignedInCheck({
    accessControl,
    limits: modules.rateLimits,
    rateLimit,
    clientIp: address.ip,
  });
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
  lifecycle.onStop("live events", () => changes.close());
  // Created before the operations are loaded: a scrape expects the metrics from the start.
  const onResponse = meterApi(modules.metrics);
  let app: ApiApp | undefined;
  let loading: Promise<ApiApp> | undefined;
  const load = () =>
    (loading ??= import("./platform-app.ts").then(
      ({ createPlatformApp }) =>
        (app = createPlatformApp(
          modules,
          options,
          { accessControl, address, changes, isSignedIn, rateLimit, onResponse },
          basics,
        )),
    ));
  return {
    api: {
      fetch: (...request) =>
        app === undefined ? load().then(({ fetch }) => fetch(...request)) : app.fetch(...request),
      read: (...request) => app?.read(...request),
    },
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
