import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { chmod, copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { clip, needsFfmpeg, needsPrograms } from "../../../test/support/media.ts";
import { silentLog, UserError } from "../../kernel/index.ts";
import { discover } from "./capabilities.ts";
import { isFfmpeg, openTools, processesWith, streamSettings } from "./media.testing.ts";
import { MediaRunError, type MediaRunReason } from "./run-error.ts";
import type { MediaRunReport } from "./tools.ts";

const PROGRAM = { bwrap: "bwrap", landlock: "perl", prlimit: "prlimit" };

const ended = (reason: MediaRunReason, words?: RegExp) => (err: unknown) => {
  assert.ok(err instanceof MediaRunError, String(err));
  assert.equal(err.reason, reason, `${err.message}\n${err.stderr}`);
  if (words !== undefined) assert.match(`${err.message}\n${err.stderr}`, words);
  return true;
};

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "reelpost-media-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Runs until it is killed; the word identifies it among all processes. */
const endless = (word: string) => [
  "-f",
  "lavfi",
  "-i",
  "testsrc2=size=64x64:rate=30",
  "-metadata",
  `title=${word}`,
  "-f",
  "null",
  "-",
];
let words = 0;
const newWord = () => `reelpost-endless-${process.pid}-${++words}`;

async function until(condition: () => boolean, what: string) {
  const late = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < late, `timed out after a minute, waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const installed = (name: string) =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((place) => join(place, name))
    .find((path) => existsSync(path))!;

/** Tools whose ffmpeg is a symlink that a test can remove. */
async function openWithFfmpegOf(t: TestContext, sandbox: "prlimit") {
  const programs = join(await folder(t), "ffmpeg");
  await symlink(installed("ffmpeg"), programs);
  return { programs, ...openTools(t, { sandbox, ffmpeg: programs }) };
}

/** A server that records connections. */
async function listener(t: TestContext) {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  return { port: (server.address() as { port: number }).port, connections: () => connections };
}

test("reports ffmpeg's capabilities", needsFfmpeg, async (t) => {
  const { version, encoders, filters, sandbox } = await openTools(t).ready();
  assert.match(version, /^\S*\d/);
  assert.deepEqual(
    [encoders.has("libx264"), encoders.has("aac"), encoders.has("="), filters.has("scale"), filters.has("fps")],
    [true, true, false, true, true],
  );
  assert.ok(["bwrap", "landlock", "prlimit", "none"].includes(sandbox));
});

for (const sandbox of ["bwrap", "landlock", "prlimit"] as const) {
  describe(`confined by ${sandbox}`, needsPrograms(PROGRAM[sandbox]), () => {
    test("reads its input file and writes to standard output", async (t) => {
      const tools = openTools(t, { sandbox });
      const path = await clip();
      const { output } = await tools.ffprobe({
        args: ["-show_entries", "format=duration", "-of", "csv=p=0", "-i", path],
        reads: [path],
        urgency: "urgent",
      });
      assert.equal(output.toString(), "4.000000\n");
      const pieces: number[] = [];
      const { output: kept } = await tools.ffmpeg({
        args: ["-i", path, "-frames:v", "10", "-f", "rawvideo", "pipe:1"],
        reads: [path],
        outputBytes: 1,
        onOutput: async (chunk) => void pieces.push(chunk.length),
      });
      assert.deepEqual([pieces.reduce((a, b) => a + b), kept.length], [10 * 320 * 180 * 1.5, 0]);
    });

    test("writes to its folder", async (t) => {
      const path = await clip();
      const writes = await folder(t);
      await openTools(t, { sandbox }).ffmpeg({
        args: ["-i", path, "-c", "copy", join(writes, "copy.mkv")],
        reads: [path],
        writes,
      });
      assert.ok(existsSync(join(writes, "copy.mkv")));
    });

    test("playlists and scripts with an mp4 extension are not opened, nor are the files they refer to", async (t) => {
      const tools = openTools(t, { sandbox });
      const { port, connections } = await listener(t);
      const at = await folder(t);
      const secret = await clip();
      const disguised = {
        hls: `#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nhttp://127.0.0.1:${port}/a.ts\n#EXT-X-ENDLIST\n`,
        "hls of a file": `#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nfile://${secret}\n#EXT-X-ENDLIST\n`,
        concat: `ffconcat version 1.0\nfile '${secret}'\n`,
        dash: `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><BaseURL>http://127.0.0.1:${port}/</BaseURL></Period></MPD>`,
        sdp: `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video ${port} RTP/AVP 96\na=rtpmap:96 H264/90000\n`,
      };
      for (const [name, text] of Object.entries(disguised)) {
        const path = join(at, `${name}.mp4`);
        await writeFile(path, text);
        // The file that they refer to is readable, so only the container check prevents access.
        for (const program of ["ffprobe", "ffmpeg"] as const) {
          const args = program === "ffprobe" ? ["-show_format", "-i", path] : ["-i", path, "-f", "null", "-"];
          await assert.rejects(
            tools[program]({ args, reads: [path, secret] }),
            ended("failed", /whitelist|Invalid data/),
            `${program} of ${name}`,
          );
        }
      }
      assert.equal(connections(), 0);
    });

    test("network inputs are rejected", async (t) => {
      const { port, connections } = await listener(t);
      const args = ["-protocol_whitelist", "file,http,tcp", "-i", `http://127.0.0.1:${port}/a.mp4`, "-f", "null", "-"];
      await assert.rejects(openTools(t, { sandbox }).ffmpeg({ args, reads: [] }), ended("failed", /not on whitelist/i));
      assert.equal(connections(), 0);
    });

    test("runs with background niceness, which also applies to its autogroup", async (t) => {
      const path = await clip();
      const stop = new AbortController();
      const mark = `mark${sandbox}${process.pid}`;
      const run = openTools(t, { sandbox }).ffmpeg({
        args: ["-stream_loop", "-1", "-i", path, "-metadata", `title=${mark}`, "-f", "null", "-"],
        reads: [path],
        signal: stop.signal,
      });
      run.catch(() => {});
      await until(() => processesWith(mark).some(isFfmpeg), "ffmpeg to start");
      const [pid] = processesWith(mark).filter(isFfmpeg);
      if (existsSync("/proc/self/autogroup"))
        assert.match(readFileSync(`/proc/${pid}/autogroup`, "latin1"), /nice 5$/m);
      // Field 19 of proc_pid_stat(5), after the name in brackets.
      assert.equal(readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ")[16], "5");
      stop.abort();
      await assert.rejects(run);
    });

    test("is killed when it exceeds its time, CPU time, output or memory", async (t) => {
      const tools = openTools(t, { sandbox, urgent_encoders: 4 });
      await tools.ready();
      const word = newWord();
      const start = performance.now();
      await assert.rejects(tools.ffmpeg({ args: endless(word), reads: [], wallMs: 300 }), ended("timeout", /300 ms/));
      assert.ok(performance.now() - start < 5000);
      await assert.rejects(tools.ffmpeg({ args: endless(word), reads: [], cpuSeconds: 1 }), ended("killed"));
      await assert.rejects(
        tools.ffmpeg({
          args: ["-f", "lavfi", "-i", "testsrc2=size=640x360", "-f", "rawvideo", "pipe:1"],
          reads: [],
          outputBytes: 1_000_000,
        }),
        ended("output", /1000000/),
      );
      await assert.rejects(
        tools.ffmpeg({
          args: [
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=1920x1080",
            "-frames:v",
            "60",
            "-c:v",
            "libx264",
            "-f",
            "null",
            "-",
          ],
          reads: [],
          memoryMb: 420,
        }),
        (err) => err instanceof MediaRunError && ["memory", "failed", "killed"].includes(err.reason),
      );
      await until(() => processesWith(word).length === 0, "the killed processes to exit");
    });

    test("the files it writes are limited in size", async (t) => {
      const writes = await folder(t);
      const args = [
        "-f",
        "lavfi",
        "-i",
        "testsrc2=size=640x360",
        "-frames:v",
        "100",
        "-f",
        "rawvideo",
        join(writes, "big"),
      ];
      await assert.rejects(
        openTools(t, { sandbox }).ffmpeg({ args, reads: [], writes, fileBytes: 500_000 }),
        ended("output", /larger file/),
      );
      assert.ok(statSync(join(writes, "big")).size <= 500_000);
    });

    // The rest of this test is in test/faults/stream-ffmpeg.test.ts.
    if (sandbox === "prlimit")
      test("may be replaced: runs fail with a clear error while it is missing, and succeed once it is available again", async (t) => {
        const { ffmpeg, programs } = await openWithFfmpegOf(t, sandbox);
        const run = {
          args: ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=30:duration=0.1", "-f", "null", "-"],
          reads: [],
        };
        await ffmpeg(run);
        await rm(programs);
        const missing = (err: unknown) => err instanceof UserError && err.kind === "mediaToolsMissing";
        for (let i = 0; i < 2; i++) await assert.rejects(ffmpeg(run), missing);
        await symlink(installed("ffmpeg"), programs);
        // The program is searched for again after at most a few seconds.
        for (let late = performance.now() + 20_000, found = false; !found;)
          found = await ffmpeg(run).then(
            () => true,
            (err: unknown) => (
              assert.ok(missing(err) && performance.now() < late),
              new Promise((resolve) => setTimeout(resolve, 200, false))
            ),
          );
      });

    test("is killed when it is aborted, when its reader fails, and when the tools are closed", async (t) => {
      const tools = openTools(t, { sandbox });
      const word = newWord();
      const started = (n: number) => until(() => processesWith(word).length >= n, "the process to start");
      const leaving = new AbortController();
      const left = assert.rejects(
        tools.ffmpeg({ args: endless(word), reads: [], signal: leaving.signal, urgency: "urgent" }),
        ended("aborted"),
      );
      await started(1);
      leaving.abort(new Error("the viewer left"));
      await left;
      const broken = new Error("disk full");
      await assert.rejects(
        tools.ffmpeg({
          args: ["-f", "lavfi", "-i", "testsrc2", "-metadata", `title=${word}`, "-f", "rawvideo", "pipe:1"],
          reads: [],
          onOutput: () => Promise.reject(broken),
        }),
        broken,
      );
      await until(() => processesWith(word).length === 0, "the processes to exit");
      const closed = assert.rejects(
        tools.ffmpeg({ args: endless(word), reads: [], urgency: "urgent" }),
        ended("closed"),
      );
      await started(1);
      await tools.close();
      await closed;
      await until(() => processesWith(word).length === 0, "the process to exit");
    });
  });
}

