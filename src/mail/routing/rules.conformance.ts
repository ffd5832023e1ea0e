import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { ACCOUNT, catchAllTo, openRouting, OTHER_ACCOUNT, refusal, ruleFor } from "./routing.testing.ts";
import type { RuleRequest } from "./types.ts";

const page = { page: 1, perPage: 50 };

export function rulesConformance(engine: TestEngine): void {
  describe("rules", () => {
    test("follow their worker when it is renamed", async (t) => {
      const { routing, scripts, newZone, db, clock } = await openRouting(t, engine);
      const { rules, resolve, references, dns } = routing;
      const zone = await newZone();
      const elsewhere = await newZone("example.net");
      const theirs = await newZone("example.org", OTHER_ACCOUNT);
      for (const each of [zone, elsewhere, theirs]) await dns.enable(each);
      scripts.add("inbox");
      scripts.add("other");
      scripts.add("inbox", OTHER_ACCOUNT);
      const toWorker = (name: string) => ({ type: "worker", value: [name] });
      await rules.create(zone, ruleFor("a@example.com", toWorker("inbox")));
      await rules.create(zone, ruleFor("b@example.com", toWorker("other")));
      await rules.replaceCatchAll(elsewhere, catchAllTo(toWorker("inbox"), { enabled: true }));
      await rules.create(theirs, ruleFor("a@example.org", toWorker("inbox")));
      const workers = async () =>
        Promise.all(
          ["a@example.com", "b@example.com", "any@example.net", "a@example.org"].map(async (address) => {
            const route = await resolve(address);
            return route.kind === "worker" && `${route.why} ${route.script.slice(33)}`;
          }),
        );
      assert.deepEqual(await workers(), ["literal inbox", "literal other", "catch-all inbox", "literal inbox"]);
      scripts.remove("inbox");
      scripts.add("renamed");
      const announce = await db.transaction((tx) =>
        references.rename(tx, { account: ACCOUNT, from: "inbox", to: "renamed" }),
      );
      // Even before the change is announced, no mail is deferred because of the former name.
      clock.advance(2001);
      assert.deepEqual(await workers(), ["literal renamed", "literal other", "catch-all renamed", "literal inbox"]);
      await announce();
      clock.advance(2001);
      assert.deepEqual(await workers(), ["literal renamed", "literal other", "catch-all renamed", "literal inbox"]);
    });

    test("are reordered in one transaction", async (t) => {
      const {
        routing: { rules },
        newZone,
        clock,
      } = await openRouting(t, engine);
      const zone = await newZone();
      const [a, b, c, d] = await Promise.all(
        ["a", "b", "c", "d"].map((name) =>
          rules.create(zone, ruleFor(`${name}@example.com`, { type: "drop" }, { name, priority: 7 })),
        ),
      );
      const names = async () => (await rules.list(zone, {}, page)).items.map(({ name }) => name);
      clock.advance(1000);
      const ordered = await rules.reorder(zone, [d!.id, b!.id]);
      assert.deepEqual(ordered.map(({ name, priority }) => [name, priority]).slice(0, 2), [
        ["d", 0],
        ["b", 1],
      ]);
      assert.deepEqual((await names()).slice(0, 2), ["d", "b"]);
      await rules.reorder(zone, [a!.id, b!.id, c!.id, d!.id]);
      assert.deepEqual(await names(), ["a", "b", "c", "d", ""]);
      assert.equal((await refusal(rules.reorder(zone, [a!.id, a!.id])))[0], "invalidInput");
      assert.equal((await refusal(rules.reorder(zone, ["f".repeat(32)])))[0], "noRule");
      assert.equal((await refusal(rules.reorder(zone, [(await rules.catchAll(zone)).id])))[0], "invalidOperation");
      assert.deepEqual(await names(), ["a", "b", "c", "d", ""]);
    });

    test("are created, replaced as a whole, listed in order, and deleted", async (t) => {
      const {
        routing: { rules },
        newZone,
        verified,
        scripts,
        clock,
      } = await openRouting(t, engine);
      const zone = await newZone();
      await verified("me@example.net");
      const owner = scripts.add("inbox");
      const first = await rules.create(
        zone,
        ruleFor("Sales@Example.com", { type: "forward", value: ["me@example.net"] }, { name: "Sales", priority: 5 }),
      );
      assert.deepEqual(first, {
        id: first.id,
        zone: zone.id,
        account: ACCOUNT,
        name: "Sales",
        enabled: true,
        awaiting: false,
        priority: 5,
        matcher: { type: "literal", field: "to", value: "Sales@Example.com" },
        action: { type: "forward", value: ["me@example.net"] },
        source: "api",
        owner: null,
        createdAt: clock.now(),
        modifiedAt: clock.now(),
      });
      assert.deepEqual(await rules.get(zone, first.id), first);
      clock.advance(1000);
      const second = await rules.create(
        zone,
        ruleFor("in@example.com", { type: "worker", value: ["inbox"] }, { source: "wrangler", owner, priority: 1 }),
      );
      clock.advance(1000);
      const third = await rules.create(
        zone,
        ruleFor("spam@example.com", { type: "drop" }, { enabled: false, priority: 5 }),
      );
      const ids = async (query = {}) =>
        (await rules.list(zone, query, page)).items.map(({ id, matcher }) =>
          matcher.type === "all" ? "catch-all" : [first.id, second.id, third.id].indexOf(id) + 1,
        );
      assert.deepEqual(await ids(), [2, 1, 3, "catch-all"]);
      assert.deepEqual(await ids({ order: "created" }), [1, 2, 3, "catch-all"]);
      assert.deepEqual(await ids({ order: "created", direction: "desc" }), [3, 2, 1, "catch-all"]);
      assert.deepEqual(await ids({ enabled: true }), [2, 1]);
      assert.deepEqual(await ids({ enabled: false }), [3, "catch-all"]);
      const pages = await Promise.all([1, 2, 3].map((number) => rules.list(zone, {}, { page: number, perPage: 2 })));
      assert.deepEqual(
        pages.map(({ items, total }) => [items.length, total]),
        [
          [2, 4],
          [2, 4],
          [0, 4],
        ],
      );

      const replaced = await rules.replace(zone, first.id, ruleFor("sales@example.com"));
      assert.deepEqual(
        [replaced.name, replaced.priority, replaced.action, replaced.createdAt, replaced.modifiedAt],
        ["", 0, { type: "drop" }, first.createdAt, clock.now()],
      );
      assert.deepEqual(
        (await rules.ofAccount(ACCOUNT, { enabled: true }, page)).items.map(({ id }) => id),
        [first.id, second.id],
      );
      assert.deepEqual(await rules.ofAccount(ACCOUNT, { hidden: [zone.id] }, page), { items: [], total: 0 });
      assert.deepEqual(await rules.delete(zone, first.id), replaced);
      assert.equal((await refusal(rules.get(zone, first.id)))[0], "noRule");
      assert.equal((await refusal(rules.delete(zone, first.id)))[0], "noRule");
      assert.equal((await refusal(rules.replace(zone, first.id, ruleFor("a@example.com"))))[0], "noRule");
      const elsewhere = await newZone("other.example");
      assert.equal((await refusal(rules.get(elsewhere, second.id)))[0], "noRule");
    });

    test("always include the catch-all rule, which is accessible only as such", async (t) => {
      const {
        routing: { rules },
        newZone,
        verified,
        scripts,
      } = await openRouting(t, engine);
      const zone = await newZone();
      const initial = await rules.catchAll(zone);
      assert.deepEqual(
        [initial.enabled, initial.action, initial.matcher, initial.name, initial.source],
        [false, { type: "drop" }, { type: "all" }, "", "api"],
      );
      for (const touch of [
        rules.get(zone, initial.id),
        rules.delete(zone, initial.id),
        rules.replace(zone, initial.id, catchAllTo({ type: "drop" })),
        rules.create(zone, catchAllTo({ type: "drop" })),
      ]) {
        assert.deepEqual(await refusal(touch), ["invalidOperation", "Invalid rule operation"]);
      }
      await verified("me@example.net");
      const changed = await rules.replaceCatchAll(
        zone,
        catchAllTo({ type: "forward", value: ["me@example.net"] }, { name: "rest" }),
      );
      assert.deepEqual([changed.id, changed.enabled, changed.name], [initial.id, true, "rest"]);
      assert.deepEqual(await rules.catchAll(zone), changed);
      assert.deepEqual((await rules.list(zone, {}, page)).items, [changed]);
      scripts.add("inbox");
      assert.deepEqual(
        (await rules.replaceCatchAll(zone, catchAllTo({ type: "worker", value: ["inbox"] }, { enabled: false })))
          .enabled,
        false,
      );
      assert.equal((await refusal(rules.replaceCatchAll(zone, ruleFor("a@example.com"))))[0], "invalidInput");
    });

    test("are rejected with an explanation if invalid", async (t) => {
      const {
        routing: { rules },
        newZone,
        verified,
      } = await openRouting(t, engine);
      const zone = await newZone();
      await verified("me@example.net");
      const drop = { type: "drop" };
      const wrong: [RuleRequest, RegExp][] = [
        [{ matchers: [], actions: [drop] }, /exactly one matcher; this one has 0/],
        [
          { matchers: [{ type: "literal", value: "a@example.com" }, { type: "all" }], actions: [drop] },
          /exactly one matcher; this one has 2/,
        ],
        [{ matchers: [{ type: "regex", value: ".*" }], actions: [drop] }, /literal or all/],
        [
          { matchers: [{ type: "literal", field: "from", value: "a@example.com" }], actions: [drop] },
          /field of a matcher must be to/,
        ],
        [ruleFor("nobody"), /address such as user@example.com/],
        [ruleFor("postmaster"), /address such as user@example.com/],
        [ruleFor("a@example.org"), /not an address of the zone example.com/],
        [ruleFor("*@example.com"), /use the catch-all rule/],
        [ruleFor(`${"x".repeat(90)}@example.com`), /at most 90 characters/],
        [{ ...ruleFor("a@example.com"), actions: [] }, /exactly one action; this one has 0/],
        [
          ruleFor("a@example.com", { type: "forward", value: [] }),
          /^Invalid Input\. Forward actions must contain exactly one destination address\.$/,
        ],
        [
          ruleFor("a@example.com", { type: "forward", value: ["me@example.net", "b@example.net"] }),
          /exactly one destination address/,
        ],
        [ruleFor("a@example.com", { type: "worker" }), /exactly one Worker name/],
        [ruleFor("a@example.com", { type: "drop", value: ["x"] }), /take no value/],
        [ruleFor("a@example.com", { type: "reject" }), /forward, worker or drop/],
        [ruleFor("a@example.com", drop, { name: "n".repeat(257) }), /more than 256/],
        [ruleFor("a@example.com", drop, { name: "a\0b" }), /control character/],
        [ruleFor("a@example.com", drop, { priority: -1 }), /whole number/],
        [ruleFor("a@example.com", drop, { priority: 1.5 }), /whole number/],
        [ruleFor("a@example.com", drop, { source: "wrangler" }), /owner_worker_tag is required/],
      ];
      for (const [request, text] of wrong) {
        const [kind, message] = await refusal(rules.create(zone, request));
        assert.deepEqual(
          [kind, text.test(message ?? "")],
          ["invalidInput", true],
          `${JSON.stringify(request)}: ${message}`,
        );
      }
      assert.equal(
        (await refusal(rules.create(zone, ruleFor("a@example.com", { type: "worker", value: ["absent"] }))))[0],
        "unknownWorker",
      );
      assert.equal(
        (
          await refusal(
            rules.create(
              zone,
              ruleFor("a@example.com", { type: "drop" }, { source: "wrangler", owner: "0".repeat(32) }),
            ),
          )
        )[0],
        "unknownWorker",
      );
      assert.deepEqual(
        await refusal(
          rules.create(zone, ruleFor("a@example.com", { type: "forward", value: ["stranger@example.net"] })),
        ),
        ["notVerified", "Destination address is not verified"],
      );
      assert.equal((await rules.list(zone, {}, page)).total, 1);
    });

    test("wait for the verification of their destination, and are disabled when it is deleted", async (t) => {
      const {
        routing: { rules, addresses },
        newZone,
        mails,
        clock,
      } = await openRouting(t, engine);
      const zone = await newZone();
      const address = await addresses.create(ACCOUNT, "Me@Example.net");
      const forward = { type: "forward", value: ["me@example.NET"] };
      const waiting = await rules.create(zone, ruleFor("a@example.com", forward));
      clock.advance(1000);
      const off = await rules.create(zone, ruleFor("b@example.com", forward, { enabled: false }));
      const rest = await rules.replaceCatchAll(zone, catchAllTo(forward));
      const enabled = async () => (await rules.list(zone, {}, page)).items.map((rule) => rule.enabled);
      assert.deepEqual([waiting.enabled, waiting.awaiting, off.awaiting, rest.awaiting], [false, true, false, true]);
      await addresses.verify(mails[0]!.token);
      assert.deepEqual(await enabled(), [true, false, true]);
      await addresses.setVerified(ACCOUNT, address.id, false);
      assert.deepEqual(await enabled(), [false, false, false]);
      await addresses.setVerified(ACCOUNT, address.id, true);
      assert.deepEqual(await enabled(), [true, false, true]);
      await addresses.delete(ACCOUNT, address.id);
      assert.deepEqual(await enabled(), [false, false, false]);
      const again = await addresses.create(ACCOUNT, "me@example.net");
      await addresses.setVerified(ACCOUNT, again.id, true);
      assert.deepEqual(
        await enabled(),
        [false, false, false],
        "rules that were disabled with the old address remain disabled",
      );
    });

    test("with globs, regular expressions and several destinations work if the server allows them", async (t) => {
      const {
        routing: { dns, rules, resolve },
        newZone,
        verified,
      } = await openRouting(t, engine, { extended: true });
      const zone = await newZone();
      await dns.enable(zone);
      const pattern = (
        type: string,
        value: string,
        action: RuleRequest["actions"][number],
        priority = 0,
      ): RuleRequest => ({ matchers: [{ type, field: "to", value }], actions: [action], priority });
      await verified("me@example.net");
      await verified("you@example.net");
      const both = { type: "forward", value: ["me@example.net", "you@example.net"] };
      await rules.create(zone, pattern("glob", "sales-*@example.com", both, 2));
      await rules.create(zone, pattern("regex", "sales-(eu|us)@example\\.com", { type: "drop" }, 1));
      await rules.create(zone, ruleFor("sales-eu@example.com", { type: "forward", value: ["me@example.net"] }));
      const where = async (rcpt: string) => {
        const { kind, why, ...found } = await resolve(rcpt);
        return [kind, why, "to" in found ? found.to : undefined];
      };
      assert.deepEqual(
        await where("sales-eu@example.com"),
        ["forward", "literal", ["me@example.net"]],
        "a literal rule takes precedence",
      );
      assert.deepEqual(
        await where("Sales-US@example.com"),
        ["drop", "pattern", undefined],
        "the lower priority number takes precedence",
      );
      assert.deepEqual(await where("sales-asia@example.com"), [
        "forward",
        "pattern",
        ["me@example.net", "you@example.net"],
      ]);
      assert.deepEqual(await where("support@example.com"), ["none", "no rule", undefined]);
      assert.equal((await rules.list(zone, {}, page)).total, 4);
      assert.equal((await refusal(rules.create(zone, pattern("glob", "*@example.com", both))))[0], "invalidInput");
      assert.equal(
        (
          await refusal(
            rules.create(
              zone,
              ruleFor("x@example.com", { type: "forward", value: ["me@example.net", "Me@Example.NET"] }),
            ),
          )
        )[0],
        "invalidInput",
      );
      assert.equal(
        (
          await refusal(
            rules.create(
              zone,
              ruleFor("x@example.com", {
                type: "forward",
                value: Array.from({ length: 11 }, (_, n) => `u${n}@example.net`),
              }),
            ),
          )
        )[0],
        "invalidInput",
      );
      for (let n = 2; n < 20; n++) await rules.create(zone, pattern("glob", `p${n}-*@example.com`, { type: "drop" }));
      assert.deepEqual(await refusal(rules.create(zone, pattern("glob", "one-more-*@example.com", { type: "drop" }))), [
        "tooManyPatterns",
        "A zone can have at most 20 rules with a glob or a regular expression",
      ]);
    });

    test("with several destinations are enabled once all are verified, and disabled when one is deleted", async (t) => {
      const {
        routing: { rules, addresses },
        newZone,
      } = await openRouting(t, engine, { extended: true });
      const zone = await newZone();
      const [a, b] = [
        await addresses.create(ACCOUNT, "a_1@example.net"),
        await addresses.create(ACCOUNT, "b%2@example.net"),
      ];
      const rule = await rules.create(
        zone,
        ruleFor("x@example.com", { type: "forward", value: ["a_1@example.net", "b%2@example.net"] }),
      );
      const other = await addresses.create(ACCOUNT, "ax1@example.net");
      const state = async () => {
        const { enabled, awaiting } = await rules.get(zone, rule.id);
        return enabled ? "enabled" : awaiting ? "awaiting" : "disabled";
      };
      assert.equal(await state(), "awaiting");
      await addresses.setVerified(ACCOUNT, b.id, true);
      assert.equal(await state(), "awaiting");
      await addresses.setVerified(ACCOUNT, a.id, true);
      assert.equal(await state(), "enabled");
      await addresses.delete(ACCOUNT, other.id);
      assert.equal(await state(), "enabled", "an address that LIKE would match without escapes");
      await addresses.setVerified(ACCOUNT, b.id, false);
      assert.equal(await state(), "awaiting");
      await addresses.setVerified(ACCOUNT, b.id, true);
      assert.equal(await state(), "enabled");
      await addresses.delete(ACCOUNT, b.id);
      assert.equal(await state(), "disabled");
    });

    test("are limited in number, even when created concurrently", async (t) => {
      const {
        routing: { rules },
        newZone,
      } = await openRouting(t, engine, { limits: { rules: 3 } });
      const zone = await newZone();
      const made = await Promise.allSettled(
        Array.from({ length: 6 }, (_, i) => rules.create(zone, ruleFor(`u${i}@example.com`))),
      );
      assert.equal(made.filter(({ status }) => status === "fulfilled").length, 3);
      assert.deepEqual(await refusal(rules.create(zone, ruleFor("x@example.com"))), [
        "tooManyRules",
        "A zone can have at most 3 routing rules",
      ]);
      await rules.replaceCatchAll(zone, catchAllTo({ type: "drop" }));
    });
  });
}
