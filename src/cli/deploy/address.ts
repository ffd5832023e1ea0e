import { hasErrorCode } from "../api/codes.ts";
import { at } from "../api/paths.ts";
import type { WorkerConnection } from "../worker-of.ts";

/** Returns the email address for a worker whose URL has its own host name: the worker's name at the parent domain. */
export function mailAddress(url: string | undefined, name: string): string | undefined {
  const host = url === undefined ? "" : new URL(url).hostname;
  return host.startsWith(`${name.toLowerCase()}.`) ? `${name}@${host.slice(name.length + 1)}` : undefined;
}

/** Enables or disables the worker's own URL and returns it. Undefined if the worker has none. */
export async function setWorkerUrl(
  { api, base, script, name }: WorkerConnection,
  { enabled, previews }: { enabled: boolean; previews: boolean | undefined },
): Promise<string | undefined> {
  await api.result("POST", `${script}/subdomain`, {
    json: { enabled, ...(previews !== undefined && { previews_enabled: previews }) },
  });
  if (!enabled) return undefined;
  const subdomainResult = await api
    .result<{ subdomain?: { url?: string } }>("GET", `${base}/workers/workers${at`/${name}`}`)
    .catch((thrown: unknown) => {
      if (hasErrorCode(thrown, 7000, 9109, 10007)) return undefined;
      throw thrown;
    });
  // A server that does not report a URL also serves workers under a path on its own port.
  return subdomainResult?.subdomain?.url ?? `${new URL(api.url).origin}/workers/${encodeURIComponent(name)}/`;
}
