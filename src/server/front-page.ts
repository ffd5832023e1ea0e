import { html, raw } from "hono/html";
import type { Role } from "./roles.ts";
import type { ServeUrls } from "./serve-urls.ts";

/** A row of the front page. */
export interface FrontPageRow {
  name: string;
  /** A page, a base URL, or an address pattern. */
  address: string;
  page?: boolean;
  what: string;
}

interface FrontPageDeps {
  roles: ReadonlySet<Role>;
  urls: Pick<ServeUrls, "base" | "api" | "worker">;
  /** Empty: videos have no separate host. */
  videoDomain: string;
}

/** The endpoints of a process with these roles. */
export const frontPageRows = ({ roles, urls, videoDomain }: FrontPageDeps): FrontPageRow[] => [
  ...(roles.has("api")
    ? [
        {
          name: "API",
          address: urls.api(),
          what: "base URL for wrangler, the cloudflare SDK and the reelpost CLI",
        },
        {
          name: "API docs",
          address: `${urls.api()}/docs`,
          page: true,
          what: "reference of all operations, with the permissions they require",
        },
      ]
    : []),
  ...(roles.has("workers")
    ? [{ name: "Workers", address: urls.worker("<account>", "<worker>"), what: "URL of a deployed worker" }]
    : []),
  ...(roles.has("playback") && videoDomain === ""
    ? [
        {
          name: "Videos",
          address: `${urls.base()}/<video>/watch`,
          what: "watch page; to embed the player, use /<video>/iframe; for other players, /<video>/manifest/video.m3u8 or video.mpd",
        },
      ]
    : []),
  {
    name: "Health",
    address: `${urls.base()}/healthz`,
    page: true,
    what: "liveness; see also /readyz (readiness) and /metrics (Prometheus)",
  },
];

/** The front page as text for terminals. */
export const frontPageText = (version: string, rows: FrontPageRow[]): string =>
  `Reelpost ${version}\n\n${rows.map(({ name, address, what }) => `${name.padEnd(10)} ${address}\n${" ".repeat(11)}${what}`).join("\n")}`;

export function frontPageHtml(version: string, rows: FrontPageRow[]): string {
  return String(
    html`<!doctype html>
      <html lang="en">
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Reelpost</title>
        <style>
          ${raw(STYLE)}
        </style>
        <h1>Reelpost <small>${version}</small></h1>
        <p>Programmable email and streaming video. This server is running.</p>
        <dl>
          ${rows.map(
            ({ name, address, page = false, what }) =>
              html` <dt>${name}</dt>
                <dd>
                  ${page ? html`<a href="${address}">${address}</a>` : html`<code>${address}</code>`}<br /><small
                    >${what}</small
                  >
                </dd>`,
          )}
        </dl>
      </html> `,
  );
}

const STYLE = `
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
small { color: light-dark(#666, #aaa); font-weight: 400; } h1 small { font-size: .6em; } dd small { font-size: 1em; }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: 1rem; } dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
code { font-size: 14px; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: .2rem; } dd { margin-bottom: .8rem; } }`;
