import type { IncomingMessage, ServerResponse } from "node:http";
import type { Mail } from "../../../mail/index.ts";

const PATH = "/.well-known/mta-sts.txt";

/** Responds to `https://mta-sts.<domain>/.well-known/mta-sts.txt`. Resolves with false for any other request. */
export const createMtaStsPolicyPage =
  ({ policyOf }: Pick<Mail["mtaSts"], "policyOf">) =>
  async (
    { url = "", method, headers: { host = "" } }: Pick<IncomingMessage, "url" | "method" | "headers">,
    response: ServerResponse,
  ): Promise<boolean> => {
    if (url !== PATH) return false;
    const policy = await policyOf(host);
    if (policy === undefined) return false;
    // RFC 8461 3.3 requires this media type and forbids redirects.
    if (method !== "GET" && method !== "HEAD") response.writeHead(405, { allow: "GET, HEAD" }).end();
    else
      response
        .writeHead(200, { "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(policy) })
        .end(method === "HEAD" ? undefined : policy);
    return true;
  };
