import type { IncomingMessage, ServerResponse } from "node:http";
import { type Log, UserError } from "../../../kernel/index.ts";
import { looksLikeToken, readToken } from "../../../protocol/playback-token/index.ts";
import { createOwnHosts } from "../../customers/own-hosts.ts";
import { addressOf } from "../../delivery/paths.ts";
import { refusalOf, refuse } from "../../delivery/refusal.ts";
import { streamErrors } from "../../errors.ts";
import type { Videos } from "../../videos/port.ts";
import type { LiveBroadcasts } from "./broadcasts.ts";
import type { LiveInputDirectory } from "./port.ts";

export interface LiveFactsParts {
  directory: Pick<LiveInputDirectory, "find">;
  videos: Pick<Videos, "find">;
  broadcasts: LiveBroadcasts;
  /** How many watch an input. */
  viewers(input: string): Promise<number>;
  /** Before `/{id}`: "" or "/cdn-cgi/stream". */
  base?: string;
  /** Whose hosts `customer-<code>.<domain>` tell of their account only. Absent or empty: there are none. */
  domain?: string;
  log: Log;
}

export interface LiveFacts {
  /** `/{id}/lifecycle` and `/{id}/views`, which whoever knows the uid may ask. False: another address; nothing was answered. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

/** What pages ask that show a broadcast: whether it is on, which video it becomes, and how many watch. */
export function createLiveFacts({
  directory,
  videos,
  broadcasts,
  viewers,
  base = "",
  domain,
  log,
}: LiveFactsParts): LiveFacts {
  const ownHost = createOwnHosts(domain);

  /** The input or the video behind an id. Throws videoNotFound, also under the host of somebody else. */
  async function find(id: string, host: string | undefined) {
    const uid = looksLikeToken(id) ? subjectOf(id) : id;
    const [input, video] = await Promise.all([directory.find(uid), videos.find(uid)]);
    const account = input?.account ?? video?.account;
    if (account === undefined || !ownHost(host, account)) throw streamErrors.videoNotFound({ uid: uid.slice(0, 32) });
    return { input, video };
  }

  async function lifecycle(id: string, host: string | undefined): Promise<object> {
    const { input, video } = await find(id, host);
    if (input === undefined) return { isInput: false, videoUID: video!.uid, live: video!.state === "live-inprogress" };
    const now = await broadcasts.now(input.uid);
    return { isInput: true, videoUID: now?.video ?? null, live: now?.live ?? false };
  }

  async function views(id: string, host: string | undefined): Promise<object> {
    const found = await find(id, host);
    const watched =
      found.input ?? (found.video?.liveInput === undefined ? undefined : await directory.find(found.video.liveInput));
    if (watched === undefined) return { liveViewers: 0 };
    if (watched.recording.hideLiveViewerCount) throw streamErrors.liveViewersHidden();
    // Of a broadcast that is over nobody is a live viewer, though the next one of its input may run.
    if (found.input === undefined && found.video!.state !== "live-inprogress") return { liveViewers: 0 };
    return { liveViewers: await viewers(watched.uid) };
  }

  const answers = new Map([
    ["lifecycle", lifecycle],
    ["views", views],
  ]);

  return {
    async handle(request, response) {
      const at = addressOf(request.url!, base);
      const answer = at && answers.get(at.rest);
      if (at === undefined || answer === undefined) return false;
      response.setHeader("access-control-allow-origin", "*");
      response.setHeader("x-content-type-options", "nosniff");
      const head = request.method === "HEAD";
      if (request.method === "OPTIONS")
        response
          .writeHead(204, {
            "access-control-allow-methods": "GET, HEAD, OPTIONS",
            "access-control-allow-headers": "*",
            "access-control-max-age": "86400",
          })
          .end();
      else if (request.method !== "GET" && !head)
        refuse(response.setHeader("allow", "GET, HEAD, OPTIONS"), {
          page: false,
          head,
          status: 405,
          message: "This address is read with GET.",
        });
      else {
        try {
          const body = JSON.stringify(await answer(at.id, request.headers.host));
          response
            .writeHead(200, {
              "content-type": "application/json",
              "content-length": Buffer.byteLength(body),
              "cache-control": "no-store",
            })
            .end(head ? undefined : body);
        } catch (err) {
          const known = err instanceof UserError;
          if (!known) log.error({ err }, "nothing could be told of a broadcast");
          refuse(response, {
            page: false,
            head,
            ...(known ? refusalOf(err) : { status: 500, message: "The server failed. Its log tells why." }),
          });
        }
      }
      return true;
    },
  };
}

/** Whoever has the token has the uid, and the uid is all that is needed here: its signature is not looked at. */
function subjectOf(token: string): string {
  const reading = readToken(token);
  if (!reading.ok) throw streamErrors.tokenRefused({ reason: reading.why });
  return reading.token.claims.sub;
}
