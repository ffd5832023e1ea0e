import { NotFoundError } from "cloudflare/error";
import { BaseDirectUpload } from "cloudflare/resources/stream/direct-upload";
import { BaseStream } from "cloudflare/resources/stream/stream";
import { BaseToken } from "cloudflare/resources/stream/token";
import { createClient } from "cloudflare/tree-shakable";
import type { Env } from "./env.ts";
import { signToken } from "./token.ts";

/** The state of a video in KV: "waiting" until the webhook arrives. */
export interface Kept {
  name: string;
  state: "waiting" | "ready" | "error";
  why?: string;
}

export interface Shown extends Kept {
  uid: string;
  /** 0 to 100, while the video is being processed. */
  percent?: number;
  /** URL of the player iframe, once the video is playable. */
  player?: string;
}

/** The relevant fields of a notification; the whole is the API's video object. */
export interface Notification {
  uid: string;
  status: { state: string; errorReasonText: string };
  meta: Record<string, string>;
}

const MAX_SECONDS = 600;
const URL_GOOD_FOR_MS = 15 * 60_000;
/** An entry whose upload never arrives expires. */
const WAITING_SECONDS = 3600;
const MOST = 50;

export function createVideos(env: Env) {
  const { ACCOUNT_ID: account_id, API_TOKEN: apiToken, API_BASE_URL: baseURL, VIDEOS } = env;
  const client = createClient({
    resources: [BaseStream, BaseDirectUpload, BaseToken],
    apiToken,
    ...(baseURL !== undefined && { baseURL }),
  });

  const keep = (uid: string, kept: Kept) =>
    VIDEOS.put(uid, "", { metadata: kept, ...(kept.state === "waiting" && { expirationTtl: WAITING_SECONDS }) });

  return {
    /**
     * Returns a URL to which one visitor may upload one file without a token. `host`: the site, which is the only one
     * that may embed the video.
     */
    async invite(name: string, host: string): Promise<{ uid: string; uploadURL: string }> {
      const { uid, uploadURL } = await client.stream.directUpload.create({
        account_id,
        maxDurationSeconds: MAX_SECONDS,
        expiry: new Date(Date.now() + URL_GOOD_FOR_MS).toISOString(),
        requireSignedURLs: true,
        allowedOrigins: [host],
        meta: { name },
        creator: "video-site",
      });
      if (uid === undefined || uploadURL === undefined) throw new Error("the API answered without uid and uploadURL");
      await keep(uid, { name, state: "waiting" });
      return { uid, uploadURL };
    },

    async list(): Promise<Shown[]> {
      const { keys } = await VIDEOS.list<Kept>({ limit: MOST });
      return keys.flatMap(({ name: uid, metadata }) => (metadata === undefined ? [] : [{ uid, ...metadata }]));
    },

    /** Until the webhook arrives, the API is more up to date: a video is playable long before it is complete. */
    async show(uid: string): Promise<Shown | undefined> {
      const { metadata: kept } = await VIDEOS.getWithMetadata<Kept>(uid);
      if (kept === null) return undefined;
      if (kept.state === "error") return { uid, ...kept };
      if (kept.state === "ready") return { uid, ...kept, player: await playerOf(uid) };
      try {
        const { readyToStream, status } = await client.stream.get(uid, { account_id });
        return {
          uid,
          ...kept,
          percent: Number(status?.pctComplete ?? 0),
          ...(readyToStream === true && { player: await playerOf(uid) }),
        };
      } catch (err) {
        if (err instanceof NotFoundError) return undefined;
        throw err;
      }
    },

    /** Stores the state reported by the webhook. */
    settle({ uid, status, meta }: Notification): Promise<void> {
      const ready = status.state === "ready";
      return keep(uid, {
        name: meta["name"] ?? uid,
        state: ready ? "ready" : "error",
        ...(!ready && { why: status.errorReasonText }),
      });
    },

    /** Origin of the players. */
    delivery: deliveryOf(env),
  };

  async function playerOf(uid: string): Promise<string> {
    const token = (await signToken(uid, env)) ?? (await client.stream.token.create(uid, { account_id })).token;
    return `${deliveryOf(env)}/${token}/iframe?preload=auto&primaryColor=%23b4532a`;
  }
}

function deliveryOf({ DELIVERY_URL, STREAM_CUSTOMER_CODE, API_BASE_URL }: Env): string {
  if (DELIVERY_URL !== undefined) return DELIVERY_URL.replace("{code}", STREAM_CUSTOMER_CODE ?? "").replace(/\/$/, "");
  return API_BASE_URL === undefined
    ? `https://customer-${STREAM_CUSTOMER_CODE}.cloudflarestream.com`
    : new URL(API_BASE_URL).origin;
}
