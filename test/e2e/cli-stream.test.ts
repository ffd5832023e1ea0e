import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCli, type CliResult } from "../../src/cli/cli.testing.ts";
import { clip, needsFfmpeg, runFfmpeg } from "../support/media.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";
import { createScope, type Scope } from "./dev-bench.ts";
import { programEntry } from "../support/program.ts";

/**
 * A proxy to the server that can inject failures: one action, performed once, on a connection that has carried a given
 * number of bytes to the server.
 */
interface FaultyProxy {
  port: number;
  /** Target port. */
  to: number;
  fault: { after: number; happens: (client: Socket) => void } | undefined;
}

async function openFaultyProxy(scope: Scope): Promise<FaultyProxy> {
  const proxy: FaultyProxy = { port: 0, to: 0, fault: undefined };
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(proxy.to, "127.0.0.1");
    let carried = 0;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket
        .on("error", () => {})
        .on("close", () => {
          open.delete(socket);
          other.destroy();
        });
    }
    client.on("data", (piece: Buffer) => {
      carried += piece.length;
      const { fault } = proxy;
      if (fault === undefined || carried < fault.after) return;
      proxy.fault = undefined;
      fault.happens(client);
    });
    client.pipe(upstream).pipe(client);
  });
  await listening(server);
  proxy.port = (server.address() as AddressInfo).port;
  scope.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return proxy;
}

const listening = (server: Server) => once(server.listen(0, "127.0.0.1"), "listening");

/** ISO 14496-12 8.1.2: readers ignore a `free` box, which turns a small video into a large file. */
function padded(video: Buffer, size: number): Buffer {
  const free = Buffer.alloc(size - video.length);
  free.writeUInt32BE(free.length, 0);
  free.write("free", 4, "latin1");
  return Buffer.concat([video, free]);
}

/** Bytes accepted by content sniffing and rejected by probing. */
const NOISE = Buffer.alloc(18_000, 0xa5);

