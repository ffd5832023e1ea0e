import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BenchContext } from "../harness/bench.ts";
import { freePort, waitForPort } from "../smtp-accept/ports.ts";
import { ffmpeg } from "../vod-ladder/source-clip.ts";
import { countMedia, createConnection, type CountingViewer } from "./whep.ts";

interface Janus {
  version: string;
  pid: number;
  openViewer(): Promise<CountingViewer>;
}

const LIBRARIES = "/usr/lib/x86_64-linux-gnu/janus";

/** Janus with a mountpoint of its streaming plugin that receives the loop over RTP. Undefined if it is not installed. */
export async function startJanus(kit: BenchContext, loop: string): Promise<Janus | undefined> {
  if (!existsSync("/usr/bin/janus")) return undefined;
  const { stdout: version } = await promisify(execFile)("dpkg-query", ["-W", "-f", "${Version}", "janus"]);
  const [port, video, audio] = [await freePort(), await freePort(), await freePort()];
  const folder = join(kit.dir, "janus");
  await mkdir(folder);
  await writeFile(join(folder, "janus.jcfg"), general(folder));
  await writeFile(
    join(folder, "janus.transport.http.jcfg"),
    `general: { json = "compact"; base_path = "/janus"; http = true; port = ${port}; ip = "127.0.0.1"; https = false }\nadmin: { admin_http = false }\n`,
  );
  await writeFile(
    join(folder, "janus.plugin.streaming.jcfg"),
    `loop: { type = "rtp"; id = 1; media = (
  { type = "video"; mid = "v"; label = "video"; port = ${video}; pt = 102; codec = "h264"; fmtp = "profile-level-id=42e01f;packetization-mode=1" },
  { type = "audio"; mid = "a"; label = "audio"; port = ${audio}; pt = 111; codec = "opus" }
) }\n`,
  );
  const opus = join(kit.dir, "loop-opus.mkv");
  await ffmpeg(["-i", loop, "-c:v", "copy", "-c:a", "libopus", "-b:a", "96k", opus]);
  const server = spawn("janus", ["-F", folder], { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()).once("error", () => resolve()));
  kit.onStop(async () => {
    server.kill("SIGKILL");
    await ended;
  });
  await waitForPort(port, ended);
  const source = `-nostdin -loglevel error -re -stream_loop -1 -i ${opus}`;
  const outputs = [
    `-map 0:v -c copy -payload_type 102 -f rtp rtp://127.0.0.1:${video}?pkt_size=1200`,
    `-map 0:a -c copy -payload_type 111 -f rtp rtp://127.0.0.1:${audio}?pkt_size=1200`,
  ];
  const publisher = spawn("ffmpeg", [source, ...outputs].join(" ").split(" "), { stdio: "ignore" });
  kit.onStop(() => void publisher.kill("SIGKILL"));
  return { version, pid: server.pid!, openViewer: () => openViewer(`http://127.0.0.1:${port}/janus`) };
}

const general = (folder: string) => `general: {
  configs_folder = "${folder}"
  plugins_folder = "${LIBRARIES}/plugins"
  transports_folder = "${LIBRARIES}/transports"
  events_folder = "${LIBRARIES}/events"
  loggers_folder = "${LIBRARIES}/loggers"
  debug_level = 1
  session_timeout = 0
}
nat: { ice_enforce_list = "127.0.0.1"; ice_consent_freshness = false }
plugins: { disable = "libjanus_audiobridge.so,libjanus_duktape.so,libjanus_echotest.so,libjanus_lua.so,libjanus_nosip.so,libjanus_recordplay.so,libjanus_sip.so,libjanus_textroom.so,libjanus_videocall.so,libjanus_videoroom.so,libjanus_voicemail.so" }
transports: { disable = "libjanus_mqtt.so,libjanus_nanomsg.so,libjanus_pfunix.so,libjanus_rabbitmq.so,libjanus_websockets.so" }
`;

interface Event {
  janus: string;
  data?: { id: number };
  jsep?: { type: "offer"; sdp: string };
}

async function openViewer(base: string): Promise<CountingViewer> {
  const send = async (path: string, body: object): Promise<Event> => {
    const response = await fetch(`${base}${path}`, {
      method: "POST",
      body: JSON.stringify({ transaction: "t", ...body }),
    });
    return (await response.json()) as Event;
  };
  const session = (await send("", { janus: "create" })).data!.id;
  const handle = (await send(`/${session}`, { janus: "attach", plugin: "janus.plugin.streaming" })).data!.id;
  const path = `/${session}/${handle}`;
  await send(path, { janus: "message", body: { request: "watch", id: 1 } });
  let offer: Event["jsep"];
  while (offer === undefined) offer = ((await (await fetch(`${base}/${session}?maxev=1`)).json()) as Event).jsep;
  const connection = createConnection();
  return countMedia(connection, async () => {
    await connection.setRemoteDescription({ type: "offer", sdp: offer.sdp });
    await connection.setLocalDescription(await connection.createAnswer());
    const { sdp } = connection.localDescription!;
    await send(path, { janus: "message", body: { request: "start" }, jsep: { type: "answer", sdp } });
  });
}
