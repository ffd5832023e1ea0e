import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createScope } from "../interop/platform.ts";
import { clip, needsFfmpeg, type ClipRecipe } from "../support/media.ts";
import {
  AUTHORIZATION,
  CutOff,
  formAround,
  send,
  sendForm,
  TUS,
  tusAt,
  tusCreate,
  uploadForm,
} from "./stream/senders.ts";
import {
  allVideos,
  objectsBelow,
  processesOf,
  settled,
  startVideoServer,
  until,
  videoOf,
  type VideoServer,
} from "./stream/server.ts";
import { get, segmentsOf, watchOn, type Viewer } from "./stream/viewer.ts";

const flat = (size: string): ClipRecipe => ({
  inputs: ["-f", "lavfi", "-i", `color=size=${size}:rate=10:duration=0.3`],
  video: ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"],
  audio: false,
  extension: "mov",
});

/** A four-second file whose headers claim a duration of eleven hours. */
async function claiming11Hours(): Promise<Buffer> {
  const file = await readFile(await clip());
  for (const [name, at] of [
    ["mvhd", 16],
    ["tkhd", 20],
    ["mdhd", 16],
  ] as const) {
    for (let box = file.indexOf(name, 0, "latin1"); box !== -1; box = file.indexOf(name, box + 4, "latin1")) {
      const scale = name === "tkhd" ? 1000 : file.readUInt32BE(box + 16);
      file.writeUInt32BE(Math.min(0xffff_ffff, 11 * 3600 * scale), box + 4 + at);
    }
  }
  return file;
}

async function streams(count: number): Promise<string> {
  const one = await clip({ seconds: 0.5, audio: false });
  return clip({
    inputs: ["-i", one, ...Array.from({ length: count }, () => ["-map", "0:v"]).flat()],
    video: ["-c", "copy"],
    audio: false,
    extension: "mkv",
  });
}

/** Uploads a file by TUS in one chunk. */
async function uploadTus(server: VideoServer, file: Buffer): Promise<string> {
  const { uid, path } = await tusCreate(server, file.length);
  const { status, text } = await patch(server, path, 0, file);
  assert.equal(status, 204, text);
  return uid;
}

const patch = (
  server: VideoServer,
  path: string,
  offset: number | string,
  body: Buffer,
  headers: Record<string, string> = {},
) =>
  send(`${server.ready.url}${path}`, {
    method: "PATCH",
    headers: { ...TUS, "content-type": "application/offset+octet-stream", "upload-offset": String(offset), ...headers },
    body,
  });
const offsetOf = async (server: VideoServer, path: string) =>
  Number((await send(`${server.ready.url}${path}`, { method: "HEAD", headers: TUS })).headers["upload-offset"]);

