import assert from "node:assert/strict";
import os from "node:os";
import { syncBuiltinESMExports } from "node:module";
import { test } from "node:test";
import { createOwnAddresses } from "./own-addresses.ts";

test("recognizes current interface addresses in every notation", (t) => {
  let address = "93.184.216.34";
  const interfaces = t.mock.method(
    os,
    "networkInterfaces",
    () => ({ eth0: [{ address }, { address: "fe80::1%eth0" }] }) as unknown as ReturnType<typeof os.networkInterfaces>,
  );
  syncBuiltinESMExports();
  t.after(() => {
    interfaces.mock.restore();
    syncBuiltinESMExports();
  });
  const own = createOwnAddresses({ cacheMs: 0 });
  assert.deepEqual(
    ["93.184.216.34", "::ffff:93.184.216.34", "::ffff:5db8:d822", "fe80::1", "93.184.216.35"].map(own.has),
    [true, true, true, true, false],
  );
  address = "93.184.216.35";
  assert.deepEqual(["93.184.216.34", "93.184.216.35"].map(own.has), [false, true]);
});

test("recognizes the addresses and ranges in the settings, and the bound ports", () => {
  const own = createOwnAddresses({ addresses: ["203.0.113.7", "2001:db8::/32"], ports: [25, 0] });
  own.listening(40_000);
  assert.deepEqual(["203.0.113.7", "203.0.113.8", "2001:db8::9"].map(own.has), [true, false, true]);
  assert.deepEqual([25, 0, 40_000, 443].map(own.listensOn), [true, false, true, false]);
  assert.throws(() => createOwnAddresses({ addresses: ["home"] }), /home is neither an address nor a range/);
});
