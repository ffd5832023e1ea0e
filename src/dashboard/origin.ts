import { isIP } from "node:net";
import type { IncomingMessage } from "node:http";

/** Host names under which the dashboard is served. */
interface DashboardHosts {
  /** True for a host name of the setting `dashboard.hosts`; lower case, without a port. */
  isConfigured(host: string): boolean;
}

type Refusal = { status: 403 | 421; reason: string };

/**
 * Returns why a request must be refused, or undefined. A page that reached this server by DNS rebinding counts as
 * same-origin for the browser, but its host name does not belong to this server. Pages of other origins, among them
 * those of workers on another port of the same host, may link to the dashboard and do nothing else.
 */
export function refusalOf({ method, headers, url }: IncomingMessage, hosts: DashboardHosts): Refusal | undefined {
  const name = hostNameOf(headers.host ?? "");
  if (!hosts.isConfigured(name) && name !== "localhost" && isIP(name) === 0)
    return {
      status: 421,
      reason: "Unknown host name. The setting dashboard.hosts lists the names of the dashboard.",
    };
  // A service worker would intercept all further requests of the dashboard's pages.
  if (headers["service-worker"] !== undefined) return { status: 403, reason: "The dashboard has no service workers." };
  if (headers.origin !== undefined && URL.parse(headers.origin)?.host !== (headers.host ?? "").toLowerCase())
    return { status: 403, reason: "The request was sent by a page of another origin." };
  const site = headers["sec-fetch-site"];
  if (site !== "cross-site" && site !== "same-site") return undefined;
  const isLink =
    method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  return isLink && !isData(url!)
    ? undefined
    : { status: 403, reason: "The request was sent by a page of another origin." };
}

const isData = (url: string) => /^\/(client\/v4|auth|app\.json)/.test(url);

const hostNameOf = (host: string) =>
  host
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
