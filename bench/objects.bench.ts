import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Arm, Bench, BenchContext } from "./harness/bench.ts";
import { startBucket, startObjectsServer, type ObjectsServer } from "./objects/servers.ts";
import { createDrain } from "./segment-serve/drain.ts";
import { cpuSecondsOfTree } from "./smtp-accept/cpu-tree.ts";
import { routeAll } from "./smtp-accept/ours.ts";
import { sendAll } from "./smtp-accept/source.ts";
import { startSink, type Sink } from "./smtp-accept/sink.ts";
import { ffmpeg, ffmpegVersion, makeSourceClip } from "./vod-ladder/source-clip.ts";
import { startPlaying } from "./vod/player.ts";

const DOMAIN = "bench.example";
const MESSAGES = 300;
const SESSIONS = 20;
const MESSAGE_BYTES = 10_000;
const CLIP_SECONDS = 10;
const UPLOAD_SECONDS = 60;
const SERVE_MS = 2000;
const VIEWERS = 8;
const ENCODED_MS = 600_000;

/**
 * The same work with objects in a folder and in a bucket of Ceph's S3 server on this machine: TUS uploads, the first
 * frame of a video, segments that are already on the disk, and forwarded mail whose content is kept. Ratios above 1 mean
 * that the bucket is better. Also the S3 requests for 1,000 messages and for 10 minutes of video.
 *
 * CPU time of the process for uploads of 64 MiB: a stream into a bucket took 388 ms when each part was copied twice,
 * and takes 225 ms now that all parts reuse one buffer; a partial object took 404 ms, and takes 138 ms now. The rest is
 * the SHA-256 that signs each part. Ceph verifies it, which takes 0.25 s of 0.64 s for eight single requests of 8 MiB.
 *
 * Medians on a busy machine with two cores: upload 31 MB/s into the folder and 18 MB/s into the bucket, first frame 1.0 s
 * and 1.8 s, segments 1043 and 1072 MB per CPU second, mail 216/s and 88/s. Copies of received messages are one request
 * each, and are stored before the response to DATA.
 */
const bench: Bench = {
  name: "objects",
  async setup(kit) {
    kit.say("creating 1080p clips");
    const clip = await makeSourceClip(kit.dir, CLIP_SECONDS);
    const clips = {
      first: clip,
      twice: await looped(kit, clip, 2),
      upload: await looped(kit, clip, UPLOAD_SECONDS / CLIP_SECONDS),
    };
    const sink = await startSink(kit);
    const bucket = await startBucket(kit);
    const folder = await startObjectsServer(kit, { sinkPort: sink.port });
    const s3 = await startObjectsServer(kit, { bucket, sinkPort: sink.port });
    for (const server of [folder, s3]) await routeAll(server, DOMAIN, "somebody@sink.example");
    kit.say("encoding videos completely, to count the S3 requests");
    const tenSeconds = await requestsOfVideo(s3, clips.first);
    const twentySeconds = await requestsOfVideo(s3, clips.twice);
    const measured = { folder: createFigures(), s3: createFigures() };
    const arms = [folder, s3].flatMap((server) => [
      uploadArm(server, clips.upload, measured[server.name]),
      firstFrameArm(server, clips.first),
      segmentsArm(kit, server),
      mailArm(server, sink, measured[server.name]),
    ]);
    return {
      peers: { ffmpeg: await ffmpegVersion() },
      arms,
      figures: (of) => ({
        upload_ratio: of("upload, s3") / of("upload, folder"),
        upload_cpu_ratio: measured.folder.uploadCpu / measured.s3.uploadCpu,
        first_frame_ratio: of("first frame, folder") / of("first frame, s3"),
        segments_ratio: of("segments, s3") / of("segments, folder"),
        mail_ratio: of("mail, s3") / of("mail, folder"),
        mail_cpu_ratio: measured.folder.mailCpu / measured.s3.mailCpu,
        requests_per_1000_messages: measured.s3.mailRequests,
        requests_per_10_minutes_of_video: tenSeconds + (twentySeconds - tenSeconds) * (600 / CLIP_SECONDS - 1),
        // The values behind the ratios.
        requests_per_upload: measured.s3.uploadRequests,
        upload_folder_mb_per_second: of("upload, folder"),
        upload_s3_mb_per_second: of("upload, s3"),
        upload_folder_cpu_ms_per_mb: measured.folder.uploadCpu,
        upload_s3_cpu_ms_per_mb: measured.s3.uploadCpu,
        first_frame_folder_s: of("first frame, folder"),
        first_frame_s3_s: of("first frame, s3"),
        segments_folder_mb_per_cpu_second: of("segments, folder"),
        segments_s3_mb_per_cpu_second: of("segments, s3"),
        mail_folder_per_second: of("mail, folder"),
        mail_s3_per_second: of("mail, s3"),
        mail_folder_cpu_ms: measured.folder.mailCpu,
        mail_s3_cpu_ms: measured.s3.mailCpu,
      }),
    };
  },
};
export default bench;

