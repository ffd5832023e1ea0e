import assert from "node:assert/strict";
import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { chmod, copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { clip } from "../../../test/support/media.ts";
import { isFfmpeg, openTools, processesWith } from "./media.testing.ts";
import {
  connectionCounter,
  endlessArgs,
  installedProgram,
  isRunError,
  SANDBOXES,
  temporaryFolder,
  uniqueWord,
  until,
} from "./runs.testing.ts";

for (const { sandbox, needs } of SANDBOXES) {
  describe(`a program confined by ${sandbox}, without relying on ffmpeg options`, needs, () => {
    const opened = (t: TestContext) => openTools(t, { sandbox });

    test("has no network access", async (t) => {
      const { port, connections } = await connectionCounter(t);
      // protocol_whitelist does not apply to outputs: only the sandbox blocks them.
      const args = ["-f", "lavfi", "-i", "testsrc2=duration=1", "-f", "mpegts", `tcp://127.0.0.1:${port}`];
      await assert.rejects(opened(t).ffmpeg({ args, reads: [] }), isRunError("failed"));
      await assert.rejects(
        opened(t).ffmpeg({ args: [...args.slice(0, -1), `udp://127.0.0.1:${port}`], reads: [] }),
        isRunError("failed"),
      );
      assert.equal(connections(), 0);
    });

    test(
      "runs as a non-root user without capabilities or supplementary groups",
      { skip: process.getuid?.() !== 0 && "needs root" },
      async (t) => {
        const at = await temporaryFolder(t);
        const word = uniqueWord();
        const stop = new AbortController();
        const run = opened(t).ffmpeg({
          args: endlessArgs(word, ["-f", "matroska", join(at, "out.mkv")]),
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
      const at = await temporaryFolder(t);
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
        const at = await temporaryFolder(t);
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
          isRunError("failed", /No such file|Permission denied/),
        );
        await assert.rejects(
          opened(t).ffmpeg({
            args: ["-y", "-f", "lavfi", "-i", "testsrc2=duration=1", "-f", "matroska", given],
            reads: [given],
          }),
          isRunError("failed", /Read-only|Permission denied/),
        );
        await assert.rejects(
          opened(t).ffmpeg({ args: ["-y", "-f", "lavfi", "-i", "testsrc2=duration=1", join(at, "x.mp4")], reads: [] }),
          isRunError("failed"),
        );
        assert.ok(!existsSync(join(at, "x.mp4")));
        assert.deepEqual(readFileSync(given), before);
      },
    );

    test("fails a run that leaves a symlink in its folder, even if the program exits with 0", async (t) => {
      const [at, place] = [await temporaryFolder(t), await temporaryFolder(t)];
      const program = join(place, "ffmpeg");
      await chmod(place, 0o755);
      await writeFile(
        program,
        `#!/bin/sh\nfor last; do :; done\ncase "$last" in */link) exec ln -s /etc/passwd "$last";; esac\nexec ${installedProgram("ffmpeg")} "$@"\n`,
        { mode: 0o755 },
      );
      const run = openTools(t, { sandbox, ffmpeg: program }).ffmpeg({
        args: [join(at, "link")],
        reads: [],
        writes: at,
      });
      await assert.rejects(run, isRunError("failed"));
      assert.ok(sandbox === "landlock" || lstatSync(join(at, "link")).isSymbolicLink());
    });

    test("cannot leave a process that outlives its run, even in a separate session", async (t) => {
      const place = await temporaryFolder(t);
      const program = join(place, "ffmpeg");
      const word = uniqueWord();
      await chmod(place, 0o755);
      const leave = `use POSIX; pipe R, W; if (fork) { close W; <R>; exit 0 } POSIX::setsid(); close STDOUT; close STDERR; print W "1\\n"; close W; sleep 300`;
      await writeFile(
        program,
        `#!/bin/sh\ncase "$*" in *leave*) exec perl -e '${leave}' ${word};; esac\nexec ${installedProgram("ffmpeg")} "$@"\n`,
        { mode: 0o755 },
      );
      t.after(() => processesWith(word).forEach((pid) => process.kill(pid, "SIGKILL")));
      await openTools(t, { sandbox, ffmpeg: program }).ffmpeg({ args: ["leave"], reads: [] });
      await until(() => processesWith(word).length === 0, "the process to exit");
    });
  });
}
