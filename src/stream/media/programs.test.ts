import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { findPrograms } from "./programs.ts";

async function folderWith(t: TestContext, files: Record<string, number>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-programs-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, mode] of Object.entries(files)) {
    await writeFile(join(folder, name), "#!/bin/sh\n");
    await chmod(join(folder, name), mode);
  }
  return folder;
}

const settings = { ffmpeg: "", ffprobe: "" };
const problem = (reason: string) => ({ kind: "mediaToolsMissing", message: `Cannot process video: ${reason}` });

test("finds programs in PATH, skipping folders, dangling links and files that are not executable", async (t) => {
  const first = await folderWith(t, { ffmpeg: 0o644 });
  await symlink("nowhere", join(first, "ffprobe"));
  const second = await folderWith(t, { ffmpeg: 0o755, ffprobe: 0o755 });
  const third = await folderWith(t, {});
  await mkdir(join(third, "ffmpeg"));
  const { ffmpeg, ffprobe } = findPrograms(settings, [third, first, second].join(":"));
  assert.deepEqual([ffmpeg, ffprobe], [join(second, "ffmpeg"), join(second, "ffprobe")]);
});

test("reports a program that is missing or not executable, with its path", async (t) => {
  const folder = await folderWith(t, { ffmpeg: 0o644, ffprobe: 0o755 });
  const file = join(folder, "ffmpeg");
  assert.throws(() => findPrograms(settings, folder), problem(`${file} is not executable for this user (chmod +x)`));
  assert.throws(
    () => findPrograms({ ...settings, ffmpeg: file }, "/nowhere"),
    problem(`${file} is not executable for this user (chmod +x)`),
  );
  assert.throws(() => findPrograms(settings, "/nowhere"), problem("ffmpeg is not in PATH"));
  assert.throws(
    () => findPrograms({ ...settings, ffmpeg: "/nowhere/ffmpeg" }, folder),
    problem("stream.ffmpeg is /nowhere/ffmpeg, which is not a program"),
  );
});
