import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { ACCOUNT, catchAllTo, openRouting, OTHER_ACCOUNT, refusal, ruleFor } from "./routing.testing.ts";

export function planConformance(engine: TestEngine): void {
  describe("the addresses in a worker's configuration file", () => {
    const open = async (...args: Parameters<typeof openRouting>) => {
      const house = await openRouting(...args);
      const [a, b] = [await house.newZone("a.example"), await house.newZone("b.example")];
      for (const zone of [a, b]) await house.routing.dns.enable(zone);
      const owner = house.scripts.add("inbox");
      const other = house.scripts.add("other");
      const worker = { type: "worker", value: ["inbox"] };
      const request = (...addresses: string[]) => ({
        owner,
        rules: addresses.filter((one) => !one.startsWith("*")).map((one) => ruleFor(one, worker)),
        catchAll: addresses
          .filter((one) => one.startsWith("*"))
          .map((target) => ({ target, rule: catchAllTo(worker) })),
      });
      const plan = async (...addresses: string[]) =>
        (await house.routing.plan(ACCOUNT, request(...addresses))).map(({ name, changes }) => [
          name,
          ...changes.map(
            ({ type, target, remote }) =>
              `${type} ${target}${remote?.ownerName === undefined ? "" : ` of ${remote.ownerName}`}`,
          ),
        ]);
      return { ...house, a, b, owner, other, worker, request, plan };
    };

    test("are planned as added, updated, deleted, or in conflict with rules of other owners", async (t) => {
      const {
        routing: { rules },
        a,
        b,
        owner,
        other,
        worker,
        plan,
      } = await open(t, engine);
      assert.deepEqual(await plan("one@a.example", "Two@A.example", "*@b.example"), [
        ["a.example", "added one@a.example", "added two@a.example"],
        ["b.example", "added *@b.example"],
      ]);

      const owned = { source: "wrangler", owner };
      await rules.create(a, ruleFor("one@a.example", worker, owned));
      const stopped = await rules.create(a, ruleFor("two@a.example", worker, { ...owned, enabled: false }));
      await rules.replaceCatchAll(b, catchAllTo(worker, owned));
      assert.deepEqual(await plan("one@a.example", "two@a.example", "*@b.example"), [
        ["a.example", "updated two@a.example of inbox"],
      ]);
      await rules.replace(a, stopped.id, ruleFor("two@a.example", worker, owned));
      assert.deepEqual(await plan("one@a.example", "two@a.example", "*@b.example"), []);
      assert.deepEqual(await plan("one@a.example"), [
        ["a.example", "deleted two@a.example of inbox"],
        ["b.example", "deleted *@b.example of inbox"],
      ]);

      await rules.create(a, ruleFor("manual@a.example"));
      await rules.create(
        a,
        ruleFor("theirs@a.example", { type: "worker", value: ["other"] }, { source: "wrangler", owner: other }),
      );
      await rules.replaceCatchAll(a, catchAllTo({ type: "drop" }));
      assert.deepEqual(
        await plan(
          "one@a.example",
          "two@a.example",
          "manual@a.example",
          "theirs@a.example",
          "*@a.example",
          "*@b.example",
          "new@a.example",
        ),
        [
          [
            "a.example",
            "added new@a.example",
            "conflict manual@a.example",
            "conflict theirs@a.example of other",
            "conflict *@a.example",
          ],
        ],
      );
    });

    test("are rejected for unknown workers and domains, and if they are invalid", async (t) => {
      const { routing, newZone, plan, request, scripts } = await open(t, engine);
      assert.equal(
        (await refusal(routing.plan(ACCOUNT, { ...request("one@a.example"), owner: "9".repeat(32) })))[0],
        "unknownWorker",
      );
      const elsewhere = scripts.add("inbox", OTHER_ACCOUNT);
      assert.deepEqual(await refusal(routing.plan(OTHER_ACCOUNT, { ...request("one@a.example"), owner: elsewhere })), [
        "unknownDomain",
        "Unknown Email Routing domain: a.example",
      ]);
      await newZone("quiet.example");
      for (const wrong of ["one@quiet.example", "one@nowhere.example", "*@quiet.example", "*@sub.a.example"])
        assert.equal((await refusal(plan(wrong)))[0], "unknownDomain", wrong);
      for (const wrong of [["one@a.example", "ONE@a.example"], ["nobody"], ["*"]])
        assert.equal((await refusal(plan(...wrong)))[0], "invalidInput", wrong.join());
      assert.deepEqual(await plan(), []);
    });
  });
}
