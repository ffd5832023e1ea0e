import { escapeText, htmlPage, MARK_SVG } from "../kernel/design/index.ts";
import { isLoopback } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import type { ProcessRole } from "./roles.ts";
import type { ServeUrls } from "./serve-urls.ts";

/** A page that the front page links to. */
interface FrontPageLink {
  name: string;
  url: string;
}

interface FrontPageDeps {
  roles: ReadonlySet<ProcessRole>;
  urls: Pick<ServeUrls, "api" | "dashboard">;
  settings: { dashboard: Pick<Settings["dashboard"], "host" | "hosts"> };
}

/**
 * Returns links for a visitor of `hostname`. The front page is public, so it reveals neither the version nor addresses
 * that the visitor does not already use.
 */
export function frontPageLinks({ roles, urls, settings }: FrontPageDeps, hostname: string): FrontPageLink[] {
  const dashboard = dashboardFor(urls.dashboard(), settings, hostname);
  return [
    ...(dashboard === undefined
      ? []
      : [
          { name: "Sign in", url: dashboard },
          { name: "Documentation", url: `${dashboard}/docs` },
        ]),
    ...(roles.has("api") ? [{ name: "API reference", url: `${urls.api()}/docs` }] : []),
  ];
}

/** Returns the URL at which visitors of `hostname` reach the dashboard; undefined if they cannot. */
function dashboardFor(
  url: string | undefined,
  { dashboard: { host, hosts } }: FrontPageDeps["settings"],
  hostname: string,
): string | undefined {
  if (url === undefined || hosts.length > 0 || isLoopback(hostname)) return url;
  if (isLoopback(host)) return undefined;
  const own = new URL(url);
  own.hostname = hostname;
  return own.origin;
}

const TITLE = "Programmable email and streaming video";
const FEATURES = [
  [
    "Email",
    "Route mail for your domains to workers and people. Send signed mail, and see what happened to each message.",
  ],
  ["Workers", "Deploy code that handles messages and requests, with storage, queues and live logs."],
  ["Video", "Upload a video and play it seconds later. Broadcast live, and control who can watch."],
] as const;

/** Returns the front page as text for terminals. */
export const frontPageText = (links: FrontPageLink[]): string =>
  ["Reelpost", TITLE, ...links.map(({ name, url }) => `${name.padEnd(14)} ${url}`)].join("\n");

export const frontPageHtml = (links: FrontPageLink[]): string =>
  htmlPage({
    title: "Reelpost",
    body: `<div class="hero">${MARK_SVG}
<h1>${TITLE}</h1>
<p class="lead">Email Workers, Email Routing and Stream on your own server.</p>
<div class="buttons">${links.map(buttonOf).join("")}</div></div>
<ul class="features">${FEATURES.map(([name, text]) => `<li><strong>${name}</strong><span>${text}</span></li>`).join("")}</ul>`,
  });

const buttonOf = ({ name, url }: FrontPageLink, index: number) =>
  `<a class="button${index === 0 ? "" : " plain"}" href="${escapeText(url)}">${name}</a>`;
