import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { it } from "node:test";
import { renderBanner, type BannerContent } from "./banner.ts";

const content: BannerContent = {
  version: "1.2.3",
  url: "http://127.0.0.1:8787",
  smtp: { host: "127.0.0.1", port: 2525 },
  dataDirectory: "/p/.reelpost",
  mailDirectory: "/p/.reelpost/mail/1",
  workers: [
    {
      name: "inbox",
      config: "wrangler.jsonc",
      bindings: [
        { type: "plain_text", name: "GREETING", text: "hello" },
        { type: "secret_text", name: "KEY", text: "s3cret" },
        { type: "kv_namespace", name: "KV", namespace_id: "counters" },
        {
          type: "send_email",
          name: "OUT",
          destination_address: "boss@example.com",
          allowed_sender_addresses: ["me@example.com"],
        },
        { type: "send_email", name: "ANY" },
      ],
    },
  ],
  hotkeys: [
    { key: "b", label: "open browser" },
    { key: "q", label: "quit" },
  ],
};

it("lists every URL, binding and key, and no secret", () => {
  const banner = renderBanner(content, false);
  for (const part of [
    "http://127.0.0.1:8787/",
    "127.0.0.1:2525",
    "/p/.reelpost",
    "/p/.reelpost/mail/1",
    'env.GREETING  variable      "hello"',
    "env.KEY       secret        (hidden)",
    "env.KV        KV namespace  counters",
    "to boss@example.com; from me@example.com",
    "to anyone",
    "│ [b] open browser  [q] quit │",
  ])
    assert.ok(banner.includes(part), part);
  assert.ok(!banner.includes("s3cret"));
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(banner, /\u001b/);
});

it("prints curl commands that work when pasted into a shell", () => {
  const lines = renderBanner(content, false)
    .split("\n")
    .filter((line) => line.trim().startsWith("curl"));
  assert.equal(lines.length, 2);
  for (const line of lines) {
    const args = execFileSync("bash", ["-c", `curl() { printf '%s\\0' "$@"; }; ${line.trim()}`], {
      encoding: "utf8",
    }).split("\0");
    assert.ok(args[0]!.startsWith("http://127.0.0.1:8787/"));
    assert.match(args.at(-2)!, /^From: ada@example\.com\nTo: .*\nMessage-ID: <.*>\nSubject: .*\n\n/);
  }
});
