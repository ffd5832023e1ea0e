import { isCode } from "../api/codes.ts";
import { at } from "../api/paths.ts";
import type { WorkerConnection } from "../worker-of.ts";

/** Where mail for a worker goes that is at this URL of a host name of its own: its name at the host without it. */
export function mailAddress(url: string | undefined, name: string): string | undefined {
  const host = url === undefined ? "" : new URL(url).hostname;
  return host.startsWith(`${name.toLowerCase()}.`) ? `${name}@${host.slice(name.length + 1)}` : undefined;
}

/** Switches the worker's own address on or off, and says where it is. Undefined: it has none. */
export async function setAddress({ api, base, script, name }: WorkerConnection, { enabled, previews }: { enabled: boolean; previews: boolean | undefined }): Promise<string | undefined> {
  await api.result("POST", `${script}/subdomain`, { json: { enabled, ...(previews !== undefined && { previews_enabled: previews }) } });
  if (!enabled) return undefined;
  const found = await api.result<{ subdomain?: { url?: string } }>("GET", `${base}/workers/workers${at`/${name}`}`).catch((thrown: unknown) => {
    if (isCode(thrown, 7000, 9109, 10007)) return undefined;
    throw thrown;
  });
  // A server that does not tell has its workers at a path of its own port, too.
  return found?.subdomain?.url ?? `${new URL(api.url).origin}/workers/${encodeURIComponent(name)}/`;
}
