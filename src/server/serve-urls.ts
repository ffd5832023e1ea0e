import type { Settings } from "../kernel/settings.ts";

/** Public URLs of the server. Its own URL is known once it listens. */
export interface ServeUrls {
  /** Set once the port is known. */
  listening: string;
  /** Returns the URL that clients use, without a trailing slash. */
  base(): string;
  api(): string;
  worker(label: string, script: string): string;
  /** Returns the URL of the dashboard; undefined before it listens, and without the role api. */
  dashboard(): string | undefined;
  /** Set once the port of the dashboard's own listener is known. */
  dashboardListening: string | undefined;
}

export function createUrls({ http, workers, dashboard }: Settings): ServeUrls {
  const urls: ServeUrls = {
    listening: "",
    dashboardListening: undefined,
    base: () => (http.public_url === "" ? urls.listening : http.public_url.replace(/\/+$/, "")),
    api: () => `${urls.base()}/client/v4`,
    worker(label, script) {
      const { protocol, port } = new URL(urls.base());
      return `${protocol}//${script}.${label}.${workers.domain}${port === "" ? "" : `:${port}`}`;
    },
    dashboard() {
      const [host] = dashboard.hosts;
      if (urls.dashboardListening === undefined || host === undefined) return urls.dashboardListening;
      const { protocol, port } = new URL(urls.base());
      return `${protocol}//${host}${port === "" ? "" : `:${port}`}`;
    },
  };
  return urls;
}
