import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../kernel/index.ts";
import type { Secrets } from "../../../store/index.ts";

/** A manifest of an account, which is being uploaded or is complete. */
export interface AssetSession {
  account: string;
  manifestId: string;
}

/** Purpose of a token: to upload files, or to create a version with the uploaded files. */
type TokenUse = "upload" | "done";

interface AssetTokens {
  issue(tokenUse: TokenUse, session: AssetSession): string;
  /** Returns undefined for another use, an invalid signature or an expired token. */
  read(tokenUse: TokenUse, token: string): AssetSession | undefined;
}

/** The published lifetime: https://developers.cloudflare.com/workers/static-assets/direct-upload/ */
const LIFETIME_SECONDS = 3600;
const HEADER = encodeBase64Url({ alg: "HS256", typ: "JWT" });

/** Issues JSON Web Tokens (RFC 7519) signed with HMAC-SHA256. Clients read their expiry. */
export function createAssetTokens({ secrets, clock }: { secrets: Pick<Secrets, "derive">; clock: Clock }): AssetTokens {
  const keys = secrets.derive("asset uploads");
  const sign = (key: string, text: string) => createHmac("sha256", key).update(text).digest();
  const nowSeconds = () => Math.floor(clock.now() / 1000);
  return {
    issue(tokenUse, { account, manifestId }) {
      const text = `${HEADER}.${encodeBase64Url({ acc: account, man: manifestId, use: tokenUse, exp: nowSeconds() + LIFETIME_SECONDS })}`;
      return `${text}.${sign(keys[0], text).toString("base64url")}`;
    },
    read(tokenUse, token) {
      const [header, payload = "", signature = "", ...rest] = token.split(".");
      if (header !== HEADER || rest.length > 0) return undefined;
      const receivedSignature = Buffer.from(signature, "base64url");
      const text = `${header}.${payload}`;
      const isSigned = keys.some((key) => {
        const expectedSignature = sign(key, text);
        return (
          receivedSignature.length === expectedSignature.length && timingSafeEqual(receivedSignature, expectedSignature)
        );
      });
      if (!isSigned) return undefined;
      const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
      if (claims.use !== tokenUse || !(Number(claims.exp) > nowSeconds())) return undefined;
      return { account: String(claims.acc), manifestId: String(claims.man) };
    },
  };
}

function encodeBase64Url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