describe("bad input to a server while a viewer watches one video", needsFfmpeg, () => {
  const scope = createScope();
  let server: VideoServer;
  let objects: string;
  let good: string;
  let viewer: Viewer;
  /** Number of descriptors that the server has open while only the viewer is connected. */
  let quiet: number;
  const descriptors = () => readdirSync(`/proc/${server.child.pid}/fd`).length;
  /** Responses that clients received. */
  const answers: string[] = [];
  const call = async (...args: Parameters<VideoServer["api"]["call"]>) => {
    const answer = await server.api.call(...args);
    answers.push(JSON.stringify(answer.body));
    return answer;
  };

  before(async () => {
    server = await startVideoServer(scope, { env: { REELPOST_LOG_LEVEL: "warn" } });
    objects = join(server.dataDirectory, "objects");
    good = await uploadForm(server, await clip({ seconds: 6 }));
    assert.equal((await settled(server, good)).status.state, "ready");
    viewer = watchOn(server.ready.url, good, 50);
    quiet = descriptors();
  });
  after(() => scope.close());
  afterEach(removeAll);

  test(
    "files that are not videos, are broken, or are oversized end in the corresponding error state; the others play",
    { timeout: 100_000 },
    async () => {
      const [plain, seekable] = await Promise.all([
        readFile(await clip()),
        clip({ seconds: 8, keyframeSeconds: 1, keep: 0.5, output: ["-movflags", "+faststart"] }),
      ]);
      const secret = join(objects, "stream", good, "source");
      const playlist = `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n${secret}\n#EXT-X-ENDLIST\n`;
      const files: [name: string, file: Buffer | string, state: "ready" | RegExp][] = [
        ["garbage", randomBytes(200_000), /^ERR_NON_VIDEO$/],
        ["zeros", Buffer.alloc(100_000), /^ERR_NON_VIDEO$/],
        [
          "one that was cut off before its index",
          plain.subarray(0, Math.floor(plain.length * 0.6)),
          /^ERR_MALFORMED_VIDEO$/,
        ],
        ["one that was cut off behind its index", seekable, "ready"],
        ["pictures of 72 million pixels", await clip(flat("9000x8000")), /^ERR_MALFORMED_VIDEO$/],
        ["a thousand frames a second", await clip({ fps: "1000", seconds: 2, size: "64x64", audio: false }), "ready"],
        ["60 streams", await streams(60), "ready"],
        ["120 streams", await streams(120), /^ERR_(MALFORMED|NON)_VIDEO$/],
        ["0.05 s", await clip({ seconds: 0.05, fps: "60", audio: false }), /^ERR_DURATION_TOO_SHORT$/],
        [
          "one picture for eleven hours",
          await clip({
            seconds: 2,
            fps: "1",
            audio: false,
            filter: "setpts=N*39600/TB",
            output: ["-fps_mode", "passthrough"],
          }),
          /^ERR_DURATION_EXCEED_CONSTRAINT$/,
        ],
        ["four seconds that claim to be eleven hours", await claiming11Hours(), "ready"],
      ];
      // Text is rejected before it is stored, both over TUS and in a form.
      for (const text of [playlist, `ffconcat version 1.0\nfile '${secret}'\nfile /etc/passwd\n`])
        await assert.rejects(uploadTus(server, Buffer.from(text)), /The file is not a video: it is text/);
      const uids = await Promise.all(
        files.map(async ([, file]) => uploadForm(server, typeof file === "string" ? await readFile(file) : file)),
      );
      for (const [i, [name, , expected]] of files.entries()) {
        const { status, readyToStream, duration } = await settled(server, uids[i]!, 90_000);
        answers.push(JSON.stringify(status));
        if (expected === "ready") {
          assert.deepEqual([status.state, readyToStream], ["ready", true], `${name}: ${JSON.stringify(status)}`);
          assert.ok(duration > 0.1 && duration < 8.1, `${name}: ${duration} s`);
          for (const segments of (await segmentsOf(server.ready.url, uids[i]!)).values())
            for (const segment of segments) assert.equal((await get(segment)).status, 200, `${name}: ${segment}`);
          continue;
        }
        assert.deepEqual([status.state, readyToStream], ["error", false], `${name}: ${JSON.stringify(status)}`);
        assert.match(status.errorReasonCode, expected, name);
        assert.notEqual(status.errorReasonText, "");
        for (const path of [
          "manifest/video.m3u8",
          "manifest/video.mpd",
          "thumbnails/thumbnail.jpg",
          "segments/180p/0.m4s",
          "segments/audio/init.mp4",
        ])
          assert.equal((await get(`${server.ready.url}/${uids[i]!}/${path}`)).status, 424, `${name}: ${path}`);
      }
    },
  );

  test("uploads recognized as non-video from their first bytes are rejected immediately and leave nothing", async () => {
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

  test("false lengths and offsets are reported, and the upload resumes at the true offset", async () => {
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
    await assert.rejects(form(length + 1000, Buffer.concat([head, file])), CutOff);
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
    await assert.rejects(
      send(`${server.ready.url}${path}`, {
        method: "PATCH",
        headers: {
          ...TUS,
          "content-type": "application/offset+octet-stream",
          "upload-offset": "0",
          "content-length": String(file.length),
        },
        body: half(),
      }),
      CutOff,
    );
    let offset = 0;
    await until(async () => (offset = await offsetOf(server, path)) > 0, "the received part is stored");
    assert.equal(offset, 50_000);
    assert.equal((await patch(server, path, 0, file)).status, 409);
    assert.equal((await patch(server, path, offset, file.subarray(offset))).status, 204);
    assert.equal((await patch(server, path, file.length, Buffer.from("more"))).status, 409);
    const video = await settled(server, uid);
    assert.deepEqual([video.status.state, video.size, video.duration], ["ready", file.length, 2]);
  });

  test("one-time upload URLs: expired, used twice, with a wrong secret, with a video longer than allowed", async () => {
    const file = await readFile(await clip());
    const direct = async (requested: Record<string, unknown> = {}) =>
      (await call("post", "stream/direct_upload", { body: { maxDurationSeconds: 60, ...requested } })).body.result as {
        uid: string;
        uploadURL: string;
      };
    const post = (url: string) =>
      sendForm(url, file, { headers: {} }).then(
        ({ status, text }) => (
          answers.push(text),
          [status, (JSON.parse(text) as { errors: { code: number }[] }).errors[0]?.code]
        ),
      );
    const [late, once, short] = await Promise.all([
      direct({ expiry: new Date(Date.now() + 700).toISOString() }),
      direct(),
      direct({ maxDurationSeconds: 2 }),
    ]);
    assert.deepEqual(await post(once.uploadURL), [200, undefined]);
    assert.deepEqual(await post(once.uploadURL), [409, 10902]);
    assert.deepEqual(await post(short.uploadURL), [200, undefined]);
    assert.deepEqual(await post(once.uploadURL.replace(/.$/, (last) => (last === "A" ? "B" : "A"))), [404, 10003]);
    assert.deepEqual(await post(once.uploadURL.replace(once.uid, late.uid)), [404, 10003]);
    await sleep(700);
    assert.deepEqual(await post(late.uploadURL), [410, 10903]);
    assert.equal((await videoOf(server, late.uid)).status.state, "pendingupload");
    assert.equal((await settled(server, once.uid)).status.state, "ready");
    assert.equal((await settled(server, short.uid)).status.errorReasonCode, "ERR_DURATION_EXCEED_CONSTRAINT");
    for (const requested of [
      { maxDurationSeconds: 0 },
      { maxDurationSeconds: 39_600 },
      { expiry: "2020-01-01T00:00:00Z" },
      { expiry: "soon" },
    ])
      assert.equal(
        (await call("post", "stream/direct_upload", { body: { maxDurationSeconds: 60, ...requested } })).status,
        400,
        JSON.stringify(requested),
      );
  });

  test("fetches nothing from this machine, from private networks, or over protocols other than HTTP", async () => {
    let visits = 0;
    const canary = createServer((socket) => (visits++, socket.destroy())).listen(0, "0.0.0.0");
    await new Promise((listening) => canary.once("listening", listening));
    const { port } = canary.address() as AddressInfo;
    const own = Object.values(networkInterfaces()).flatMap((all = []) =>
      all.map(({ address, family }) => (family === "IPv6" ? `[${address.split("%")[0]}]` : address)),
    );
    const hosts = [
      "127.0.0.1",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "0.0.0.0",
      "2130706433",
      "0x7f.1",
      "127.1",
      "10.0.0.1",
      "192.168.0.1",
      "172.16.5.5",
      "100.64.0.1",
      "169.254.169.254",
      "[fe80::1]",
      "[fd00::1]",
      ...own,
    ];
    const urls = [
      ...hosts.map((host) => `http://${host}:${port}/clip.mp4`),
      `${server.ready.url}/${good}/manifest/video.m3u8`,
      `${server.ready.url}/${good}/downloads/default.mp4`,
      `file://${objects}/stream/${good}/source`,
      "file:///etc/passwd",
      `ftp://127.0.0.1:${port}/clip.mp4`,
      "gopher://127.0.0.1/",
      "data:video/mp4;base64,AAAA",
      `http://user:password@127.0.0.1:${port}/`,
      "concat:/etc/passwd",
      "clip.mp4",
      "",
    ];
    for (const url of urls) {
      const { status, body } = await call("post", "stream/copy", { body: { url } });
      assert.equal(status, 400, `${url}: ${JSON.stringify(body)}`);
      assert.ok([10005, 10010].includes(body.errors[0].code), `${url}: ${JSON.stringify(body)}`);
    }
    const here = `http://127.0.0.1:${port}/`;
    assert.equal(
      (await call("post", `stream/${good}/audio/copy`, { body: { url: here, label: "Deutsch" } })).status,
      400,
    );
    assert.equal((await call("post", "stream/watermarks", { body: { url: here } })).status, 400);
    assert.equal((await call("put", "stream/webhook", { body: { notificationUrl: here } })).status, 400);
    canary.close();
    assert.equal(visits, 0);
    await onlyGood();
  });

  test("tokens: for a different video, signed with a different key, without an algorithm, too early, too late, and within the clock tolerance", async () => {
    const uid = await uploadForm(server, await clip({ seconds: 2 }));
    await settled(server, uid);
    await server.api.ok("post", `stream/${uid}`, { body: { requireSignedURLs: true } });
    const { id: kid, pem } = await server.api.ok("post", "stream/keys", { body: {} });
    const key = createPrivateKey(Buffer.from(pem, "base64").toString());
    const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const now = Math.floor(Date.now() / 1000);
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const token = (
      claims: Record<string, unknown> = {},
      { header = {}, by = key }: { header?: Record<string, unknown>; by?: KeyObject } = {},
    ) => {
      const signed = `${part({ alg: "RS256", kid, ...header })}.${part({ sub: uid, kid, exp: now + 600, ...claims })}`;
      return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), by).toString("base64url")}`;
    };
    const own = token();
    const [head, , signature] = own.split(".") as [string, string, string];
    const cases: [string, string, number][] = [
      ["good", own, 200],
      ["no token", uid, 401],
      ["signed by another key", token({}, { by: stranger }), 403],
      ["with an unknown key id", token({ kid: "e".repeat(32) }, { header: { kid: "e".repeat(32) } }), 403],
      ["alg none", `${part({ alg: "none", kid })}.${part({ sub: uid, kid, exp: now + 600 })}.`, 403],
      [
        "alg none with a signature",
        `${part({ alg: "none", kid })}.${part({ sub: uid, kid, exp: now + 600 })}.${signature}`,
        403,
      ],
      ["HS256", `${part({ alg: "HS256", kid })}.${part({ sub: uid, kid, exp: now + 600 })}.${signature}`, 403],
      ["changed claims", `${head}.${part({ sub: uid, kid, exp: now + 7200 })}.${signature}`, 403],
      ["for an unknown video", token({ sub: "f".repeat(32) }), 404],
      ["expired within the leeway", token({ exp: now - 1 }), 200],
      ["expired a minute ago", token({ exp: now - 60 }), 403],
      ["valid in two seconds", token({ nbf: now + 2 }), 200],
      ["valid in a minute", token({ nbf: now + 60 }), 403],
      ["valid for two days", token({ exp: now + 2 * 86_400 }), 403],
      ["expiry in milliseconds", token({ exp: (now + 600) * 1000 }), 403],
    ];
    for (const [name, id, status] of cases) {
      for (const path of ["manifest/video.m3u8", "segments/180p/0.m4s", "thumbnails/thumbnail.jpg"]) {
        const answer = await get(`${server.ready.url}/${id}/${path}`);
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

  test("afterwards nothing is left behind, no private information has been revealed, and the viewer has not been affected", async (t) => {
    const watched = await viewer.stop();
    t.diagnostic(JSON.stringify({ ...watched, descriptors: [quiet, descriptors()] }));
    assert.ok(watched.requests > 20);
    await onlyGood();
    assert.deepEqual([...objectsBelow(objects, ".tmp"), ...objectsBelow(objects, ".partial")], []);
    assert.ok(
      onDisk().every((name) => name.startsWith(good)),
      onDisk().join(),
    );
    await until(() => processesOf(server.dataDirectory).length === 0, "no encoder is running");
    await until(() => descriptors() <= quiet + 8, "no descriptors are leaked");
    for (const text of answers) assert.ok(!text.includes(server.dataDirectory) && !text.includes("/etc/"), text);
    assert.ok(!server.log().includes('"level":50'), server.log());
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    const leftovers = readdirSync(server.dataDirectory, { recursive: true, encoding: "utf8" }).filter((name) =>
      /(^|\/)(encode|mezzanine|captions|recording|picture|output)-\d/.test(name),
    );
    assert.deepEqual(leftovers, []);
  });

  const onDisk = () => objectsBelow(objects, "stream");

  async function onlyGood() {
    assert.deepEqual(
      (await allVideos(server)).map(({ uid }) => uid),
      [good],
    );
  }

  async function removeAll() {
    if (server.child.exitCode !== null) return;
    for (const { uid } of await allVideos(server)) if (uid !== good) await server.api.ok("delete", `stream/${uid}`);
    await until(() => onDisk().every((name) => name.startsWith(good)), "deleted videos are removed from disk");
  }
});
