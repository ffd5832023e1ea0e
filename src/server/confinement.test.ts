import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { streamErrors, type MediaCapabilities } from "../stream/index.ts";
import { confinementFindings, confinementText } from "./confinement.ts";

type Found = Partial<Pick<MediaCapabilities, "sandbox" | "user" | "offline">>;

const settings = { workers: { uid_range: "2000-2999" } } as Parameters<typeof confinementFindings>[0]["settings"];
const capabilities = (found: Found): MediaCapabilities => ({
  version: "7.1",
  encoders: new Set(),
  tonemaps: async () => false,
  sandbox: "bwrap",
  user: undefined,
  offline: true,
  h264: { selected: () => selection, tested: Promise.resolve(selection), deselect: () => false },
  ...found,
});
const selection = { encoder: "libx264", reason: "h264_nvenc: Cannot load libcuda.so.1" } as const;
const findings = (
  media: Found | (() => Promise<MediaCapabilities>) | undefined,
  users: "account" | "shared" | "server" = "account",
) =>
  confinementFindings({
    settings,
    users,
    media: typeof media === "function" || media === undefined ? media : async () => capabilities(media),
  });

describe("confinement", () => {
  test("reports the sandbox, user and network of ffmpeg", async () => {
    const report = async (found: Found) =>
      (await findings(found)).slice(0, 1).map((finding) => `${finding.status}: ${finding.found}`);
    assert.deepEqual(await report({ sandbox: "bwrap" }), ["ok: bubblewrap, the server's user, no network"]);
    assert.deepEqual(await report({ sandbox: "bwrap", user: { uid: 1234, gid: 99 } }), [
      "ok: bubblewrap, user 1234, no network",
    ]);
    assert.deepEqual(await report({ sandbox: "landlock", offline: false }), [
      "ok: landlock, the server's user, with network",
    ]);
  });

  test("warns if only resource limits apply, with the setting and the packages that improve it", async () => {
    for (const [sandbox, name] of [
      ["prlimit", "limits only"],
      ["none", "no sandbox"],
    ] as const) {
      const [finding] = await findings({ sandbox });
      assert.deepEqual(
        [finding!.status, finding!.found, finding!.expected],
        ["warning", `${name}, the server's user, no network`, "bubblewrap or landlock"],
      );
      assert.match(finding!.fix!, /bubblewrap.*perl.*stream\.sandbox/);
    }
  });

  test("reports an error with its fix if ffmpeg is unusable", async () => {
    const [finding] = await findings(() => Promise.reject(streamErrors.mediaToolsMissing({ reason: "no ffmpeg" })));
    assert.deepEqual([finding!.check, finding!.status], ["ffmpeg confinement", "error"]);
    assert.match(finding!.found!, /no ffmpeg/);
    assert.match(finding!.fix!, /stream\.ffmpeg/);
    const [other] = await findings(() => Promise.reject(new Error("broken pipe")));
    assert.deepEqual(other, { check: "ffmpeg confinement", status: "error", found: "broken pipe" });
  });

  test("reports nothing about video in a process that does not run ffmpeg", async () => {
    assert.deepEqual(
      (await findings(undefined)).map(({ check }) => check),
      ["worker process users"],
    );
  });

  test("warns if the workers of all accounts run as the same user", async () => {
    const report = async (users: "account" | "shared" | "server") => (await findings(undefined, users))[0]!;
    assert.deepEqual([(await report("account")).status, (await report("account")).found], ["ok", "one per account"]);
    const [shared, server] = [await report("shared"), await report("server")];
    assert.deepEqual([shared.status, shared.found], ["warning", "one unprivileged user for all accounts"]);
    assert.match(shared.fix!, /workers\.uid_range/);
    assert.deepEqual([server.status, server.found], ["warning", "the server's user for all accounts"]);
    assert.match(server.fix!, /deploy\/reelpost-account-users\.conf/);
  });

  test("prints a line per finding, with the status of findings that need attention", async () => {
    assert.equal(
      confinementText(await findings({ sandbox: "prlimit", user: { uid: 1234, gid: 1234 } }, "server")),
      "ffmpeg confinement: limits only, user 1234, no network (warning)\nH.264 encoder: libx264 (h264_nvenc: Cannot load libcuda.so.1)\nworker process users: the server's user for all accounts (warning)\n",
    );
    assert.equal(
      confinementText(await findings({ sandbox: "landlock" })),
      "ffmpeg confinement: landlock, the server's user, no network\nH.264 encoder: libx264 (h264_nvenc: Cannot load libcuda.so.1)\nworker process users: one per account\n",
    );
  });
});
