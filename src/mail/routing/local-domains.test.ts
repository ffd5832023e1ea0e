import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsSchema } from "../../kernel/settings.ts";
import { LookupError } from "../../zones/index.ts";
import { createLocalDomains } from "./local-domains.ts";

test("treats a routed domain as local unless its MX records name other hosts", async () => {
  const mx: Record<string, string[] | "ENOTFOUND" | "ENODATA" | "ESERVFAIL"> = {
    "ours.example": ["MX1.us.example"],
    "rp-bounce.ours.example": ["mx2.us.example"],
    "victim.org": ["mx.victim.org"],
    "implicit.org": "ENODATA",
    "fails.org": "ESERVFAIL",
    "undelegated.org": "ENOTFOUND",
    "rp-bounce.sends.org": ["mx1.us.example"],
    "rp-bounce.ours.org": ["mx.victim.org"],
    "stranger.org": ["mx1.us.example"],
  };
  const isLocal = createLocalDomains({
    settings: settingsSchema.parse({
      email: { mx: ["mx1.us.example", "mx2.us.example"], forward_domain: "fwd.us.example" },
      workers: { domain: "workers.us.example" },
    }),
    resolve: async (recipient) =>
      /@(stranger|rp-bounce\.sends|rp-bounce\.strange)\.org$|@rp-bounce\.ours/.test(recipient)
        ? { kind: "none", why: "not our domain" }
        : { kind: "drop", why: "catch-all" },
    isSendingDomain: async (domain) => ["sends.org", "ours.org", "ours.example"].includes(domain),
    lookups: {
      async resolveMx(domain) {
        const found = mx[domain];
        if (Array.isArray(found)) return found.map((exchange) => ({ exchange, priority: 1 }));
        throw new LookupError(found ?? "ENOTFOUND", domain);
      },
    },
  });
  const ours = async (...domains: string[]) => Promise.all(domains.map(isLocal));
  assert.deepEqual(
    await ours(
      "Ours.example",
      "rp-bounce.ours.example",
      "undelegated.org",
      "fwd.us.example",
      "main.workers.us.example",
      "rp-bounce.sends.org",
    ),
    [true, true, true, true, true, true],
  );
  assert.deepEqual(
    await ours(
      "victim.org",
      "implicit.org",
      "fails.org",
      "stranger.org",
      "rp-bounce.strange.org",
      "rp-bounce.ours.org",
    ),
    [false, false, false, false, false, false],
  );
});