for (const sandbox of ["bwrap", "landlock", "prlimit"] as const) {
  describe(`confined by ${sandbox}, without relying on ffmpeg options`, needsPrograms(PROGRAM[sandbox]), () => {
    const opened = (t: TestContext) => openTools(t, { sandbox });

    test("has no network access", async (t) => {
      const { port, connections } = await listener(t);
      // protocol_whitelist does not apply to outputs: only the sandbox blocks them.
      const args = ["-f", "lavfi", "-i", "testsrc2=duration=1", "-f", "mpegts", `tcp://127.0.0.1:${port}`];
      await assert.rejects(opened(t).ffmpeg({ args, reads: [] }), ended("failed"));
      await assert.rejects(
        opened(t).ffmpeg({ args: [...args.slice(0, -1), `udp://127.0.0.1:${port}`], reads: [] }),
        ended("failed"),
      );
      assert.equal(connections(), 0);
    });

    test(
      "runs as a non-root user without capabilities or supplementary groups",
      { skip: process.getuid?.() !== 0 && "needs root" },
      async (t) => {
        const at = await folder(t);
        const word = newWord();
        const stop = new AbortController();
        const run = opened(t).ffmpeg({
          args: [...endless(word).slice(0, -2), "matroska", join(at, "out.mkv")],
          reads: [],
          writes: at,
          signal: stop.signal,
          urgency: "urgent",
        });
        run.catch(() => {});
        await until(
          () => processesWith(word).some(isFfmpeg) && existsSync(join(at, "out.mkv")),
          "ffmpeg to write its output",
        );
        const [pid] = processesWith(word).filter(isFfmpeg);
        const status = readFileSync(`/proc/${pid}/status`, "latin1");
        const { user } = await opened(t).ready();
        assert.ok(user !== undefined && user.uid > 0);
        assert.match(status, new RegExp(`^Uid:\\s+${user.uid}\\s+${user.uid}\\s+${user.uid}\\s+${user.uid}$`, "m"));
        assert.match(status, new RegExp(`^Gid:\\s+${user.gid}\\s+${user.gid}\\s+${user.gid}\\s+${user.gid}$`, "m"));
        assert.match(status, /^Groups:\s*$/m);
        for (const set of ["Inh", "Prm", "Eff", "Amb"]) assert.match(status, new RegExp(`^Cap${set}:\\s+0+$`, "m"));
        assert.match(status, /^NoNewPrivs:\s+1$/m);
        assert.match(status, /^Seccomp:\s+2$/m);
        stop.abort();
        await assert.rejects(run);
        // The server owns its output again.
        assert.equal(statSync(join(at, "out.mkv")).uid, 0);
      },
    );

    test("reads a file of mode 0600 in a folder of mode 0700", async (t) => {
      const at = await folder(t);
      const path = join(at, "private.mp4");
      await copyFile(await clip(), path);
      await chmod(path, 0o600);
      const { output } = await opened(t).ffprobe({
        args: ["-show_entries", "format=duration", "-of", "csv=p=0", "-i", path],
        reads: [path],
      });
      assert.equal(output.toString(), "4.000000\n");
      assert.equal(statSync(path).mode & 0o007, 0);
      assert.equal(statSync(path).uid, process.getuid?.());
    });

    // With limits only, programs of a non-root server can read everything that the server's user can.
    test(
      "cannot open other files or change its input",
      { skip: sandbox === "prlimit" && process.getuid?.() !== 0 && "limits only" },
      async (t) => {
        const at = await folder(t);
        const [given, other] = [await clip(), join(at, "other.mp4")];
        await copyFile(await clip({ audio: false }), other);
        await chmod(other, 0o600);
        const before = readFileSync(given);
        const reader = (path: string) => [
          "-f",
          "lavfi",
          "-i",
          `movie=filename=${path}`,
          "-frames:v",
          "1",
          "-f",
          "null",
          "-",
        ];
        await opened(t).ffmpeg({ args: reader(given), reads: [given] });
        await assert.rejects(
          opened(t).ffmpeg({ args: reader(other), reads: [given] }),
          ended("failed", /No such file|Permission denied/),
        );
        await assert.rejects(
          opened(t).ffmpeg({
            args: ["-y", "-f", "lavfi", "-i", "testsrc2=duration=1", "-f", "matroska", given],
            reads: [given],
          }),
          ended("failed", /Read-only|Permission denied/),
        );
        await assert.rejects(
          opened(t).ffmpeg({ args: ["-y", "-f", "lavfi", "-i", "testsrc2=duration=1", join(at, "x.mp4")], reads: [] }),
          ended("failed"),
        );
        assert.ok(!existsSync(join(at, "x.mp4")));
        assert.deepEqual(readFileSync(given), before);
      },
    );

    test("fails a run that leaves a symlink in its folder, even if the program exits with 0", async (t) => {
      const [at, place] = [await folder(t), await folder(t)];
      const program = join(place, "ffmpeg");
      await chmod(place, 0o755);
      await writeFile(
        program,
        `#!/bin/sh\nfor last; do :; done\ncase "$last" in */link) exec ln -s /etc/passwd "$last";; esac\nexec ${installed("ffmpeg")} "$@"\n`,
        { mode: 0o755 },
      );
      const run = openTools(t, { sandbox, ffmpeg: program }).ffmpeg({
        args: [join(at, "link")],
        reads: [],
        writes: at,
      });
      await assert.rejects(run, ended("failed"));
      assert.ok(sandbox === "landlock" || lstatSync(join(at, "link")).isSymbolicLink());
    });

    test("no process of a program outlives its run, even in a separate session", async (t) => {
      const place = await folder(t);
      const program = join(place, "ffmpeg");
      const word = newWord();
      await chmod(place, 0o755);
      const leave = `use POSIX; pipe R, W; if (fork) { close W; <R>; exit 0 } POSIX::setsid(); close STDOUT; close STDERR; print W "1\\n"; close W; sleep 300`;
      await writeFile(
        program,
        `#!/bin/sh\ncase "$*" in *leave*) exec perl -e '${leave}' ${word};; esac\nexec ${installed("ffmpeg")} "$@"\n`,
        { mode: 0o755 },
      );
      t.after(() => processesWith(word).forEach((pid) => process.kill(pid, "SIGKILL")));
      await openTools(t, { sandbox, ffmpeg: program }).ffmpeg({ args: ["leave"], reads: [] });
      await until(() => processesWith(word).length === 0, "the process to exit");
    });
  });
}

