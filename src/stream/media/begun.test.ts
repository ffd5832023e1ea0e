import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { hasStartedProgram } from "./begun.ts";

test(
  "a command counts as started while a program runs behind its sandbox wrappers",
  { skip: process.platform !== "linux" && "there is no /proc" },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "reelpost-begun-"));
    t.after(() => rmSync(folder, { recursive: true }));
    // A shell named bwrap that starts its program on request.
    const name = join(folder, "bwrap");
    copyFileSync(realpathSync("/bin/sh"), name);
    const command = spawn(name, ["-c", "echo ready; read line; sleep 60; :"], {
      stdio: ["pipe", "pipe", "inherit"],
      detached: true,
    });
    const { pid } = command;
    t.after(() => {
      if (command.exitCode === null && command.signalCode === null) process.kill(-pid!, "SIGKILL");
    });
    await once(command.stdout, "data");
    assert.equal(hasStartedProgram(pid!), false);
    command.stdin.write("go\n");
    while (!hasStartedProgram(pid!)) await setTimeout(5);
    process.kill(-pid!, "SIGKILL");
    await once(command, "exit");
    assert.equal(hasStartedProgram(pid!), false);
  },
);
