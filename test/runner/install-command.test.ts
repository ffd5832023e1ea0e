import assert from "node:assert/strict";
import { test } from "node:test";
import { ffmpegInstallCommand } from "../../scripts/start/install-command.ts";

const commandOn = (platform: NodeJS.Platform, programs: string[], isRoot = false) =>
  ffmpegInstallCommand({ platform, isRoot, has: (program) => programs.includes(program) });

test("prints the install command of the machine's package manager", () => {
  assert.equal(commandOn("linux", ["apt-get", "sudo", "brew"]), "sudo apt-get install -y ffmpeg bubblewrap");
  assert.equal(commandOn("linux", ["apk"], true), "apk add ffmpeg bubblewrap");
  assert.equal(commandOn("darwin", ["brew"]), "brew install ffmpeg");
  assert.equal(commandOn("win32", ["winget", "choco"]), "winget install Gyan.FFmpeg");
});

test("prefers a package manager that does not require root if sudo is missing", () => {
  assert.equal(commandOn("linux", ["apt-get", "conda"]), "conda install -c conda-forge ffmpeg");
  assert.equal(commandOn("linux", ["apt-get"]), "sudo apt-get install -y ffmpeg bubblewrap");
});

test("prints no command if no known package manager is installed", () => {
  assert.equal(commandOn("linux", []), undefined);
  assert.equal(commandOn("win32", ["apt-get"]), undefined);
});
