import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { ACCOUNT, catchAllTo, openRouting, ruleFor } from "./routing.testing.ts";

export function resolveConformance(engine: TestEngine): void {
  describe("the route of a recipient's mail", () => {
    const open = async (...args: Parameters<typeof openRouting>) => {
      const house = await openRouting(...args);
      const zone = await house.newZone();
      await house.routing.dns.enable(zone);
      await house.verified("me@example.net");
      house.scripts.add("inbox");
      const resolve = async (recipient: string) => {
        const { kind, why, ...more } = await house.routing.resolve(recipient);
        return [kind, why, ...("to" in more ? more.to : "script" in more ? [more.script] : [])].join(" ");
      };
      return { ...house, zone, resolve, rules: house.routing.rules };
    };
    const forward = { type: "forward", value: ["me@example.net"] };
    const worker = { type: "worker", value: ["inbox"] };

    test("follows the rule for the whole address, case-insensitively and with significant dots, and for no other variant", async (t) => {
      const { resolve, rules, zone, routing } = await open(t, engine);
      const { id } = await rules.create(zone, ruleFor("First.Last@example.com", forward, { name: "me" }));
      await rules.create(zone, ruleFor('"two words"@example.com', worker));
      assert.deepEqual(await routing.resolve("first.last@example.com"), {
        kind: "forward",
        to: ["me@example.net"],
        why: "literal",
        zone: zone.id,
        account: ACCOUNT,
        rule: { id, name: "me" },
      });
      assert.equal(await resolve("FIRST.LAST@EXAMPLE.COM"), "forward literal me@example.net");
      assert.equal(await resolve('"First.Last"@example.com'), "forward literal me@example.net");
      assert.equal(await resolve("firstlast@example.com"), "none no rule");
      assert.equal(await resolve('"Two Words"@example.com'), `worker literal ${ACCOUNT}/inbox`);
      assert.equal(await resolve("first.last@sub.example.com"), "none not our domain");
      assert.equal(await resolve("first.last@example.org"), "none not our domain");
      for (const wrong of [
        "",
        "me",
        "@example.com",
        "a@@example.com",
        "a@[192.0.2.1]",
        `${"x".repeat(300)}@example.com`,
        "a@example.com\r\n",
      ])
        assert.match(await resolve(wrong), /^none not (an address|our domain)$/, wrong);
    });

    test("matches without the tag only if enabled, and prefers a rule with the tag", async (t) => {
      const { resolve, rules, zone, routing } = await open(t, engine);
      await rules.create(zone, ruleFor("me@example.com", forward));
      assert.equal(await resolve("me+shop@example.com"), "none no rule");
      await routing.settings.update(zone, { supportSubaddress: true });
      assert.equal(await resolve("me+shop@example.com"), "forward subaddress me@example.net");
      assert.equal(await resolve("me+a+b@example.com"), "forward subaddress me@example.net");
      await rules.create(zone, ruleFor("me+shop@example.com"));
      assert.equal(await resolve("Me+Shop@example.com"), "drop literal");
      await rules.replaceCatchAll(zone, catchAllTo(worker));
      assert.equal(await resolve("+shop@example.com"), `worker catch-all ${ACCOUNT}/inbox`);
      assert.equal(await resolve("me+other@example.com"), "forward subaddress me@example.net");
    });

    test("follows the enabled rule with the highest priority, then the oldest one", async (t) => {
      const { resolve, rules, zone, clock } = await open(t, engine);
      const late = await rules.create(zone, ruleFor("a@example.com", { type: "drop" }, { priority: 2 }));
      clock.advance(1000);
      const early = await rules.create(zone, ruleFor("a@example.com", forward, { priority: 1 }));
      assert.equal(await resolve("a@example.com"), "forward literal me@example.net");
      await rules.replace(zone, early.id, ruleFor("a@example.com", forward, { priority: 1, enabled: false }));
      assert.equal(await resolve("a@example.com"), "drop literal");
      await rules.replace(zone, early.id, ruleFor("a@example.com", forward, { priority: 2 }));
      assert.equal(await resolve("a@example.com"), "drop literal", "with equal priority, the older rule applies");
      await rules.delete(zone, late.id);
      assert.equal(await resolve("a@example.com"), "forward literal me@example.net");
      await rules.replaceCatchAll(zone, catchAllTo({ type: "drop" }, { enabled: false }));
      assert.equal(await resolve("b@example.com"), "none no rule");
    });

    test("is a temporary failure if the worker is missing", async (t) => {
      const { resolve, rules, zone, routing, scripts, clock } = await open(t, engine);
      await rules.create(zone, ruleFor("a@example.com", worker));
      assert.equal(await resolve("a@example.com"), `worker literal ${ACCOUNT}/inbox`);
      scripts.remove("inbox");
      clock.advance(2001);
      const { kind, why, temporary } = await routing.resolve("a@example.com");
      assert.deepEqual([kind, why, temporary], ["worker", "worker missing", true]);
      scripts.add("inbox");
      clock.advance(2001);
      assert.equal(await resolve("a@example.com"), `worker literal ${ACCOUNT}/inbox`);
    });

    test("always accepts postmaster (RFC 5321 4.5.1)", async (t) => {
      const { resolve, rules, zone, routing } = await open(t, engine);
      assert.equal(await resolve("PostMaster@example.com"), "forward postmaster me@example.net");
      assert.equal(await resolve("postmaster"), "drop postmaster");
      assert.equal(await resolve("abuse@example.com"), "none no rule");
      await rules.replaceCatchAll(zone, catchAllTo(worker));
      assert.equal(await resolve("postmaster@example.com"), `worker catch-all ${ACCOUNT}/inbox`);
      await rules.create(zone, ruleFor("postmaster@example.com"));
      assert.equal(await resolve("postmaster@example.com"), "drop literal");
      assert.equal(await resolve("postmaster@example.org"), "none not our domain");
      const [address] = (await routing.addresses.list(ACCOUNT, {}, { page: 1, perPage: 1 })).items;
      await routing.addresses.delete(ACCOUNT, address!.id);
      const quiet = await open(t, engine, { postmaster: "ops@reelpost.example" });
      assert.equal(await quiet.resolve("postmaster@example.com"), "forward postmaster ops@reelpost.example");
      assert.equal(await quiet.resolve("postmaster"), "forward postmaster ops@reelpost.example");
      assert.equal(await quiet.resolve("Abuse@example.com"), "forward postmaster ops@reelpost.example");
      assert.equal(await quiet.resolve("webmaster@example.com"), "none no rule");
    });

    test("follows only rules for single addresses, never the catch-all rule, for names under the zone's own name", async (t) => {
      const { resolve, rules, zone, routing } = await open(t, engine);
      await rules.replaceCatchAll(zone, catchAllTo({ type: "drop" }));
      await rules.create(zone, ruleFor("a@in.example.com", forward));
      assert.equal(await resolve("a@in.example.com"), "none not our domain");
      await routing.dns.enable(zone, "in.example.com");
      assert.equal(await resolve("a@in.example.com"), "forward literal me@example.net");
      assert.equal(await resolve("b@in.example.com"), "none no rule");
      assert.equal(await resolve("postmaster@in.example.com"), "forward postmaster me@example.net");
      await routing.dns.disable(zone, "in.example.com");
      assert.equal(await resolve("a@in.example.com"), "none not our domain");
      assert.equal(await resolve("a@example.com"), "drop catch-all");
    });

    test("in a zone under another one follows its own rules, regardless of the order of creation", async (t) => {
      const { resolve, rules, zone, routing, newZone, zones } = await open(t, engine);
      await rules.replaceCatchAll(zone, catchAllTo({ type: "drop" }));
      await rules.create(zone, ruleFor("a@sub.example.com", { type: "drop" }));
      await routing.dns.enable(zone, "sub.example.com");
      assert.equal(await resolve("a@sub.example.com"), "drop literal");
      const inner = await newZone("sub.example.com");
      await routing.dns.enable(inner);
      await rules.create(inner, ruleFor("a@sub.example.com", forward));
      assert.equal(await resolve("a@sub.example.com"), "forward literal me@example.net");
      assert.equal(await resolve("a@example.com"), "drop catch-all");
      await zones.delete(inner.id);
      await new Promise(setImmediate);
      assert.equal(await resolve("a@sub.example.com"), "drop literal");
    });

    test("changes immediately with the rules, in every process, and ends with the zone", async (t) => {
      const { resolve, rules, zone, zones, routing, build, another, newZone } = await open(t, engine);
      const other = build(await another());
      t.after(async () => other.close());
      assert.equal((await other.resolve("a@example.com")).kind, "none");
      await rules.create(zone, ruleFor("a@example.com", forward));
      assert.equal(await resolve("a@example.com"), "forward literal me@example.net");
      // The event is delivered after the writer's own code has run.
      await new Promise(setImmediate);
      assert.equal((await other.resolve("a@example.com")).kind, "forward");
      await zones.delete(zone.id);
      await new Promise(setImmediate);
      assert.equal(await resolve("a@example.com"), "none not our domain");
      const again = await newZone();
      await routing.dns.enable(again);
      assert.equal(await resolve("a@example.com"), "none no rule");
    });

    test("compares international domains by their A-labels", async (t) => {
      const { resolve, rules, newZone, routing } = await open(t, engine);
      const zone = await newZone("bücher.example");
      await routing.dns.enable(zone);
      await rules.create(zone, ruleFor("info@bücher.example", forward));
      await rules.create(zone, ruleFor("grüße@xn--bcher-kva.example"));
      assert.equal(await resolve("info@xn--bcher-kva.example"), "forward literal me@example.net");
      assert.equal(await resolve("Info@BÜCHER.example"), "forward literal me@example.net");
      assert.equal(await resolve("GRÜßE@bücher.example"), "drop literal");
      assert.equal(await resolve("gru\u0308ße@bücher.example"), "drop literal", "in any normalization form");
    });

    test("enables, connects a worker and disables in one call", async (t) => {
      const { routing, resolve, newZone } = await open(t, engine);
      const zone = await newZone("second.example");
      await assert.rejects(routing.connect(zone, { enabled: true, worker: "absent" }), /Worker not found: absent/);
      assert.equal((await routing.settings.of(zone)).enabled, false);
      await routing.connect(zone, { enabled: true, worker: "inbox" });
      assert.equal(await resolve("anybody@second.example"), `worker catch-all ${ACCOUNT}/inbox`);
      await routing.connect(zone, { enabled: false });
      assert.equal(await resolve("anybody@second.example"), "none not our domain");
    });
  });
}
