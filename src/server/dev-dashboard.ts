import { createDashboard } from "../dashboard/index.ts";
import type { EventReporter } from "../dev/index.ts";
import { UserError, type Basics } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import type { DevOptions } from "./dev-options.ts";

interface DevDashboardDeps {
  settings: Settings;
  env: Record<string, string | undefined>;
  options: Pick<DevOptions, "port" | "dashboardPort" | "version">;
  /** URL of the HTTP server. */
  serverUrl: string;
  smtp: { host: string; port: number } | undefined;
  /** The v4 API of the development server. */
  api: Parameters<typeof createDashboard>[0]["api"];
  /** Optional parts that the API provides. */
  features?: readonly string[];
  report: EventReporter;
}

const MIB = 1024 * 1024;
const DEFAULT_PORTS = Array.from({ length: 10 }, (_, index) => 8790 + index);

/** Opens the dashboard of a development server on loopback. Resolves with its URL, or undefined if it is disabled. */
export async function openDevDashboard(
  { settings, env, options, serverUrl, smtp, api, features = [], report }: DevDashboardDeps,
  { log, lifecycle }: Basics,
): Promise<string | undefined> {
  const port = portOf({ settings, env, options });
  if (port === false) return undefined;
  const dashboard = createDashboard({
    mode: "dev",
    version: options.version ?? "dev",
    chunkBytes: settings.stream.chunk_mb * MIB,
    api,
    hosts: [],
    urls(hostname) {
      const url = new URL(serverUrl);
      url.hostname = hostname;
      const { origin } = url;
      // Uploads and videos are at the URLs that the API returns, even if the browser uses another name of this host.
      const { origin: contentOrigin } = new URL(serverUrl);
      return {
        api: origin,
        upload: contentOrigin,
        worker: origin,
        video: contentOrigin,
        ...(smtp !== undefined && { smtp: `${smtp.host}:${smtp.port}` }),
      };
    },
    features,
    log,
  });
  const { url } = await listenOnFreePort((candidate) => dashboard.listen({ host: "127.0.0.1", port: candidate }));
  lifecycle.onStop("dashboard", () => dashboard.close());
  return url;

  async function listenOnFreePort<Listener>(listen: (port: number) => Promise<Listener>): Promise<Listener> {
    const last = port === undefined ? DEFAULT_PORTS.at(-1)! : (port as number);
    for (const candidate of port === undefined ? DEFAULT_PORTS.slice(0, -1) : []) {
      try {
        const listener = await listen(candidate);
        if (candidate !== DEFAULT_PORTS[0])
          report({ event: "notice", text: `Port ${DEFAULT_PORTS[0]} is in use; the dashboard uses ${candidate}` });
        return listener;
      } catch (err) {
        if (!isPortInUse(err)) throw err;
      }
    }
    return listen(last);
  }
}

/** A server on a free HTTP port runs beside others, so its dashboard uses a free port too. */
function portOf({
  settings,
  env,
  options,
}: Pick<DevDashboardDeps, "settings" | "env" | "options">): number | false | undefined {
  if (options.dashboardPort !== undefined) return options.dashboardPort;
  if (!settings.dashboard.enabled) return false;
  if (env.REELPOST_DASHBOARD_PORT !== undefined) return settings.dashboard.port;
  return options.port === 0 ? 0 : undefined;
}

const isPortInUse = (err: unknown) =>
  err instanceof UserError && (err.cause as NodeJS.ErrnoException | undefined)?.code === "EADDRINUSE";
