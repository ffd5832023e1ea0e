import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request as send } from "node:http";
import { test } from "node:test";
import { createManualClock } from "../../kernel/index.ts";
import { storeErrors } from "../../store/errors.ts";
import { CREATION_CASES } from "./tus-responses-creation.testing.ts";
import { DEFERRED_LENGTH_CASES } from "./tus-responses-deferred-length.testing.ts";
import { DELETE_CASES } from "./tus-responses-delete.testing.ts";
import { HEAD_CASES } from "./tus-responses-head.testing.ts";
import { OPTIONS_CASES } from "./tus-responses-options.testing.ts";
import { PATCH_CASES } from "./tus-responses-patch.testing.ts";
import {
  patchAt,
  REST,
  type TusBody,
  type TusHeaders,
  type TusResponse,
  type TusState,
} from "./tus-responses.testing.ts";
import { open } from "./tus.testing.ts";
import { ACCOUNT } from "./uploads.testing.ts";

const CASES = [
  ...OPTIONS_CASES,
  ...HEAD_CASES,
  ...PATCH_CASES,
  ...DEFERRED_LENGTH_CASES,
  ...DELETE_CASES,
  ...CREATION_CASES,
];
/** Expiry of a one-time URL. */
const SOON = { "upload-expires": "Sat, 21 Nov 2026 00:30:00 GMT" };

test("responses have exactly the status codes, headers and texts that clients expect", async (t) => {
  const now = Date.UTC(2026, 10, 21);
  const settings = { upload_gb: 2 ** -16, basic_upload_mb: 1, chunk_mb: 200 };
  const clock = { ...createManualClock(), now: () => now + later };
  let later = 0;
  const { base, uploads, objects } = await open(t, { clock, more: { settings } });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());

  const size = (uid: string) => partial(`stream/${uid}/source`).size();
  const partial = objects.partial.bind(objects);
  let fault: "broken" | "full" | undefined;
  objects.partial = (key) => {
    if (fault === "broken") throw new Error("broken");
    const full = () => Promise.reject(storeErrors.diskFull({ what: "it" }));
    return fault === "full" ? { ...partial(key), append: full } : partial(key);
  };

  /** Header names are in lower case; headers that Node adds to a connection that stays open are omitted. */
  async function ask(method: string, url: string, headers: TusHeaders, body?: TusBody): Promise<TusResponse> {
    const all: TusHeaders = { "tus-resumable": "1.0.0", ...headers };
    const given = Object.entries(all).filter(
      ([name, value]) => !name.startsWith(":") && (typeof value === "string" || value.length > 0),
    );
    const request = send(url, { method, agent, headers: Object.fromEntries(given) });
    if (Array.isArray(body)) {
      request.setHeader("transfer-encoding", "chunked");
      for (const piece of body) request.write(piece, "latin1");
      request.end();
    } else {
      if (body !== undefined) request.setHeader("content-length", body.length);
      request.end(body, "latin1");
    }
    const [response] = await once(request, "response");
    response.setEncoding("latin1");
    const text = (await response.toArray()).join("");
    const { date: _, "keep-alive": __, connection, ...rest } = response.headers;
    return [response.statusCode, { ...rest, ...(connection === "close" && { connection }) }, text];
  }

  async function create(state: TusState): Promise<{ url: string; uid: string }> {
    if (state === "unused" || state === "direct") {
      const { uploadUrl: url, video } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
      if (state === "direct") {
        await ask("POST", url, { "upload-length": "20" });
        await ask("PATCH", url, patchAt(0), [REST.slice(0, 8)]);
      }
      return { url, uid: video.uid };
    }
    const length: TusHeaders = state === "deferred" ? { "upload-defer-length": "1" } : { "upload-length": "20" };
    const metadata: TusHeaders | false = state === "named" && { "upload-metadata": "name aGVsbG8=, requiresignedurls" };
    const [, headers] = await ask("POST", `${base}/tus`, { ...length, ...metadata });
    const [url, uid] = [headers["location"]!, headers["stream-media-id"]!];
    const data = state === "done" ? `${REST}12345678` : REST.slice(0, 8);
    if (state !== "new") assert.equal((await ask("PATCH", url, patchAt(0), [data]))[0], 204);
    return { url, uid };
  }

  for (const [name, state, method, headers, body, expected] of CASES) {
    const { url, uid } = await create(state);
    const secret = url.split("/").at(-1)!;
    const before = await size(uid);
    if (state === "broken" || state === "full") fault = state;
    if (state === "expired") later = 9 * 86_400_000;
    const path = headers[":secret"] === undefined ? url : url.replace(secret, "x".repeat(32));
    const [status, answered, text] = await ask(method, path, headers, body);
    fault = undefined;
    later = 0;
    const hide = (value: string) => value.replaceAll(uid, "UID").replaceAll(secret, "SECRET");
    const wanted = { ...expected[1] };
    // A one-time URL expires early, and a complete upload does not.
    if ("upload-expires" in wanted && state === "direct") Object.assign(wanted, SOON);
    if (state === "done") delete wanted["upload-expires"];
    assert.deepEqual(
      [status, Object.fromEntries(Object.entries(answered).map(([key, value]) => [key, hide(value)])), hide(text!)],
      [expected[0], wanted, method === "HEAD" ? "" : (expected[2] ?? "")],
      name,
    );
    const now = await size(uid);
    if (status >= 400 && !Array.isArray(body))
      assert.equal(now, before, `${name}: data of a rejected request is stored`);
    assert.ok(now <= settings.upload_gb * 1024 ** 3, `${name}: ${now} bytes`);
  }
});
