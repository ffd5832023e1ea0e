import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createFileWatch, type FileWatch } from "./watch.ts";

describe("the file watcher", () => {
  let folder: string;
  let watch: FileWatch;
  let reports: string[][];
  let wake: () => void;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "reelpost-watch-"));
    reports = [];
    wake = () => {};
    watch = createFileWatch({
      debounceMs: 20,
      onChange: (files) => {
        reports.push(files);
        wake();
      },
    });
  });
  afterEach(async () => {
    watch.close();
    await rm(folder, { recursive: true });
  });

  const nextReport = () => (reports.length > 0 ? Promise.resolve() : new Promise<void>((resolve) => (wake = resolve)));
  const file = (name: string) => join(folder, name);

  it("reports a changed file, but not other files in the folder", async () => {
    await writeFile(file("a.ts"), "1");
    await watch.set([file("a.ts")]);
    await writeFile(file("b.ts"), "1");
    await writeFile(file("a.ts"), "2");
    await nextReport();
    assert.deepEqual(reports, [[file("a.ts")]]);
  });

  it("reports each replacement of a file by an editor that renames", async () => {
    await writeFile(file("a.ts"), "1");
    await watch.set([file("a.ts")]);
    for (const text of ["2", "3"]) {
      reports.length = 0;
      await writeFile(file("a.ts.new"), text);
      await rename(file("a.ts.new"), file("a.ts"));
      await nextReport();
      assert.deepEqual(reports[0], [file("a.ts")]);
    }
  });

  it("reports a burst of changes once", async () => {
    await writeFile(file("a.ts"), "");
    await writeFile(file("b.ts"), "");
    // On a busy machine, the writes of a burst can be far apart.
    watch.close();
    watch = createFileWatch({ debounceMs: 1000, onChange: (files) => void (reports.push(files), wake()) });
    await watch.set([file("a.ts"), file("b.ts")]);
    await Promise.all(
      ["1", "2", "3"].flatMap((text) => [writeFile(file("a.ts"), text), writeFile(file("b.ts"), text)]),
    );
    await nextReport();
    assert.deepEqual(
      reports.map((files) => files.toSorted()),
      [[file("a.ts"), file("b.ts")]],
    );
  });

  it("reports changes even while more arrive", async () => {
    await writeFile(file("a.ts"), "");
    await watch.set([file("a.ts")]);
    const stop = new AbortController();
    const noise = (async () => {
      while (!stop.signal.aborted) await writeFile(file("a.ts"), "x");
    })();
    await nextReport();
    stop.abort();
    await noise;
    assert.ok(reports.length >= 1);
  });

  it("reports a file added to the set that changed before it was watched", async () => {
    const readSince = Date.now();
    await mkdir(file("lib"));
    await writeFile(file("lib/late.ts"), "changed after it was read");
    await writeFile(file("lib/early.ts"), "");
    await utimes(file("lib/early.ts"), new Date(readSince - 5000), new Date(readSince - 5000));
    await watch.set([file("lib/late.ts"), file("lib/early.ts")], { readSince: readSince - 1000 });
    await nextReport();
    assert.deepEqual(reports, [[file("lib/late.ts")]]);
  });

  it("reports a new file if any file is of interest", async () => {
    await writeFile(file("a.ts"), "import './missing.ts'");
    await watch.set([file("a.ts")], { anyNewFile: true });
    await writeFile(file(".a.ts.swp"), "");
    await writeFile(file("missing.ts"), "");
    await nextReport();
    assert.deepEqual(reports, [[file("missing.ts")]]);
  });

  it("continues if a folder cannot be watched", async () => {
    const failures: string[] = [];
    const lenient = createFileWatch({
      onChange: (files) => void reports.push(files),
      onError: ({ path }) => void failures.push(path),
    });
    await lenient.set([file("gone/a.ts")]);
    lenient.close();
    assert.deepEqual(failures, [file("gone")]);
  });
});
