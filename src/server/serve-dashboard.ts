import { createDashboard, type Dashboard } from "../dashboard/index.ts";
import type { Log } from "../kernel/index.ts";
import type { ProxyReceiver } from "../kernel/proxy-protocol/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { serverErrors } from "./errors.ts";
import type { ProcessRole } from "./roles.ts";
import type { ServeUrls } from "./serve-urls.ts";

interface ServeDashboardDeps {
  settings: Settings;
  roles: ReadonlySet<ProcessRole>;
  version: string;
  urls: ServeUrls;
  /** Label of the account's worker hosts. */
  label: string | undefined;
  api: Parameters<typeof createDashboard>[0]["api"];
  auth?: Parameters<typeof createDashboard>[0]["auth"];
  isSignedIn: Parameters<typeof createDashboard>[0]["isSignedIn"] & {};
  graceMs: number;
  log: Log;
  receive?: ProxyReceiver;
}

const MIB = 1024 * 1024;

/** Creates the dashboard of a platform process. Throws dashboardHostInUse. */
export function createServeDashboard({
  settings,
  roles,
  version,
  urls,
  label,
  api,
  auth,
  isSignedIn,
  graceMs,
  log,
  receive,
}: ServeDashboardDeps): Dashboard {
  const { http, stream, smtp, dashboard } = settings;
  checkHosts(settings);

  /** Without a public URL, the API is at the host name that the browser uses, on the port of the API. */
  function apiOrigin(hostname: string): string {
    const base = new URL(urls.base());
    if (http.public_url !== "" || dashboard.hosts.some((host) => host.toLowerCase() === hostname)) return base.origin;
    base.hostname = hostname;
    return base.origin;
  }

  return createDashboard({
    mode: "serve",
    version,
    isSignedIn,
    chunkBytes: stream.chunk_mb * MIB,
    api,
    ...(auth !== undefined && { auth }),
    hosts: dashboard.hosts,
    urls(hostname) {
      const { origin, protocol } = new URL(urls.base());
      const deliversVideo = roles.has("playback") || roles.has("live");
      return {
        api: apiOrigin(hostname),
        // Uploads and videos are at the URLs that the API returns, even if the browser uses another name of this host.
        upload: stream.upload_host === "" ? origin : `${protocol}//${stream.upload_host}`,
        ...(roles.has("workers") && label !== undefined && { worker: urls.worker(label, "<worker>") }),
        ...(deliversVideo && {
          video: stream.delivery_domain === "" ? origin : `${protocol}//customer-<code>.${stream.delivery_domain}`,
        }),
        ...(roles.has("smtp") && { smtp: `${smtp.name === "" ? hostname : smtp.name}:${smtp.port}` }),
      };
    },
    log,
    graceMs,
    ...(receive && { receive }),
  });
}

/** Throws dashboardHostInUse if a host name of the dashboard also belongs to the API or to uploads. */
export function checkHosts({ dashboard, api, http, stream }: Pick<Settings, "dashboard" | "api" | "http" | "stream">) {
  const names: [setting: string, host: string][] = [
    ...api.hosts.map((host): [string, string] => ["api.hosts", host]),
    ["http.public_url", URL.parse(http.public_url)?.hostname ?? ""],
    ["stream.upload_host", stream.upload_host],
  ];
  for (const host of dashboard.hosts) {
    const [setting] = names.find(([, name]) => name.replace(/:\d+$/, "").toLowerCase() === host.toLowerCase()) ?? [];
    if (setting !== undefined) throw serverErrors.dashboardHostInUse({ host, setting });
  }
}
