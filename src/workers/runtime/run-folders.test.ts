import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { UserError } from "../../kernel/index.ts";
import { createRunFolders } from "./run-folders.ts";

/** Returns the pid of a process that has ended. */
const deadPid = () => spawnSync(process.execPath, ["--version"]).pid;

describe("run folders", () => {
  it("are deleted if their server is dead, and no other files are deleted", (t) => {
    const root = mkdtempSync(join(tmpdir(), "reelpost-folders-"));
    t.after(() => rmSync(root, { recursive: true }));
    const [dead, alive, other] = [`reelpost-run-${deadPid()}-a`, `reelpost-run-${process.pid}-b`, "something"].map(
      (name) => join(root, name),
    );
    for (const folder of [dead!, alive!, other!]) mkdirSync(folder);
    createRunFolders(root).close();
    assert.deepEqual(
      [dead!, alive!, other!].map((folder) => existsSync(folder)),
      [false, true, true],
    );
  });

  it("that cannot be written throw machineFailed, and leave no files behind", (t) => {
    const root = mkdtempSync(join(tmpdir(), "reelpost-folders-"));
    t.after(() => rmSync(root, { recursive: true }));
    const folders = createRunFolders(root);
    assert.throws(
      () =>
        folders.create({
          config: "",
          files: new Map([
            ["a", "1"],
            ["none/b", "2"],
          ]),
        }),
      (err: UserError) => err.kind === "machineFailed" && /ENOENT/.test(err.message),
    );
    assert.deepEqual(readdirSync(join(root, readdirSync(root)[0]!)), []);
    folders.close();
  });

  it(
    "are kept if they belong to another user",
    { skip: process.getuid?.() !== 0 && "needs root, to become somebody else" },
    (t) => {
      const root = mkdtempSync(join(tmpdir(), "reelpost-folders-"));
      t.after(() => {
        process.seteuid!(0);
        rmSync(root, { recursive: true });
      });
      const theirs = join(root, `reelpost-run-${deadPid()}-a`);
      mkdirSync(join(theirs, "0"), { recursive: true });
      chmodSync(root, 0o1777);
      process.seteuid!(65534);
      createRunFolders(root).close();
      assert.ok(existsSync(theirs));
    },
  );

  it("of other users are not removed", { skip: process.getuid?.() !== 0 && "needs root to chown a folder" }, (t) => {
    const root = mkdtempSync(join(tmpdir(), "reelpost-folders-"));
    t.after(() => rmSync(root, { recursive: true }));
    const theirs = join(root, `reelpost-run-${deadPid()}-a`);
    mkdirSync(theirs);
    chownSync(theirs, 65534, 65534);
    createRunFolders(root).close();
    assert.ok(existsSync(theirs));
  });

  it(
    "let a process create sockets, but not replace those of the server",
    { skip: process.getuid?.() !== 0 && "needs root, to become somebody else" },
    async (t) => {
      const root = mkdtempSync(join(tmpdir(), "reelpost-folders-"));
      const folders = createRunFolders(root);
      const folder = folders.create({ config: "", files: new Map() }, { uid: 65534, gid: 65534 });
      const server = createServer();
      t.after(() => {
        server.close();
        folder.remove();
        folders.close();
        rmSync(root, { recursive: true });
      });
      const asProcess = (command: string) =>
        spawnSync(
          "setpriv",
          [
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "--no-new-privs",
            "--inh-caps=-all",
            "sh",
            "-c",
            command,
          ],
          { cwd: folder.path },
        ).status;
      const listenAs = (name: string) =>
        asProcess(`perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "${name}", Listen => 1) or exit 1'`);
      await new Promise<void>((resolve) => void server.listen(folder.socket("bindings.sock"), resolve));
      assert.notEqual(asProcess("mv bindings.sock old.sock || rm bindings.sock"), 0);
      assert.ok(lstatSync(join(folder.path, "bindings.sock")).isSocket());

      assert.equal(listenAs("http.sock"), 0);
      folder.takeSocket("http.sock");
      assert.notEqual(asProcess("ln -sf /run/other.sock http.sock"), 0);
      assert.ok(lstatSync(join(folder.path, "http.sock")).isSocket());

      assert.equal(asProcess("ln -s /run/other.sock mail.sock"), 0);
      assert.throws(() => folder.takeSocket("mail.sock"), /mail\.sock is not a socket/);
    },
  );
});
