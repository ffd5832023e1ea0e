import { request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Arm, Bench, BenchContext } from "./harness/bench.ts";
import {
  descendants,
  type MeasuredServer,
  type Memory,
  packagedProgram,
  residentOctets,
  startMeasured,
} from "./memory/server.ts";
import { createHlsViewers } from "./viewers/hls.ts";
import { makeLoop, publishLoop } from "./viewers/broadcast.ts";
import { openWhepViewer } from "./viewers/whep.ts";

const MB = 1024 * 1024;
const KB = 1024;
const TARGETS = { idle_server_mb: 120, publisher_mb: 25, whep_viewer_kb: 150, tus_upload_kb: 300 };
/** An idle server checks every five seconds whether it can free the memory used during startup. */
const IDLE_MS = 12_000;
const WORKERS = 4;
const DATABASES = 40;
const PUBLISHING_MS = 35_000;
const WHEP_VIEWERS = { few: 5, many: 35, ms: 12_000 };
const UPLOADED = MB + 30 * KB;

/**
 * Memory per instance (the slope from few to many instances) after a forced garbage collection: the anonymous memory of
 * the process, which no file backs. `live_`: objects and buffers alone, without the free space between them. The server
 * runs as the package ships it. Idle server: resident memory without a forced collection; 54 MB of it are the Node
 * binary, which all Node processes share. Worker: its process. Publisher: 720p at 15 frames a second with the
 * renditions 240p and 360p, without ffmpeg, which is `ffmpeg_of_publisher_mb`.
 *
 * What profiles (heap snapshots, smaps) showed, and what changes saved:
 *
 * - idle server, 165 MB: 28 MB young generation, which only a full collection shrinks; 15 MB operations of the API; 13
 *   MB text of modules, of which comments outside Latin-1 doubled some; 3 MB encryption of backups. Now 109 MB.
 * - TUS upload, 2 MiB: two buffers of 1 MiB, into which the data was copied. Now 25 KB, and about 30 % less CPU time.
 * - WHEP viewer: packet objects of two tracks, and 64 KB of Node's buffer pool for each payload that a viewer kept. Now
 *   30 KB for the sequence numbers and references, besides the state of werift: 74 events with ten closures each, and
 *   the messages of the handshake, which are slices of the buffer pool. With them, a viewer takes 400 KB: 150 KB are
 *   two or three pieces of the pool, 64 KB each, that its keys, certificate and handshake retain. A pool of 8 KB
 *   instead reduces the live memory of a viewer from 464 to 286 KB, but not its anonymous memory (622 and 593 KB, one
 *   run each), and was not adopted.
 * - publisher: fragments of segments in memory were slices of the pool, too. With 240p and audio, the server takes 72
 *   MB instead of 78 MB.
 */
const bench: Bench = {
  name: "memory",
  async setup(kit) {
    const program = await packagedProgram();
    const figures: Record<string, number> = {};
    figures["idle_server_mb"] = await idleServer(kit, program);
    const server = await startMeasured(kit, "platform", {
      program,
      env: { REELPOST_SMTP_CONNECTIONS_PER_ADDRESS: "1000" },
    });
    Object.assign(figures, await idleWorker(server), await database(server));
    const live = await startMeasured(kit, "live", {
      program,
      env: {
        REELPOST_LIVE_LADDER: "240p,360p",
        REELPOST_LIVE_ENCODERS: "4",
        REELPOST_HTTP_CONNECTIONS_PER_ADDRESS: "5000",
      },
    });
    const loop = await makeLoop(kit, { size: "1280x720", rate: 15, kilobits: 1500 });
    const broadcast = await publishLoop(live, loop.path);
    kit.onStop(broadcast.stop);
    await sleep(PUBLISHING_MS);
    Object.assign(figures, await publisher(live, loop.path));
    kit.say(JSON.stringify(figures));
    const whep = await slope(live, (count) => inTurn(count, () => openWhepViewer(broadcast.whep)), WHEP_VIEWERS);
    Object.assign(figures, named("whep_viewer", whep));
    kit.say(JSON.stringify(figures));
    const hls = await createHlsViewers(broadcast.llhls);
    kit.onStop(hls.close);
    const slopes = new Map<string, Memory>();
    const arm = (name: string, ...given: Parameters<typeof slope>): Arm => ({
      name,
      unit: "KB",
      async sample() {
        const found = await slope(...given);
        slopes.set(name, found);
        return found.anonymous / KB;
      },
    });
    const arms = [
      arm("llhls_viewer", live, async (count) => hls.open(count), { few: 10, many: 200, ms: 1500 }),
      arm("smtp_connection", server, (count) => inTurn(count, () => openSmtp(server.smtpPort)), {
        few: 10,
        many: 400,
        ms: 200,
      }),
      arm("tus_upload", server, (count) => inTurn(count, () => openUpload(server)), { few: 10, many: 100, ms: 500 }),
    ];
    return {
      peers: {},
      arms,
      figures: () => ({
        ...figures,
        ...Object.assign({}, ...arms.map(({ name }) => named(name, slopes.get(name)!))),
        ...Object.fromEntries(Object.entries(TARGETS).map(([name, target]) => [`target_${name}`, target])),
      }),
    };
  },
};
export default bench;

const named = (name: string, { anonymous, live }: Memory) => ({
  [`${name}_kb`]: anonymous / KB,
  [`live_${name}_kb`]: live / KB,
});

interface Instance {
  close(): void;
}

/**
 * Returns the octets per additional instance. The first instances are excluded, because their cost includes what all
 * instances share.
 */
