import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { runCli } from "../../src/cli/cli.testing.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";
import { createScope } from "./dev-bench.ts";
import { createApi, type Api } from "./serve-client.ts";

const SECONDS = 10;
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

/** Plays a video like a player: the playlists, then every segment of one rendition. Returns the number of segments. */
async function play(hls: string, userAgent: string): Promise<number> {
  const headers = { "user-agent": userAgent, referer: "https://blog.example/post" };
  const get = async (url: string | URL) => {
    const response = await fetch(url, { headers });
    assert.equal(response.status, 200, String(url));
    return response;
  };
  const master = await (await get(hls)).text();
  const playlistUrl = new URL(/^[^#\n].*\.m3u8.*$/m.exec(master)![0], hls);
  const playlist = await (await get(playlistUrl)).text();
  const segments = playlist.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  for (const segment of segments) await (await get(new URL(segment, playlistUrl))).arrayBuffer();
  return segments.length;
}

async function playable(api: Api, uid: string) {
  for (;;) {
    const video = await api.ok("GET", `stream/${uid}`);
    assert.notEqual(video.status.state, "error", JSON.stringify(video.status));
    if (video.readyToStream === true) return video;
    await setTimeout(50);
  }
}

describe("metrics of a server", needsFfmpeg, () => {
  const scope = createScope();
  after(scope.close);

  test("count real playback and real invocations, and survive an orderly restart", async () => {
    const origin = createServer((_request, response) => response.end("ok"));
    await new Promise<void>((resolve) => void origin.listen(0, "127.0.0.1", resolve));
    scope.after(async () => void origin.close());
    const dataDirectory = await temporaryFolder(scope);
    const start = () =>
      spawnServe(scope, {
        dataDirectory,
        env: { REELPOST_STREAM_ALLOW_PRIVATE: "true", REELPOST_EGRESS_ALLOW_LOOPBACK: "true" },
      });
    const first = await start();
    const token = first.ready.token!;
    const api = createApi(first.ready, token);

    const form = new FormData();
    form.set("file", new Blob([await readFile(await clip({ seconds: SECONDS }))]), "clip.mp4");
    const { uid } = await api.ok("POST", "stream", { body: form });
    await api.ok("POST", `stream/${uid}`, { body: { creator: "ann" } });
    const { playback } = await playable(api, uid);
    assert.ok((await play(playback.hls, FIREFOX)) > 1);
    await play(playback.hls, FIREFOX);
    await play(playback.hls, "Lavf/62.3.100");

    await api.deploy(
      "counted",
      `export default { async fetch(request) {
        if (new URL(request.url).pathname.endsWith("/fail")) throw new Error("no");
        await (await fetch("http://127.0.0.1:${(origin.address() as AddressInfo).port}/")).text();
        let sum = 0; for (let i = 0; i < 2e7; i++) sum += i % 7;
        return new Response(String(sum));
      } }`,
    );
    for (let n = 0; n < 3; n++) assert.equal((await fetch(`${first.ready.url}/workers/counted/`)).status, 200);
    assert.equal((await fetch(`${first.ready.url}/workers/counted/fail`)).status, 500);
    await first.stop();

    const second = await start();
    const now = createApi(second.ready, token);
    const summary = await now.ok("GET", `stream/analytics?uid=${uid}`);
    assert.deepEqual([summary.views, summary.peakViewers >= 1], [2, true]);
    assert.ok(Math.abs(summary.minutesViewed - (3 * SECONDS) / 60) < 0.02, `${summary.minutesViewed} minutes`);
    const top = async (by: string) =>
      (await now.ok("GET", `stream/analytics/top?by=${by}`)).items.map(({ value }: { value: string }) => value).sort();
    assert.deepEqual(await top("browser"), ["FFmpeg", "Firefox"]);
    assert.deepEqual(await top("referrer"), ["blog.example"]);
    assert.deepEqual(await top("creator"), ["ann"]);
    const graphql = await now.call("POST", "/graphql", {
      body: {
        query: `{ viewer { accounts(filter: {accountTag: "${now.account}"}) {
          videoPlaybackEventsAdaptiveGroups(limit: 10) { count dimensions { uid } }
          workersInvocationsAdaptive(limit: 10, orderBy: [status_ASC]) {
            sum { requests errors subrequests } quantiles { cpuTimeP50 wallTimeP99 } dimensions { scriptName status }
          }
        } } }`,
      },
    });
    assert.equal(graphql.body.errors, null, JSON.stringify(graphql.body.errors));
    const [{ videoPlaybackEventsAdaptiveGroups: views, workersInvocationsAdaptive: invocations }] =
      graphql.body.data.viewer.accounts;
    assert.deepEqual(views, [{ count: 2, dimensions: { uid } }]);
    assert.deepEqual(
      invocations.map(({ sum, dimensions }: { sum: object; dimensions: object }) => ({ ...sum, ...dimensions })),
      [
        { requests: 1, errors: 1, subrequests: 0, scriptName: "counted", status: "scriptThrewException" },
        { requests: 3, errors: 0, subrequests: 3, scriptName: "counted", status: "success" },
      ],
    );
    const { cpuTimeP50, wallTimeP99 } = invocations[1].quantiles;
    assert.ok(cpuTimeP50 > 1000 && wallTimeP99 >= cpuTimeP50 / 2, `${cpuTimeP50} µs, ${wallTimeP99} µs`);

    const cli = async (...argv: string[]) => {
      const ran = await runCli([...argv, "--json"], {
        cwd: dataDirectory,
        env: { API_BASE_URL: `${second.ready.url}/client/v4`, API_TOKEN: token, ACCOUNT_ID: now.account },
      });
      assert.equal(ran.code, 0, ran.stderr);
      // oxlint-disable-next-line no-explicit-any
      return ran.json as any;
    };
    const shown = await cli("stream", "analytics", uid, "--by", "browser");
    assert.deepEqual([shown.views, shown.top.items.length], [2, 2]);
    assert.equal((await cli("workers", "metrics"))[0].sum.requests, 4);
    assert.equal((await cli("workers", "metrics", "counted"))[0].dimensions.scriptName, "counted");
    assert.equal((await cli("email", "analytics")).totals.received, 0);
    await second.stop();
  });
});
