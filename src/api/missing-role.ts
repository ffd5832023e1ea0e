import type { IncomingMessage } from "node:http";
import { API_BASE } from "./base.ts";
import { hostName, type Destination } from "./platform-host.ts";
import type { ForwardedRole, NodeForwarding } from "./node-forwarding.ts";

interface MissingRoleDeps {
  forwarding: Pick<NodeForwarding, "has" | "canForward" | "api">;
  pick(request: IncomingMessage): Destination | Promise<Destination>;
  /** True for a path that every node handles itself, such as `/readyz`. */
  isPage(path: string): boolean;
  /** True if uploads have their own host name. */
  hasUploadHost: boolean;
}

/** A WebRTC session is in the memory of one node, which has the live input. */
const WEBRTC_PATH = /^\/[^/?]{1,8192}\/webRTC\/(?:publish|play)(?:[/?]|$)/;
const UPLOADS = "/upload/";

/**
 * Returns a function that resolves with the role to which a request must be forwarded; undefined if this process
 * handles it.
 */
export function createMissingRoleFinder({ forwarding, pick, isPage, hasUploadHost }: MissingRoleDeps) {
  const { has, canForward, api } = forwarding;
  const unlessHere = (role: ForwardedRole) => (has(role) ? undefined : role);

  function videoRole(request: IncomingMessage): ForwardedRole | undefined {
    if (WEBRTC_PATH.test(request.url!)) return unlessHere("live");
    if (has("playback") || has("live")) return undefined;
    return canForward("playback") ? "playback" : "live";
  }

  return async (request: IncomingMessage): Promise<ForwardedRole | undefined> => {
    const host = hostName(request.headers.host);
    if (!has("api") && (api.isDashboard(host) || (await api.isSite(host)))) return "api";
    const destination = await pick(request);
    if ("script" in destination) return unlessHere("workers");
    if (destination.kind === "video") return videoRole(request);
    if (destination.kind === "upload") return unlessHere("api");
    if (destination.kind === "unknown" || isPage(destination.path)) return undefined;
    const isApi =
      destination.path.startsWith(`${API_BASE}/`) ||
      api.prefixes.some((prefix) => destination.path.startsWith(prefix) && (prefix !== UPLOADS || !hasUploadHost));
    return isApi ? unlessHere("api") : videoRole(request);
  };
}