/** Further results of the samples of one round. */
const createFigures = () => ({ uploadCpu: 0, uploadRequests: 0, mailCpu: 0, mailRequests: 0 });
type Figures = ReturnType<typeof createFigures>;

async function looped(kit: BenchContext, clip: string, times: number): Promise<string> {
  const path = join(kit.dir, `clip-${times}.mp4`);
  await ffmpeg(["-stream_loop", String(times - 1), "-i", clip, "-c", "copy", "-movflags", "+faststart", path]);
  return path;
}

/** The S3 requests from the upload until all renditions are stored. */
async function requestsOfVideo({ video, requests }: ObjectsServer, clip: string): Promise<number> {
  const before = await requests();
  const { uid } = await video.upload(clip);
  for (const since = performance.now(); ; await sleep(500)) {
    const { status } = await video.details(uid);
    if (status.state === "error") throw new Error("the video cannot be encoded");
    if (status.state === "ready" && Number(status.pctComplete) === 100) break;
    if (performance.now() - since > ENCODED_MS)
      throw new Error(`the video is at ${status.pctComplete} % after ten minutes`);
  }
  const counted = (await requests()) - before;
  await video.remove(uid);
  return counted;
}

/** CPU time until the upload is acknowledged, without encoding. */
const uploadArm = ({ name, pid, video, requests }: ObjectsServer, clip: string, figures: Figures): Arm => ({
  name: `upload, ${name}`,
  unit: "MB/s",
  async sample() {
    const megabytes = statSync(clip).size / 1e6;
    const [cpu, counted, began] = [cpuSecondsOfTree(pid), await requests(), performance.now()];
    const { uid } = await video.upload(clip);
    const seconds = (performance.now() - began) / 1000;
    figures.uploadCpu = ((cpuSecondsOfTree(pid) - cpu) / megabytes) * 1000;
    figures.uploadRequests = (await requests()) - counted;
    await video.remove(uid);
    return megabytes / seconds;
  },
});

const firstFrameArm = ({ name, url, video }: ObjectsServer, clip: string): Arm => ({
  name: `first frame, ${name}`,
  unit: "s",
  async sample() {
    const { uid, sent } = await video.upload(clip);
    const { at } = await startPlaying(url, uid);
    await video.remove(uid);
    return (at - sent) / 1000;
  },
});

/** The first round reads each segment from the bucket. */
function segmentsArm(kit: BenchContext, { name, url, pid, library: { segments } }: ObjectsServer): Arm {
  const drain = createDrain(url);
  kit.onStop(() => drain.close());
  return {
    name: `segments, ${name}`,
    unit: "MB/CPU-s",
    async sample() {
      let octets = 0;
      let next = 0;
      const [cpu, began] = [cpuSecondsOfTree(pid), performance.now()];
      const viewer = async () => {
        while (performance.now() - began < SERVE_MS) {
          const { address, size } = segments[next++ % segments.length]!;
          const received = await drain.get(address);
          if (received !== size) throw new Error(`${address} has ${size} octets, but ${received} arrived`);
          octets += received;
        }
      };
      await Promise.all(Array.from({ length: VIEWERS }, viewer));
      return octets / 1e6 / (cpuSecondsOfTree(pid) - cpu);
    },
  };
}

/** Forwarded messages whose content is kept as objects. */
const mailArm = ({ name, pid, smtpPort, requests }: ObjectsServer, sink: Sink, figures: Figures): Arm => ({
  name: `mail, ${name}`,
  unit: "msg/s",
  async sample() {
    const [cpu, counted, before] = [cpuSecondsOfTree(pid), await requests(), sink.count];
    const ms = await sendAll({
      port: smtpPort,
      from: "somebody@sender.example",
      to: `info@${DOMAIN}`,
      messages: MESSAGES,
      sessions: SESSIONS,
      content: { size: MESSAGE_BYTES },
    });
    await sink.taken(before, MESSAGES);
    figures.mailCpu = ((cpuSecondsOfTree(pid) - cpu) / MESSAGES) * 1000;
    figures.mailRequests = (((await requests()) - counted) / MESSAGES) * 1000;
    return (MESSAGES / ms) * 1000;
  },
});
