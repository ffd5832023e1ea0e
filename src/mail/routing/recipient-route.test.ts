import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsSchema } from "../../kernel/settings.ts";
import { createRecipientRoute } from "./recipient-route.ts";
import type { Resolution } from "./types.ts";

const settings = settingsSchema.parse({
  email: { forward_domain: "Fwd.Example" },
  workers: { domain: "workers.example" },
});
const resolve = async (recipient: string): Promise<Resolution> =>
  recipient === "postmaster"
    ? { kind: "forward", to: ["ops@example.net"], why: "postmaster" }
    : recipient.endsWith("@ours.example")
      ? { kind: "none", why: "no rule", account: "acc", zone: "z" }
      : { kind: "none", why: "not our domain" };
const scripts = {
  bySubdomain: async (label: string, script: string) =>
    label === "team" && script === "inbox" ? { account: "acc", script } : undefined,
};

const isSendingDomain = async (domain: string) => domain === "shop.example";
const route = createRecipientRoute({
  settings,
  resolve,
  scripts: scripts as Parameters<typeof createRecipientRoute>[0]["scripts"],
  isSendingDomain,
});

test("routes the address of a worker to that worker and its account", async () => {
  assert.deepEqual(await route("Inbox+tag@team.workers.example"), {
    kind: "worker",
    script: "acc/inbox",
    account: "acc",
  });
  assert.deepEqual(await route("other@team.workers.example"), { kind: "none" });
  assert.deepEqual(await route("inbox@else.example"), { kind: "none" });
});

test("keeps the result of a routed domain", async () => {
  assert.deepEqual(await route("nobody@ours.example"), { kind: "none", why: "no rule", account: "acc", zone: "z" });
});

test("accepts postmaster and abuse at the domains that receive bounces", async () => {
  for (const recipient of [
    "postmaster@fwd.example",
    "PostMaster@FWD.example",
    "abuse@fwd.example",
    "Postmaster@rp-bounce.Shop.example",
  ])
    assert.partialDeepStrictEqual(await route(recipient), { kind: "forward", to: ["ops@example.net"] });
  for (const recipient of [
    "someone@fwd.example",
    "someone@rp-bounce.shop.example",
    "postmaster@rp-bounce.other.example",
  ])
    assert.deepEqual(await route(recipient), { kind: "none" }, recipient);
});
