import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLifecycle, randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { settingsSchema } from "../../kernel/settings.ts";
import { createSpool } from "../messages/index.ts";
import type { Resolver } from "./resolver.ts";
import { setUpAuthenticator } from "./setup.ts";

const lifecycle = createLifecycle({ log: silentLog });
const basics = { clock: systemClock, ids: randomIds, log: silentLog, lifecycle };
const settings = settingsSchema.parse({
  smtp: { name: "mx1.example" },
  authentication: { trusted: ["10.1.0.0/16"] },
});

test("rejects an unauthenticated sender unless its peer is trusted", async (t) => {
  const resolver: Resolver = () => Promise.reject(Object.assign(new Error("none"), { code: "ENOTFOUND" }));
  const authenticator = setUpAuthenticator(settings, resolver, basics)!;
  t.after(() => lifecycle.stop());
  const source = createSpool({ dir: join(tmpdir(), "reelpost-never-made"), ids: randomIds }).fromMemory(
    Buffer.from("From: a@sender.example\r\n\r\nhello\r\n"),
  );
  const check = async (ip: string) => {
    const { accept, reply, spf } = await authenticator.check({ from: "a@sender.example", helo: "x", ip }, source);
    return [accept, reply?.code, spf.result];
  };
  assert.deepEqual(await check("192.0.2.1"), [false, 550, "none"]);
  assert.deepEqual(await check("10.1.2.3"), [true, undefined, "none"]);
  assert.deepEqual(await check("::ffff:10.1.2.3"), [true, undefined, "none"]);
  assert.equal(
    setUpAuthenticator(settingsSchema.parse({ authentication: { enabled: false } }), resolver, basics),
    undefined,
  );
  assert.throws(
    () => settingsSchema.parse({ authentication: { trusted: ["the office"] } }),
    /is neither an IP address nor a range/,
  );
});