test(
  "falls back to landlock without user namespaces, and reports it",
  { ...needsPrograms("bwrap", "perl"), skip: process.platform !== "linux" && "needs namespaces" },
  async (t) => {
    // Like Docker's default profile: no user namespaces, and no CAP_SYS_ADMIN, which would let root work without them.
    const { stdout, stderr } = spawnSync(
      "unshare",
      [
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        `echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$@"`,
        "sh",
        process.execPath,
        "--input-type=module",
        "-e",
        `
    import { discover } from ${JSON.stringify(import.meta.resolve("./capabilities.ts"))};
    const settings = { ffmpeg: "", ffprobe: "", sandbox: "auto", user_id: 70000 };
    const log = { warn: (fields, text) => console.log("warned: " + text + JSON.stringify(fields)) };
    process.getuid = () => 1;
    const { capabilities } = await discover(settings, { log, signal: new AbortController().signal, exposed: true });
    console.log(JSON.stringify([capabilities.sandbox, capabilities.offline]));`,
      ],
      { encoding: "utf8" },
    );
    assert.equal(stdout.trim().split("\n").at(-1), '["landlock",true]', stderr);
    void t;
  },
);

test("uses limits alone on a public address only if stream.sandbox is prlimit", needsFfmpeg, async (t) => {
  const place = await folder(t);
  await chmod(place, 0o755);
  for (const name of ["ffmpeg", "ffprobe", "prlimit", "setpriv", "nice"])
    await symlink(installed(name), join(place, name));
  const path = process.env["PATH"];
  t.after(() => void (process.env["PATH"] = path));
  process.env["PATH"] = place;
  const warned: string[] = [];
  const log = { ...silentLog, warn: (_: unknown, text: string) => void warned.push(text) } as typeof silentLog;
  const find = (sandbox: "auto" | "prlimit", exposed: boolean) =>
    discover(streamSettings({ sandbox }), { log, exposed, signal: new AbortController().signal });
  await assert.rejects(
    find("auto", true),
    (err) =>
      err instanceof UserError &&
      err.kind === "mediaToolsMissing" &&
      /bubblewrap: .*landlock: .*set stream\.sandbox to prlimit/s.test(err.message),
  );
  assert.deepEqual(warned, []);
  assert.equal((await find("prlimit", true)).capabilities.sandbox, "prlimit");
  const { sandbox, offline } = (await find("auto", false)).capabilities;
  assert.deepEqual([sandbox, offline, warned.length], ["prlimit", false, 1]);
});

