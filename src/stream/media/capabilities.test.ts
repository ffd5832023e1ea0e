import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { needsFfmpeg, needsPrograms } from "../../../test/support/media.ts";
import { silentLog, UserError } from "../../kernel/index.ts";
import { discover } from "./capabilities.ts";
import { openTools, streamSettings } from "./media.testing.ts";
import { installedProgram, temporaryFolder } from "./runs.testing.ts";

/** Tools whose ffmpeg is a symlink that a test can remove. */
async function openWithLinkedFfmpeg(t: TestContext) {
  const programs = join(await temporaryFolder(t), "ffmpeg");
  await symlink(installedProgram("ffmpeg"), programs);
  return { programs, ...openTools(t, { sandbox: "prlimit", ffmpeg: programs }) };
}

test("reports ffmpeg's capabilities", needsFfmpeg, async (t) => {
  const { version, encoders, tonemaps, sandbox } = await openTools(t).ready();
  assert.match(version, /^\S*\d/);
  assert.deepEqual([encoders.has("libx264"), encoders.has("aac"), encoders.has("=")], [true, true, false]);
  const { stdout: filters } = spawnSync(installedProgram("ffmpeg"), ["-filters"], { encoding: "utf8" });
  assert.equal(await tonemaps(), filters.includes(" zscale "));
  assert.ok(["bwrap", "landlock", "prlimit", "none"].includes(sandbox));
});

test(
  "falls back to landlock without user namespaces, and reports it",
  { ...needsPrograms("bwrap", "perl"), skip: process.platform !== "linux" && "needs namespaces" },
  () => {
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
  },
);

test("applies only resource limits on a public address if stream.sandbox is prlimit", needsFfmpeg, async (t) => {
  const place = await temporaryFolder(t);
  await chmod(place, 0o755);
  for (const name of ["ffmpeg", "ffprobe", "prlimit", "setpriv", "nice"])
    await symlink(installedProgram(name), join(place, name));
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

test("every run reports which package to install if the program is missing", async (t) => {
  const missing = (err: unknown) =>
    err instanceof UserError && err.kind === "mediaToolsMissing" && /apt-get install ffmpeg/.test(err.fix ?? "");
  const tools = openTools(t, { ffmpeg: "/nowhere/ffmpeg" });
  await assert.rejects(tools.ready(), missing);
  await assert.rejects(tools.ffprobe({ args: [], reads: [] }), missing);
  const broken = join(await temporaryFolder(t), "ffmpeg");
  await writeFile(broken, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  await assert.rejects(openTools(t, { ffmpeg: broken, ffprobe: broken, sandbox: "prlimit" }).ready(), missing);
});

describe("a tool confined by prlimit", needsPrograms("prlimit"), () => {
  // The rest of this test is in test/faults/stream-ffmpeg.test.ts.
  test("fails with a clear error while its file is missing, and runs again once the file is available", async (t) => {
    const { ffmpeg, programs } = await openWithLinkedFfmpeg(t);
    const run = {
      args: ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=30:duration=0.1", "-f", "null", "-"],
      reads: [],
    };
    await ffmpeg(run);
    await rm(programs);
    const missing = (err: unknown) => err instanceof UserError && err.kind === "mediaToolsMissing";
    for (let i = 0; i < 2; i++) await assert.rejects(ffmpeg(run), missing);
    await symlink(installedProgram("ffmpeg"), programs);
    // The program is searched for again after at most a few seconds.
    for (let late = performance.now() + 60_000, found = false; !found;)
      found = await ffmpeg(run).then(
        () => true,
        (err: unknown) => (
          assert.ok(missing(err) && performance.now() < late),
          new Promise((resolve) => setTimeout(resolve, 200, false))
        ),
      );
  });
});
