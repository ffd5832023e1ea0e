import { FetchError, type GuardedFetch } from "../../kernel/guarded-fetch.ts";
import { messageOf } from "../../kernel/index.ts";
import type { MessageContent } from "../archive/index.ts";

/** A link of a message, and the result of a request for it. */
interface MessageLink {
  url: string;
  /** `link`: followed by a click. `resource`: loaded with the page. */
  kind: "link" | "resource";
  /** Absent if it was not checked. */
  status?: number;
  /** Target of the redirects. */
  finalUrl?: string;
  /** Why there is no status. */
  error?: string;
}

const MAX_LINKS = 200;
const MAX_CONCURRENT = 5;
const CHECK = { redirects: 5, headersTimeoutMs: 10_000, totalTimeoutMs: 20_000 };

/** Returns the http and https links of a message, without duplicates; at most 200. */
export function linksOf({ html, text }: Pick<MessageContent, "html" | "text">): MessageLink[] {
  const links = new Map<string, MessageLink>();
  const add = (found: string, kind: MessageLink["kind"]) => {
    const url = URL.parse(found.replaceAll("&amp;", "&").trim());
    if (url === null || (url.protocol !== "http:" && url.protocol !== "https:") || links.size >= MAX_LINKS) return;
    if (!links.has(url.href)) links.set(url.href, { url: url.href, kind });
  };
  for (const [, name, double, single, bare] of (html ?? "").matchAll(
    /\b(href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/gi,
  ))
    add(double ?? single ?? bare!, name!.toLowerCase() === "src" ? "resource" : "link");
  for (const [found] of (text ?? "").matchAll(/\bhttps?:\/\/[^\s<>"'\])]+/gi))
    add(found.replace(/[.,;:!?]+$/, ""), "link");
  return [...links.values()];
}

/** Requests every link with HEAD, or GET if the server does not support HEAD. */
export async function checkLinks(
  links: readonly MessageLink[],
  fetch: GuardedFetch,
  signal?: AbortSignal,
): Promise<MessageLink[]> {
  const results: MessageLink[] = [...links];
  let next = 0;
  async function runLane() {
    for (let i = next++; i < results.length; i = next++) results[i] = await check(results[i]!, fetch, signal);
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, runLane));
  return results;
}

async function check(link: MessageLink, fetch: GuardedFetch, signal?: AbortSignal): Promise<MessageLink> {
  try {
    let response = await fetch(link.url, { ...CHECK, method: "HEAD", ...(signal && { signal }) });
    response.close();
    // Many servers support only GET.
    if ([403, 404, 405, 501].includes(response.status)) {
      response = await fetch(link.url, { ...CHECK, method: "GET", ...(signal && { signal }) });
      response.close();
    }
    const finalUrl = response.url.href;
    return { ...link, status: response.status, ...(finalUrl !== link.url && { finalUrl }) };
  } catch (err) {
    if (err instanceof FetchError || signal?.aborted === true) return { ...link, error: messageOf(err) };
    throw err;
  }
}