describe("the command line uploads, shows and downloads videos", needsFfmpeg, () => {
  const scope = createScope();
  let server: ServeProcess;
  let data: string;
  let proxy: FaultyProxy;
  let uid: string;
  const cli = (...args: string[]): Promise<CliResult> =>
    runCli(args, {
      cwd: data,
      env: { API_BASE_URL: `http://127.0.0.1:${proxy.port}/client/v4`, API_TOKEN: server.ready.token! },
    });
  const run = async (...args: string[]): Promise<CliResult> => {
    const ran = await cli("stream", ...args);
    assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran;
  };
  const refused = async (...args: string[]): Promise<CliResult> => {
    const ran = await cli("stream", ...args);
    assert.equal(ran.code, 1, `${args.join(" ")}\n${ran.stdout}`);
    return ran;
  };

  before(async () => {
    data = await temporaryFolder(scope);
    proxy = await openFaultyProxy(scope);
    server = await spawnServe(scope, {
      dataDirectory: data,
      env: {
        REELPOST_HTTP_PUBLIC_URL: `http://127.0.0.1:${proxy.port}`,
        REELPOST_STREAM_ALLOW_PRIVATE: "true",
        REELPOST_STREAM_MIN_DELETION_DAYS: "0",
      },
    });
    proxy.to = Number(new URL(server.ready.url).port);
    await writeFile(join(data, "clip.mp4"), await readFile(await clip({ seconds: 3 })));
  });
  after(() => scope.close());

  test("a file is uploaded, and can be played when the command ends", async () => {
    const { json: video } = await run("upload", "clip.mp4", "--name", "A talk", "--creator", "ada", "--wait", "--json");
    uid = video.uid;
    assert.deepEqual(
      [video.meta, video.creator, video.readyToStream, video.size],
      [{ name: "A talk", filename: "clip.mp4" }, "ada", true, (await stat(join(data, "clip.mp4"))).size],
    );
    assert.equal((await fetch(video.preview)).status, 200);
    const { stdout, stderr } = await run("upload", "clip.mp4", "--creator", "Адa");
    const [, second] =
      /^uid +([0-9a-f]{32})\nwatch +http\S+\/watch\nhls +http\S+\/manifest\/video\.m3u8\ndash +http\S+\/manifest\/video\.mpd\nstate +\w+/.exec(
        stdout,
      )!;
    assert.equal(stderr, "");
    assert.deepEqual(
      (await run("list", "--creator", "Адa", "--json")).json.map((one: { uid: string; meta: { name: string } }) => [
        one.uid,
        one.meta.name,
      ]),
      [[second, "clip.mp4"]],
    );
    await run("delete", second!, "--yes");
  });

  test("an upload resumes from the data received so far after its connection breaks", async () => {
    const file = padded(await readFile(join(data, "clip.mp4")), 12 * 1024 * 1024);
    await writeFile(join(data, "large.mp4"), file);
    proxy.fault = { after: 5 * 1024 * 1024, happens: (client) => void client.resetAndDestroy() };
    const { json: video } = await run("upload", "large.mp4", "--wait", "--json");
    assert.equal(proxy.fault, undefined);
    assert.deepEqual([video.size, video.readyToStream], [file.length, true]);
    assert.ok(file.equals(await readFile(join(data, "objects", "stream", video.uid, "source"))));
  });

  test("Ctrl-C stops an upload and prints how to resume it", async () => {
    const held = new Promise<void>(
      (resolve) =>
        (proxy.fault = {
          after: 3 * 1024 * 1024,
          happens(client) {
            client.unpipe();
            resolve();
          },
        }),
    );
    const child = spawn(process.execPath, [programEntry, "stream", "upload", "large.mp4"], {
      cwd: data,
      env: {
        PATH: process.env.PATH,
        HOME: data,
        API_BASE_URL: `http://127.0.0.1:${proxy.port}/client/v4`,
        API_TOKEN: server.ready.token!,
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    scope.after(() => void child.kill("SIGKILL"));
    let stderr = "";
    child.stderr!.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const ended = once(child, "close");
    await held;
    child.kill("SIGINT");
    assert.deepEqual(await ended, [1, null], stderr);
    const [, address] =
      /The upload was interrupted after .* of 12\.0 MB: it was interrupted\.\nfix: Resume it with: reelpost stream upload large\.mp4 --resume (http\S+)\n/.exec(
        stderr,
      )!;
    const { json: video } = await run("upload", "large.mp4", "--resume", address!, "--wait", "--json");
    assert.equal(video.size, 12 * 1024 * 1024);
    assert.ok(
      (await readFile(join(data, "large.mp4"))).equals(
        await readFile(join(data, "objects", "stream", video.uid, "source")),
      ),
    );
    await run("delete", video.uid, "--yes");
  });

  test("lists videos, states, renditions and URLs", async () => {
    const { stdout, stderr } = await run("list", "--limit", "1");
    assert.match(
      stdout,
      /^uid +name +state +duration +resolution +creator +created\n[0-9a-f]{32} +large\.mp4 +\w+.* +3\.0 s +320x180 +\d{4}-/,
    );
    assert.equal(stderr, "1 of 2 videos: use --limit to show more\n");
    assert.deepEqual(
      (
        await run("list", "--search", "TALK", "--status", "ready", "--status", "inprogress", "--since", "1h", "--json")
      ).json.map((one: { uid: string }) => one.uid),
      [uid],
    );
    assert.equal((await run("list", "--until", "1h")).stdout, "No videos.\n");
    const { stdout: details } = await run("get", uid);
    assert.match(
      details,
      new RegExp(
        `^uid +${uid}\nname +A talk\nstate +\\w+.*\nplayable +since .*\nduration +3\\.0 s\nresolution +320x180\nsize +[\\d.]+ KB\ncreator +ada\n`,
      ),
    );
    assert.match(
      details,
      /\n\nrendition +resolution +frames\/s +Mbit\/s +codecs\n[^]*^180p +320x180 +30 +0\.\d\d +avc1\.\w+,mp4a\.40\.2$/m,
    );
    assert.deepEqual(
      (await run("get", uid, "--json")).json.renditions
        .map(({ width, height }: { width: number; height: number }) => `${width}x${height}`)
        .at(0),
      "320x180",
    );
  });

  test("the MP4 and the audio are generated and downloaded", async () => {
    assert.match((await run("download", uid, "--file", "back.mp4")).stdout, /^Wrote back\.mp4 \([\d.]+ KB\)\n$/);
    const { json } = await run("download", uid, "--audio", "--json");
    assert.deepEqual([json.file, json.size], [`${uid}.m4a`, (await stat(join(data, `${uid}.m4a`))).size]);
    const length = async (file: string) =>
      Number(
        (
          await runFfmpeg(["-show_entries", "format=duration", "-of", "csv=p=0", join(data, file)], "ffprobe")
        ).toString(),
      );
    for (const file of ["back.mp4", `${uid}.m4a`]) assert.ok(Math.abs((await length(file)) - 3) < 0.1, file);
  });

  test("a protected video plays with a token, and can still be listed and downloaded", async () => {
    const { json: video } = await run(
      "upload",
      "clip.mp4",
      "--signed",
      "--allowed-origin",
      "example.com",
      "--wait",
      "--json",
    );
    assert.deepEqual([video.requireSignedURLs, video.allowedOrigins], [true, ["example.com"]]);
    assert.equal((await fetch(video.playback.hls)).status, 401);
    const { json: signed } = await run(
      "token",
      video.uid,
      "--expires",
      "2h",
      "--rule",
      "allow:ip:127.0.0.0/8,::1",
      "--rule",
      "block:any",
      "--json",
    );
    assert.equal((await fetch(signed.hls)).status, 200);
    assert.match((await run("token", video.uid)).stdout, /^token +ey\S+\nwatch +http\S+\/ey\S+\/watch\n/);
    assert.equal((await fetch((await run("token", video.uid, "--rule", "block:any", "--json")).json.hls)).status, 403);
    assert.match(
      (await refused("token", video.uid, "--rule", "allow:country")).stderr,
      /fix: For example allow:country:DE,AT/,
    );
    assert.ok((await run("get", video.uid, "--json")).json.renditions.length > 0);
    assert.ok((await run("download", video.uid, "--json")).json.size > 0);
  });

  test("uploads captions, sets chapters, creates keys, and shows usage", async () => {
    await writeFile(join(data, "de.srt"), "1\n00:00:00,000 --> 00:00:01,000\nHallo\n");
    assert.match((await run("captions", "upload", uid, "de", "de.srt")).stdout, /^Uploaded captions in Deutsch \(de\)/);
    assert.match((await run("captions", "list", uid)).stdout, /^de +Deutsch +no +ready$/m);
    await run("captions", "delete", uid, "de", "--yes");
    assert.equal((await run("captions", "list", uid)).stdout, "No captions.\n");
    assert.equal((await run("chapters", "list", uid)).stdout, "No chapters.\n");
    assert.match((await run("chapters", "set", uid, "de.srt")).stdout, /^Stored 1 chapter of /);
    assert.match((await run("chapters", "list", uid)).stdout, /^0:00:00\.000 +Hallo$/m);
    assert.match((await run("chapters", "list", uid, "--vtt")).stdout, /^WEBVTT\n\n00:00:00\.000 --> .*\nHallo\n$/);
    await run("chapters", "delete", uid, "--yes");
    assert.equal((await run("chapters", "list", uid)).stdout, "No chapters.\n");
    const { json: key } = await run("keys", "create", "--json");
    assert.match(Buffer.from(key.pem, "base64").toString(), /^-----BEGIN RSA PRIVATE KEY-----/);
    assert.match((await run("keys", "list")).stdout, new RegExp(`^${key.id} `, "m"));
    await run("keys", "delete", key.id, "--yes");
    assert.equal((await run("keys", "list")).stdout, "No keys.\n");
    assert.match((await run("usage")).stdout, /^videos +3\nkept +0\.15 min\nwatched +\d+ min since \d{4}-/);
    assert.equal((await run("usage", "--creator", "ada", "--json")).json.videoCount, 1);
    assert.match((await run("delivery")).stdout, /^customer code +[a-z0-9]{16}\ndomain +none: .*\nbase URL +http:/);
  });

  test("a video is copied from a URL, and the webhook is notified", async () => {
    const notifications: string[] = [];
    const origin = createHttpServer((request, response) => {
      if (request.method === "POST")
        return void request
          .on("data", (piece: Buffer) => notifications.push(String(piece)))
          .on("end", () => response.end("thanks"));
      void readFile(join(data, "clip.mp4")).then((file) => {
        const [, from] = /^bytes=(\d+)-/.exec(request.headers.range ?? "") ?? [];
        const body = file.subarray(Number(from ?? 0));
        response.writeHead(from === undefined ? 200 : 206, {
          "content-length": body.length,
          "accept-ranges": "bytes",
          ...(from !== undefined && { "content-range": `bytes ${from}-${file.length - 1}/${file.length}` }),
        });
        response.end(request.method === "HEAD" ? undefined : body);
      });
    });
    await listening(origin);
    scope.after(() => void origin.close().closeAllConnections());
    const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;

    assert.match((await refused("webhook", "get")).stderr, /fix: /);
    assert.match((await refused("webhook", "deliveries")).stderr, /fix: Set one: `reelpost stream webhook set <url>`/);
    assert.match(
      (await run("webhook", "set", `${url}/hook`)).stdout,
      new RegExp(`^url +${url}/hook\nsecret +[0-9a-f]{32}\n`),
    );
    const { json: copied } = await run("copy", `${url}/clip.mp4`, "--name", "Fetched", "--wait", "--json");
    assert.deepEqual([copied.meta.name, copied.readyToStream], ["Fetched", true]);
    // A failed video reaches its final state immediately, without waiting for the encoder to produce a ladder.
    await writeFile(join(data, "noise.mp4"), NOISE);
    const { json: failed } = await run("upload", "noise.mp4", "--json");
    const deliveries = async () =>
      (await run("webhook", "deliveries", "--json")).json as { id: string; video: string; status: string }[];
    let delivered;
    for (
      const start = performance.now();
      delivered === undefined && performance.now() - start < 60_000;
      await new Promise((resolve) => void setTimeout(resolve, 100))
    ) {
      delivered = (await deliveries()).find(({ video, status }) => video === failed.uid && status === "delivered");
    }
    assert.match((await run("webhook", "replay", delivered!.id)).stdout, /^Queued /);
    assert.match(
      (await run("webhook", "deliveries")).stdout,
      new RegExp(`^${delivered!.id} .* ${failed.uid} +error +delivered +1 +200, \\d+ ms$`, "m"),
    );
    await run("webhook", "delete", "--yes");
    assert.ok(notifications.some((body) => body.includes(failed.uid)));
    assert.match((await refused("copy", `${url}/nothing-here`.replace("http:", "ftp:"))).stderr, /Invalid URL/);
  });

  test("requests that cannot succeed are reported with a fix", async () => {
    await writeFile(join(data, "empty.mp4"), "");
    await writeFile(join(data, "text.mp4"), "This is no video. ".repeat(1000));
    assert.match(
      (await refused("upload", "text.mp4")).stderr,
      /rejected the upload \(status 400\): The file is not a video: it is text\nfix: Upload a video or audio file\./,
    );
    assert.match(
      (await refused("upload", "noise.mp4", "--wait")).stderr,
      /Cannot play the video .* \[ERR_NON_VIDEO\]\nfix: Upload a file with/,
    );
    assert.match((await refused("upload", "empty.mp4")).stderr, /it is empty/);
    assert.match((await refused("upload", "absent.mp4")).stderr, /the file does not exist/);
    assert.match(
      (await refused("upload", "clip.mp4", "--resume", "http://127.0.0.1/x")).stderr,
      /it is not an upload URL/,
    );
    assert.match(
      (
        await refused(
          "upload",
          "clip.mp4",
          "--resume",
          `http://127.0.0.1:${proxy.port}/upload/${uid}/${"x".repeat(32)}`,
        )
      ).stderr,
      /rejected the upload \(status 404\)[^]*fix: Upload the file again/,
    );
    assert.match(
      (await refused("delete", "webhook", "--yes")).stderr,
      /"webhook" is not a video id[^]*fix: .*`reelpost stream list`/,
    );
    assert.match((await refused("get", "0".repeat(32))).stderr, /Not Found/);
    assert.match((await refused("delete", uid)).stderr, /fix: Pass --yes to confirm\./);
    assert.deepEqual((await run("delete", uid, "--yes", "--json")).json, { uid, deleted: true });
    await refused("get", uid);
  });
});
