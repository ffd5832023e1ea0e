import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { createConnectionCount } from "./connection-limits.ts";
import { networkSet } from "./networks.ts";

const from = (remoteAddress: string) => Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket;

test("counts open connections per network and in total, and exempts proxies from the per-network limit", () => {
  const count = createConnectionCount({
    total: 5,
    perNetwork: 2,
    shared: networkSet(["10.0.0.1"], () => new Error("bad")),
  });
  const first = from("::ffff:192.0.2.1");
  assert.deepEqual(
    [count.admit(first), count.admit(from("192.0.2.1")), count.admit(from("192.0.2.1"))],
    [undefined, undefined, "network"],
  );
  assert.deepEqual(
    ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map((ip) => count.admit(from(ip))),
    [undefined, undefined, "network"],
  );
  first.emit("close");
  assert.equal(count.admit(from("192.0.2.1")), undefined);
  assert.equal(count.admit(from("10.0.0.1")), undefined);
  assert.deepEqual([count.admit(from("198.51.100.1")), count.open], ["total", 5]);
  const proxied = createConnectionCount({
    total: 5,
    perNetwork: 1,
    shared: networkSet(["10.0.0.1"], () => new Error("bad")),
  });
  assert.deepEqual(
    Array.from({ length: 6 }, () => proxied.admit(from("10.0.0.1"))),
    [undefined, undefined, undefined, undefined, undefined, "total"],
  );
});