describe("if the server dies", () => {
  for (const sandbox of ["bwrap", "landlock", "prlimit"] as const) {
    test(`children confined by ${sandbox} are killed too`, needsPrograms(PROGRAM[sandbox]), async (t) => {
      const word = newWord();
      const program = `
        import { createMediaTools } from ${JSON.stringify(import.meta.resolve("./tools.ts"))};
        const log = { warn() {}, debug() {} };
        const tools = createMediaTools({ settings: { ffmpeg: "", ffprobe: "", sandbox: ${JSON.stringify(sandbox)}, user_id: 70000, encoders: 0, urgent_encoders: 0 }, log });
        await Promise.all(["urgent", "background"].map((urgency) => tools.ffmpeg({ args: ${JSON.stringify(endless(word))}, reads: [], urgency })));`;
      const server = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      t.after(() => void server.kill("SIGKILL"));
      // The command line of the test's own process contains the word too.
      const children = () => processesWith(word).filter((pid) => pid !== server.pid);
      await until(() => children().filter((pid) => isFfmpeg(pid)).length >= 2, "both processes to start");
      server.kill("SIGKILL");
      await until(() => children().length === 0, "the processes to exit");
    });
  }
});

test("runs are queued, urgent ones first, and rejected if too many wait", needsFfmpeg, async (t) => {
  const reports: MediaRunReport[] = [];
  const tools = openTools(
    t,
    { urgent_encoders: 1, encoders: 1 },
    { mostWaiting: 1, onRun: (run) => void reports.push(run) },
  );
  await tools.ready();
  const ran: string[] = [];
  const run = (name: string, urgency: "urgent" | "soon") =>
    tools
      .ffmpeg({ args: ["-f", "lavfi", "-i", "testsrc2=duration=0.1", "-f", "null", "-"], reads: [], urgency })
      .then(() => ran.push(name));
  const all = [run("first", "urgent"), run("soon", "soon"), run("second", "urgent")];
  await assert.rejects(
    run("third", "urgent"),
    (err) => err instanceof UserError && err.kind === "encoderBusy" && err.entry.http === 503,
  );
  await Promise.all(all);
  assert.deepEqual(ran, ["first", "second", "soon"]);
  assert.deepEqual(
    reports.map(({ outcome }) => outcome),
    ["refused", "ok", "ok", "ok"],
  );
  assert.deepEqual(tools.load(), { running: 0, waiting: { urgent: 0, soon: 0, background: 0 } });
});

test("without the program every run reports what to install", async (t) => {
  const missing = (err: unknown) =>
    err instanceof UserError && err.kind === "mediaToolsMissing" && /apt-get install ffmpeg/.test(err.fix ?? "");
  const tools = openTools(t, { ffmpeg: "/nowhere/ffmpeg" });
  await assert.rejects(tools.ready(), missing);
  await assert.rejects(tools.ffprobe({ args: [], reads: [] }), missing);
  const broken = join(await folder(t), "ffmpeg");
  await writeFile(broken, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  await assert.rejects(openTools(t, { ffmpeg: broken, ffprobe: broken, sandbox: "prlimit" }).ready(), missing);
});
