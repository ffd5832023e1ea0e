import type { IncomingMessage, ServerResponse } from "node:http";
import { timingSafeEqual } from "node:crypto";
import { isForwarded } from "../kernel/client-address.ts";
import { acceptsHtml, PAGE_POLICY } from "../kernel/design/index.ts";
import { isLoopback, messageOf } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import { isRole, ROLES, type ProcessRole } from "./roles.ts";
import { frontPageHtml, frontPageText, type frontPageLinks } from "./front-page.ts";

type Page = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

interface ProbeDeps {
  metrics: Metrics;
  /** Bearer token for /metrics; if empty, only this machine may read it. */
  metricsToken: string;
  /** Aborted during shutdown: load balancers then stop sending requests. */
  stopping: AbortSignal;
  /** Confinement findings as text, for `/readyz?verbose`. */
  confinement(): Promise<string>;
  /** Resolves when the database responds. */
  ready(): Promise<void>;
  roles: ReadonlySet<ProcessRole>;
  /** Rejects with the reason if the object store does not respond. */
  checkObjects(): Promise<unknown>;
  /** Links of the front page for visitors of a host name. */
  frontPage(hostname: string): ReturnType<typeof frontPageLinks>;
}

/** Health, readiness and metrics endpoints. */
export function createProbes({
  metrics,
  metricsToken,
  stopping,
  ready,
  roles,
  checkObjects,
  confinement,
  frontPage,
}: ProbeDeps): Record<string, Page> {
  async function whyNotReady(role: ProcessRole | null): Promise<string | undefined> {
    if (stopping.aborted) return "stopping";
    if (role !== null && !roles.has(role)) return `this process does not have the role ${role}`;
    try {
      await ready();
    } catch {
      return "the database does not respond";
    }
    if (role === null || !ROLES_WITH_OBJECTS.has(role)) return undefined;
    return checkObjects().then(
      () => undefined,
      (err: unknown) => messageOf(err),
    );
  }

  return {
    "/"(request, response) {
      const links = frontPage(nameOf(request.headers.host ?? ""));
      if (!acceptsHtml(request)) return text(response, 200, frontPageText(links));
      response
        .writeHead(200, {
          "content-type": "text/html; charset=utf-8",
          "content-security-policy": PAGE_POLICY,
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
        })
        .end(request.method === "HEAD" ? undefined : frontPageHtml(links));
    },
    "/healthz": (_, response) => text(response, 200, "ok"),
    async "/readyz"({ url }, response) {
      const query = new URLSearchParams(url?.split("?")[1]);
      const role = query.get("role");
      if (role !== null && !isRole(role))
        return text(response, 400, `Unknown role. The roles are ${ROLES.join(", ")}.`);
      const reason = await whyNotReady(role);
      if (reason !== undefined) return text(response, 503, reason);
      text(response, 200, query.has("verbose") ? `ready\n${(await confinement()).trimEnd()}` : "ready");
    },
    async "/metrics"(request, response) {
      if (!mayReadMetrics(request, metricsToken))
        return text(
          response,
          403,
          "Metrics are available only from this machine, or with http.metrics_token as the bearer token.",
        );
      const { contentType, body } = await metrics.render();
      response.writeHead(200, { "content-type": contentType }).end(body);
    },
  };
}

/**
 * The other roles can do most of their work without the object store: mail of up to 64 KiB is stored in the database.
 */
const ROLES_WITH_OBJECTS: ReadonlySet<ProcessRole> = new Set(["api", "encode", "live", "playback"]);

function mayReadMetrics(request: IncomingMessage, token: string): boolean {
  const { headers, socket } = request;
  // Rejects requests forwarded by a local proxy, and host names that resolve to loopback (DNS rebinding).
  if (token === "")
    return (
      !isForwarded(request) &&
      isLoopback((socket.remoteAddress ?? "").replace(/^::ffff:/, "")) &&
      PROXY_HEADERS.every((name) => headers[name] === undefined) &&
      isLoopback(nameOf(headers.host ?? ""))
    );
  const givenHeader = Buffer.from(headers.authorization ?? "");
  const expectedHeader = Buffer.from(`Bearer ${token}`);
  return givenHeader.length === expectedHeader.length && timingSafeEqual(givenHeader, expectedHeader);
}

const PROXY_HEADERS = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "forwarded", "via"];

const nameOf = (host: string): string =>
  host
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();

function text(response: ServerResponse, status: number, words: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${words}\n`);
}
