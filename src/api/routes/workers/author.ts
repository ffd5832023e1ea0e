import type { Author, Uploader } from "../../../workers/index.ts";
import type { Call } from "../../operation.ts";

/** The first product in the user agent, mapped to the sources that the hosted API documents. */
const SOURCES: Record<string, string> = { wrangler: "wrangler", terraform: "terraform", mozilla: "dash" };

/** Returns the author of a version or deployment, and the client that was used. */
export const authorOf = ({ caller, request }: Pick<Call, "caller" | "request">): Author => ({
  id: caller.user.id,
  email: caller.user.email,
  source: sourceOf(request.headers.get("user-agent")),
});

/** Returns the author of an upload, and whether it may bind secrets of the Secrets Store. */
export const uploaderOf = (call: Pick<Call, "caller" | "request" | "params">): Uploader => ({
  ...authorOf(call),
  bindsStoredSecrets: call.caller.allows("Secrets Store Write", { account: call.params["account_id"]! }),
});

export function sourceOf(userAgent: string | null): string {
  const product = /^[\w.-]+/.exec(userAgent ?? "")?.[0].toLowerCase() ?? "";
  return Object.hasOwn(SOURCES, product) ? SOURCES[product]! : "api";
}
