import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../support/free-ports.ts";
import { plainMessage, sendRaw, startMailFixture } from "../support/mail-world.ts";

for (const mode of ["queue", "proxy"] as const) {
  test(`two platforms whose catch-all rules forward to each other (${mode}) end the loop, notify the sender, and log it`, async (t) => {
    const ports = { one: await freePort(), two: await freePort() };
    const start = (name: "one" | "two", next: number) =>
      startMailFixture(t, {
        domain: `${name}.example`,
        nextPort: next,
        env: { REELPOST_SMTP_PORT: String(ports[name]), REELPOST_OUTBOUND_FORWARD: mode },
      });
    const one = await start("one", ports.two);
    const two = await start("two", ports.one);
    // The verification mail for an address must be accepted.
    for (const world of [one, two]) await world.rule("*", "drop");
    await one.destination("anybody@two.example");
    await two.destination("anybody@one.example");
    await one.rule("*", "forward", "anybody@two.example");
    await two.rule("*", "forward", "anybody@one.example");

    assert.match(await sendRaw(ports.one, { to: "first@one.example", raw: plainMessage("round") }), /^5\d\d 5\.4\.6 /);
    for (const { api } of [one, two]) {
      const entries: { to: string; status: string; error_detail: string; error_cause: string }[] = await api.ok(
        "get",
        "email/activity?search=round",
      );
      assert.ok(entries.length >= 1 && entries.length <= 3, `${entries.length} rounds`);
      for (const { status, error_cause: cause } of entries)
        assert.deepEqual(
          [cause, ["rejected", "deliveryFailed"].includes(status)],
          ["5.4.6", true],
          JSON.stringify(entries),
        );
    }
    // A loop of mail with an empty return path ends just as soon.
    assert.match(
      await sendRaw(ports.two, { from: "", to: "first@two.example", raw: plainMessage("nobody") }),
      /^5\d\d 5\.4\.6 /,
    );
  });
}
