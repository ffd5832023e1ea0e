import {
  createApi,
  createGate,
  createPlatformHttp,
  createD1TransferHttp,
  createTailSockets,
  createMtaStsPolicyPage,
  createVerifyPage,
  emailDatasets,
  emailRoutes,
  graphqlRoutes,
  D1_TRANSFERS,
  streamRoutes,
  VERIFY_PREFIX,
  type PlatformHttp,
} from "../api/index.ts";
import type { ConnectionLimits } from "../kernel/connection-limits.ts";
import { createClientAddress } from "../kernel/client-address.ts";
import { networkSet } from "../kernel/networks.ts";
import type { Settings } from "../kernel/settings.ts";
import { meterApi } from "./api-meter.ts";
import { composeRoutes } from "./api-routes.ts";
import type { Basics } from "../kernel/index.ts";
import { confinementFindings, confinementText } from "./confinement.ts";
import { createDoctor } from "./doctor/doctor.ts";
import { createProbes } from "./probes.ts";
import type { Role } from "./roles.ts";
import type { ServeOptions } from "./serve-options.ts";
import type { ServeModules } from "./serve-modules.ts";

const RATE_WINDOW_SECONDS = 300;

interface ServeHttpParts {
  rooms: ServeModules;
  settings: Settings;
  roles: ReadonlySet<Role>;
  options: Pick<ServeOptions, "version" | "checkAnswers">;
  graceMs: number;
  /** The account whose workers are reachable under /workers/<worker>/. */
  account: { id: string } | undefined;
  urls: ServeUrls;
}

/** Public URLs of the server. Its own URL is known once it listens. */
interface ServeUrls {
  /** Set once the port is known. */
  listening: string;
  /** The URL that clients use, without a trailing slash. */
  base(): string;
  api(): string;
  worker(label: string, script: string): string;
}

export function createUrls({ http, workers }: Settings): ServeUrls {
  const urls: ServeUrls = {
    listening: "",
    base: () => (http.public_url === "" ? urls.listening : http.public_url.replace(/\/+$/, "")),
    api: () => `${urls.base()}/client/v4`,
    worker(label, script) {
      const { protocol, port } = new URL(urls.base());
      return `${protocol}//${script}.${label}.${workers.domain}${port === "" ? "" : `:${port}`}`;
    },
  };
  return urls;
}

/** The HTTP server of the platform, with the endpoints for this process's roles. */
export function createServeHttp(
  { rooms, settings, roles, options: { version, checkAnswers = false }, graceMs, account, urls }: ServeHttpParts,
  basics: Basics,
): PlatformHttp {
  const { platform, bindings, certificates, dns, mail, stream, metrics } = rooms;
  const { zones } = platform;
  const { clock, ids, log, lifecycle } = basics;
  const address = createClientAddress(settings.http.trusted_proxies);
  const confinement = () => confinementFindings({ settings, media: stream.media });
  const tailSockets = createTailSockets({ tails: platform.tails, log });
  const api = createApi({
    routes: [
      ...composeRoutes(platform, bindings, urls.worker, { address, publicUrl: settings.http.public_url }, basics),
      ...emailRoutes(mail, {
        zones,
        clock,
        resolveTxt: dns.lookups.resolveTxt,
        operator: async () => (await platform.defaultAccount())?.id,
        diagnose: createDoctor({ settings, mail, dns, confinement, tls: certificates.tls, clock }),
      }),
      ...graphqlRoutes({
        datasets: { zones: emailDatasets({ activity: mail.activity, days: mail.activity.days }) },
        zoneAccount: zones.zoneAccount,
      }),
      ...streamRoutes(stream),
    ],
    gate: createGate({ accounts: platform.accounts, zoneAccount: platform.zones.zoneAccount }),
    clock,
    ids,
    log,
    version,
    checkAnswers,
    rateLimit: { requests: settings.api.rate_limit, seconds: RATE_WINDOW_SECONDS },
    clientIp: address.ip,
    onAnswer: meterApi(metrics),
  });
  const workers = {
    live: platform.live,
    bySubdomain: platform.scripts.bySubdomain,
    defaultLabel: async () => account && platform.scripts.subdomain(account.id),
  };
  const pages = createProbes({
    metrics,
    metricsToken: settings.http.metrics_token,
    stopping: lifecycle.stopping,
    ready: async () => void (await platform.defaultAccount()),
    confinement: async () => confinementText(await confinement()),
    version,
    rows: () => [
      ...(roles.has("api")
        ? [
            {
              name: "API",
              address: urls.api(),
              what: "the base URL that wrangler, the cloudflare SDK and reelpost are given",
            },
            {
              name: "API docs",
              address: `${urls.api()}/docs`,
              page: true,
              what: "every operation, with the permission it needs",
            },
          ]
        : []),
      ...(roles.has("workers")
        ? [{ name: "Workers", address: urls.worker("<account>", "<worker>"), what: "where a deployed worker answers" }]
        : []),
      ...(roles.has("playback") && settings.stream.delivery_domain === ""
        ? [
            {
              name: "Videos",
              address: `${urls.base()}/<video>/watch`,
              what: "a page with the player; /<video>/iframe to embed, /<video>/manifest/video.m3u8 and video.mpd for other players",
            },
          ]
        : []),
      {
        name: "Health",
        address: `${urls.base()}/healthz`,
        page: true,
        what: "/readyz tells whether it may be given work, /metrics counts",
      },
    ],
  });
  lifecycle.onStop("tail sockets", () => tailSockets.close());
  const transfers = createD1TransferHttp({ transfers: bindings.d1.transfers, log });
  return createPlatformHttp({
    ...(roles.has("api") && {
      api,
      upgrade: tailSockets.upgrade,
      prefixes: {
        [D1_TRANSFERS]: transfers,
        [VERIFY_PREFIX]: createVerifyPage(mail.routing),
        "/upload/": stream.upload,
      },
    }),
    ...(roles.has("workers") && { workers }),
    assets: stream.deliverAssets,
    ...(roles.has("playback") || roles.has("live")
      ? { others: [stream.deliver] }
      : roles.has("api") && { others: [stream.deliverAssets] }),
    hosts: {
      domain: settings.workers.domain,
      videoDomain: settings.stream.delivery_domain,
      uploadHost: settings.stream.upload_host,
      platformHosts: settings.api.hosts,
      byPath: settings.workers.by_path,
    },
    pages,
    connections: connectionLimits(settings),
    wellKnown: [certificates.respond, createMtaStsPolicyPage(mail.mtaSts)],
    log,
    graceMs,
  });
}

const connectionLimits = ({ http }: Settings): ConnectionLimits => ({
  total: http.connections,
  perNetwork: http.connections_per_address,
  shared: networkSet(
    http.trusted_proxies,
    (range) => new TypeError(`http.trusted_proxies: ${range} is neither an address nor a range`),
  ),
});
