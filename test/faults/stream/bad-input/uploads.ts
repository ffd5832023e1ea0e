import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clip } from "../../../support/media.ts";
import { AUTHORIZATION, ConnectionCutError, formAround, send, sendForm, TUS, tusAt, tusCreate } from "../senders.ts";
import { allVideos, waitForFinalState, until, videoOf } from "../server.ts";
import type { BadInputFixture } from "./fixture.ts";
import { patch, offsetOf } from "./tus.ts";

/** Tests with uploads that are rejected, truncated or not allowed. */
export function testBadUploads(given: BadInputFixture): void {
  test("uploads recognized as non-video from their first bytes are rejected immediately and leave nothing behind", async () => {
    const { server, onlyGood } = given;
    for (const [file, reason] of [
      [Buffer.alloc(0), /empty/],
      [Buffer.from("#EXTM3U\nhttp://127.0.0.1/\n"), /text/],
      [Buffer.from("%PDF-1.7\n\0\0"), /PDF/],
    ] as const) {
      const answer = await sendForm(tusAt(server), file);
      assert.deepEqual([answer.status, JSON.parse(answer.text).errors[0].code], [400, 10059]);
      assert.match(answer.text, reason);
    }
    assert.match(
      (
        await send(tusAt(server), {
          method: "POST",
          headers: { ...AUTHORIZATION, ...TUS, "upload-length": "0", "content-length": "0" },
        })
      ).text,
      /empty/,
    );
    await onlyGood();
  });

  test("wrong lengths and offsets are rejected, and the upload resumes at the correct offset", async () => {
    const { server } = given;
    const file = await readFile(await clip({ seconds: 2 }));
    // A form that is truncated, or longer than declared, is rejected.
    const { type, before: head, after: tail, length } = formAround(file);
    const form = (octets: number, body: Buffer) => {
      async function* sent() {
        yield body;
        await sleep(100);
        throw new Error("gone");
      }
      return send(tusAt(server), {
        method: "POST",
        headers: { ...AUTHORIZATION, "content-type": type, "content-length": String(octets) },
        body: octets > body.length ? sent() : body,
      });
    };
    await assert.rejects(form(length + 1000, Buffer.concat([head, file])), ConnectionCutError);
    const short = await form(head.length + 2000, Buffer.concat([head, file, tail]).subarray(0, head.length + 2000));
    assert.equal(short.status, 400, short.text);
    await until(async () => (await allVideos(server)).length === 1, "no video remains of interrupted forms");

    const { uid, path } = await tusCreate(server, file.length);
    for (const [offset, status] of [
      [5, 409],
      [file.length, 409],
      [file.length + 5, 409],
      [-1, 400],
      ["x", 400],
    ] as const) {
      const answer = await patch(server, path, offset, file);
      assert.ok(
        answer.status === status || (status === 400 && answer.status === 403),
        `${offset}: ${answer.status} ${answer.text}`,
      );
      assert.equal(await offsetOf(server, path), 0);
    }
    // More than the declared length, with and without a Content-Length.
    const more = Buffer.concat([file, file]);
    assert.equal((await patch(server, path, 0, more)).status, 413);
    // An upload that ends early: the data received so far is kept.
    async function* half() {
      yield file.subarray(0, 50_000);
      await sleep(200);
      throw new Error("gone");
    }
    const interrupted = () =>
      send(`${server.ready.url}${path}`, {
        method: "PATCH",
        headers: {
          ...TUS,
          "content-type": "application/offset+octet-stream",
          "upload-offset": "0",
          "content-length": String(file.length),
        },
        body: half(),
      });
    await assert.rejects(interrupted(), ConnectionCutError);
    let offset = 0;
    await until(async () => {
      if ((offset = await offsetOf(server, path)) > 0) return true;
      // A busy server may notice the end of the connection before it reads the body.
      await interrupted().catch(() => {});
      return false;
    }, "the received part is stored");
    assert.ok(offset <= 50_000, `${offset} of 50000 octets`);
    assert.equal((await patch(server, path, 0, file)).status, 409);
    assert.equal((await patch(server, path, offset, file.subarray(offset))).status, 204);
    assert.equal((await patch(server, path, file.length, Buffer.from("more"))).status, 409);
    const video = await waitForFinalState(server, uid);
    assert.deepEqual([video.status.state, video.size, video.duration], ["ready", file.length, 2]);
  });

  test("rejects one-time upload URLs that are expired, used, with a wrong secret, or with a video longer than allowed", async () => {
    const { server, answers, call } = given;
    const file = await readFile(await clip());
    const request = (requested: Record<string, unknown>) =>
      call("post", "stream/direct_upload", { body: { maxDurationSeconds: 60, ...requested } });
    const direct = async (requested: Record<string, unknown> = {}) =>
      (await request(requested)).body.result as { uid: string; uploadURL: string };
    /** Requests a URL that expires soon. A slow server may receive the request too late, and rejects it. */
    async function shortLived() {
      for (;;) {
        const expiry = Date.now() + 3000;
        const { status, body } = await request({ expiry: new Date(expiry).toISOString() });
        if (status === 200) return { ...(body.result as { uid: string; uploadURL: string }), expiry };
        assert.ok(Date.now() >= expiry, JSON.stringify(body));
      }
    }
    const post = (url: string) =>
      sendForm(url, file, { headers: {} }).then(
        ({ status, text }) => (
          answers.push(text),
          [status, (JSON.parse(text) as { errors: { code: number }[] }).errors[0]?.code]
        ),
      );
    const [{ expiry, ...late }, once, short] = await Promise.all([
      shortLived(),
      direct(),
      direct({ maxDurationSeconds: 2 }),
    ]);
    assert.deepEqual(await post(once.uploadURL), [200, undefined]);
    assert.deepEqual(await post(once.uploadURL), [409, 10902]);
    assert.deepEqual(await post(short.uploadURL), [200, undefined]);
    assert.deepEqual(await post(once.uploadURL.replace(/.$/, (last) => (last === "A" ? "B" : "A"))), [404, 10003]);
    assert.deepEqual(await post(once.uploadURL.replace(once.uid, late.uid)), [404, 10003]);
    while (Date.now() <= expiry) await sleep(expiry + 1 - Date.now());
    assert.deepEqual(await post(late.uploadURL), [410, 10903]);
    assert.equal((await videoOf(server, late.uid)).status.state, "pendingupload");
    assert.equal((await waitForFinalState(server, once.uid)).status.state, "ready");
    assert.equal((await waitForFinalState(server, short.uid)).status.errorReasonCode, "ERR_DURATION_EXCEED_CONSTRAINT");
    for (const requested of [
      { maxDurationSeconds: 0 },
      { maxDurationSeconds: 39_600 },
      { expiry: "2020-01-01T00:00:00Z" },
      { expiry: "soon" },
    ])
      assert.equal((await request(requested)).status, 400, JSON.stringify(requested));
  });
}
