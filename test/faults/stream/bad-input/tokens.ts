import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { clip } from "../../../support/media.ts";
import { uploadForm } from "../senders.ts";
import { waitForFinalState, until } from "../server.ts";
import { get } from "../viewer.ts";
import type { BadInputFixture } from "./fixture.ts";

/** Tests with tokens for playback. */
export function testBadTokens(given: BadInputFixture): void {
  test("rejects tokens for a different video, with a different key, without an algorithm, too early or too late, but allows clock skew", async () => {
    const { server, good } = given;
    const uid = await uploadForm(server, await clip({ seconds: 2 }));
    await waitForFinalState(server, uid);
    await server.api.ok("post", `stream/${uid}`, { body: { requireSignedURLs: true } });
    const { id: kid, pem } = await server.api.ok("post", "stream/keys", { body: {} });
    const key = createPrivateKey(Buffer.from(pem, "base64").toString());
    const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const now = () => Math.floor(Date.now() / 1000);
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const token = (
      claims: Record<string, unknown> = {},
      { header = {}, by = key }: { header?: Record<string, unknown>; by?: KeyObject } = {},
    ) => {
      const signed = `${part({ alg: "RS256", kid, ...header })}.${part({ sub: uid, kid, exp: now() + 600, ...claims })}`;
      return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), by).toString("base64url")}`;
    };
    const own = token();
    const [head, , signature] = own.split(".") as [string, string, string];
    const cases: [name: string, token: () => string, status: number][] = [
      ["good", () => own, 200],
      ["no token", () => uid, 401],
      ["signed by another key", () => token({}, { by: stranger }), 403],
      ["with an unknown key id", () => token({ kid: "e".repeat(32) }, { header: { kid: "e".repeat(32) } }), 403],
      ["alg none", () => `${part({ alg: "none", kid })}.${part({ sub: uid, kid, exp: now() + 600 })}.`, 403],
      [
        "alg none with a signature",
        () => `${part({ alg: "none", kid })}.${part({ sub: uid, kid, exp: now() + 600 })}.${signature}`,
        403,
      ],
      ["HS256", () => `${part({ alg: "HS256", kid })}.${part({ sub: uid, kid, exp: now() + 600 })}.${signature}`, 403],
      ["changed claims", () => `${head}.${part({ sub: uid, kid, exp: now() + 7200 })}.${signature}`, 403],
      ["for an unknown video", () => token({ sub: "f".repeat(32) }), 404],
      ["expired within the leeway", () => token({ exp: now() - 1 }), 200],
      ["expired a minute ago", () => token({ exp: now() - 60 }), 403],
      ["valid in two seconds", () => token({ nbf: now() + 2 }), 200],
      ["valid in a minute", () => token({ nbf: now() + 60 }), 403],
      ["valid for two days", () => token({ exp: now() + 2 * 86_400 }), 403],
      ["expiry in milliseconds", () => token({ exp: (now() + 600) * 1000 }), 403],
    ];
    for (const [name, tokenOf, status] of cases) {
      for (const path of ["manifest/video.m3u8", "segments/180p/0.m4s", "thumbnails/thumbnail.jpg"]) {
        const answer = await get(`${server.ready.url}/${tokenOf()}/${path}`);
        assert.equal(answer.status, status, `${name}: ${path}: ${answer.body.toString().slice(0, 200)}`);
      }
    }
    // A token for one video gives access to that video only.
    const other = await get(`${server.ready.url}/${token({ sub: good })}/segments/180p/0.m4s`);
    assert.deepEqual(other.body, (await get(`${server.ready.url}/${good}/segments/180p/0.m4s`)).body);
    assert.notDeepEqual(other.body, (await get(`${server.ready.url}/${own}/segments/180p/0.m4s`)).body);
    await server.api.ok("delete", `stream/keys/${kid}`);
    await until(
      async () => (await get(`${server.ready.url}/${own}/segments/180p/0.m4s`)).status === 403,
      "a revoked key grants no access",
    );
  });
}
