import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsSchema } from "../kernel/settings.ts";
import type { Resolution } from "../mail/index.ts";
import { routeOf } from "./email-routing.ts";

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

const sends = async (domain: string) => domain === "shop.example";
const route = (recipient: string) =>
  routeOf(recipient, { resolve }, { scripts } as unknown as Parameters<typeof routeOf>[2], settings, { sends });

test("a worker has an address of its own, and it is its account's mail", async () => {
  assert.deepEqual(await route("Inbox+tag@team.workers.example"), {
    kind: "worker",
    script: "acc/inbox",
    account: "acc",
  });
  assert.deepEqual(await route("other@team.workers.example"), { kind: "none" });
  assert.deepEqual(await route("inbox@else.example"), { kind: "none" });
});

test("a routed domain answers for itself", async () => {
  assert.deepEqual(await route("nobody@ours.example"), { kind: "none", why: "no rule", account: "acc", zone: "z" });
});

test("the domains that bounces come back to have a postmaster", async () => {
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