async function slope(
  server: MeasuredServer,
  open: (count: number) => Promise<Instance[]>,
  { few, many, ms }: { few: number; many: number; ms: number },
): Promise<Memory> {
  const instances: Instance[] = [];
  const measure = async (count: number) => {
    instances.push(...(await open(count)));
    await sleep(ms);
    return server.memory();
  };
  try {
    const before = await measure(few);
    const after = await measure(many - few);
    const per = (figure: keyof Memory) => (after[figure] - before[figure]) / (many - few);
    return { live: per("live"), anonymous: per("anonymous") };
  } finally {
    for (const instance of instances) instance.close();
    await sleep(300);
  }
}

async function inTurn(count: number, open: () => Promise<Instance>): Promise<Instance[]> {
  const instances: Instance[] = [];
  try {
    for (let n = 0; n < count; n++) instances.push(await open());
  } catch (err) {
    for (const instance of instances) instance.close();
    throw err;
  }
  return instances;
}

async function idleServer(kit: BenchContext, program: string): Promise<number> {
  const server = await startMeasured(kit, "idle", { program, plain: true });
  await sleep(IDLE_MS);
  const octets = residentOctets(server.pid, "Rss");
  await server.stop();
  return octets / MB;
}

/** Memory of worker processes that have each handled one request. */
async function idleWorker(server: MeasuredServer): Promise<Record<string, number>> {
  const deploy = async (name: string) => {
    const form = new FormData();
    form.set("metadata", JSON.stringify({ main_module: "worker.js", compatibility_date: "2026-01-01" }));
    const code = `export default { fetch: () => new Response("${name}") }`;
    form.set("worker.js", new File([code], "worker.js", { type: "application/javascript+module" }));
    const response = await fetch(`${server.url}/client/v4/accounts/${server.account}/workers/scripts/${name}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${server.token}` },
      body: form,
    });
    if (!response.ok) throw new Error(`deploying ${name} returned ${response.status}: ${await response.text()}`);
    await server.call("POST", `/workers/scripts/${name}/subdomain`, { enabled: true });
    const answer = await fetch(`${server.url}/workers/${name}/`);
    if ((await answer.text()) !== name) throw new Error(`the worker ${name} returned ${answer.status}`);
  };
  for (let n = 0; n < WORKERS; n++) await deploy(`worker-${n}`);
  await sleep(2000);
  const processes = descendants(server.pid, /--control-fd=3/);
  const pss = processes.reduce((sum, pid) => sum + residentOctets(pid, "Pss"), 0);
  return {
    idle_worker_mb: pss / processes.length / MB,
    processes_per_worker: processes.length / WORKERS,
  };
}

/** Memory of a database in the process that opens it, and in the server. */
async function database(server: MeasuredServer): Promise<Record<string, number>> {
  const create = async (name: string) => {
    const { uuid } = (await server.call("POST", "/d1/database", { name })) as { uuid: string };
    await server.call("POST", `/d1/database/${uuid}/query`, { sql: "create table t (a); insert into t values (1)" });
  };
  const processes = () =>
    descendants(server.pid, /d1\/process-main/).reduce((sum, pid) => sum + residentOctets(pid, "Pss"), 0);
  for (let n = 0; n < 4; n++) await create(`first-${n}`);
  const before = { server: await server.memory(), hosts: processes() };
  for (let n = 0; n < DATABASES; n++) await create(`database-${n}`);
  const after = { server: await server.memory(), hosts: processes() };
  return {
    d1_database_kb: (after.hosts - before.hosts) / DATABASES / KB,
    d1_in_server_kb: (after.server.anonymous - before.server.anonymous) / DATABASES / KB,
  };
}

/**
 * Measures how much a second broadcast increases the memory of the server and, separately, of its ffmpeg processes.
 */
async function publisher(server: MeasuredServer, loop: string): Promise<Record<string, number>> {
  const encoders = () => descendants(server.pid, /ffmpeg/).reduce((sum, pid) => sum + residentOctets(pid, "Pss"), 0);
  const before = { server: await server.memory(), ffmpeg: encoders() };
  const second = await publishLoop(server, loop);
  await sleep(PUBLISHING_MS);
  const after = { server: await server.memory(), ffmpeg: encoders() };
  await second.stop();
  return {
    publisher_mb: (after.server.anonymous - before.server.anonymous) / MB,
    live_publisher_mb: (after.server.live - before.server.live) / MB,
    ffmpeg_of_publisher_mb: (after.ffmpeg - before.ffmpeg) / MB,
  };
}

function openSmtp(port: number): Promise<Instance> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve, reject) => {
    socket.on("error", reject).once("data", (text) => {
      if (String(text).startsWith("220")) resolve({ close: () => socket.destroy() });
      else reject(new Error(`SMTP: ${String(text)}`));
    });
  });
}

/** Sends a megabyte of a larger request, and then nothing. */
async function openUpload({ url, account, token }: MeasuredServer): Promise<Instance> {
  const created = await fetch(`${url}/client/v4/accounts/${account}/stream`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "tus-resumable": "1.0.0", "upload-length": String(8 * MB) },
  });
  if (created.status !== 201) throw new Error(`the upload request returned ${created.status}`);
  const headers = {
    "tus-resumable": "1.0.0",
    "upload-offset": "0",
    "content-type": "application/offset+octet-stream",
    "content-length": String(8 * MB),
  };
  const sending = request(new URL(created.headers.get("location")!, url), { method: "PATCH", headers });
  sending.on("error", () => {});
  // Invalid UTF-8: the server rejects an upload that is text, and zeros are valid UTF-8.
  await new Promise<void>((resolve) => sending.write(Buffer.alloc(UPLOADED, 0xfe), () => resolve()));
  return { close: () => void sending.destroy() };
}
