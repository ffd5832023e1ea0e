import { isCode } from "../api/codes.ts";
import type { WorkerConnection } from "../worker-of.ts";

/** Switches the worker's own address on or off, and says where it is. Undefined: it has none. */
export async function setAddress({ api, base, script, name }: WorkerConnection, { enabled, previews }: { enabled: boolean; previews: boolean | undefined }): Promise<string | undefined> {
  await api.result("POST", `${script}/subdomain`, { json: { enabled, ...(previews !== undefined && { previews_enabled: previews }) } });
  if (!enabled) return undefined;
  const found = await api.result<{ subdomain: string; x_workers_origin?: string }>("GET", `${base}/workers/subdomain`).catch((thrown: unknown) => {
    // No label was chosen: the worker has no address yet.
    if (isCode(thrown, 10007, 10034)) return undefined;
    throw thrown;
  });
  return addressOf(api.url, name, found);
}

/**
 * Our own server says below which origin its workers are: the worker is at `<name>.<subdomain>.` in front of that host. A server that does not
 * say has them at the path of its own port.
 */
export function addressOf(apiUrl: string, name: string, found: { subdomain: string; x_workers_origin?: string } | undefined): string {
  const origin = found?.x_workers_origin === undefined ? null : URL.parse(found.x_workers_origin);
  if (origin === null) return `${new URL(apiUrl).origin}/workers/${encodeURIComponent(name)}/`;
  return `${origin.protocol}//${name}.${found!.subdomain}.${origin.host}/`;
}
