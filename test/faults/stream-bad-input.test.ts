import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { needsFfmpeg } from "../support/media.ts";
import { objectsByPrefix, processesOf, until } from "./stream/server.ts";
import { testBadAddresses } from "./stream/bad-input/addresses.ts";
import { testBadFiles } from "./stream/bad-input/files.ts";
import { openBadInput } from "./stream/bad-input/fixture.ts";
import { testBadTokens } from "./stream/bad-input/tokens.ts";
import { testBadUploads } from "./stream/bad-input/uploads.ts";

describe("bad input to a server while a viewer watches one video", needsFfmpeg, () => {
  const given = openBadInput();

  testBadFiles(given);
  testBadUploads(given);
  testBadAddresses(given);
  testBadTokens(given);

  test("leaves nothing behind, reveals no private information, and does not affect the viewer", async (t) => {
    const { server, objects, good, answers, onlyGood, viewer, quiet, descriptors, onDisk } = given;
    const watched = await viewer.stop();
    t.diagnostic(JSON.stringify({ ...watched, descriptors: [quiet, descriptors()] }));
    assert.ok(watched.requests > 20);
    await onlyGood();
    await until(
      () => [".tmp", ".partial"].every((folder) => objectsByPrefix(objects, folder).length === 0),
      "temporary files and partial uploads are removed",
    );
    assert.ok(
      onDisk().every((name) => name.startsWith(good)),
      onDisk().join(),
    );
    await until(() => processesOf(server.dataDirectory).length === 0, "no encoder is running");
    await until(() => descriptors() <= quiet + 8, "no descriptors are leaked");
    for (const text of answers) assert.ok(!text.includes(server.dataDirectory) && !text.includes("/etc/"), text);
    assert.ok(!server.log().includes('"level":50'), server.log());
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    const leftovers = readdirSync(server.dataDirectory, { recursive: true, encoding: "utf8" }).filter((name) =>
      /(^|\/)(encode|mezzanine|captions|recording|picture|output)-\d/.test(name),
    );
    assert.deepEqual(leftovers, []);
  });
});
