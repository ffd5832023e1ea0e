import type { Settings } from "../kernel/settings.ts";

/** Public URLs of the server. Its own URL is known once it listens. */
export interface ServeUrls {
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
