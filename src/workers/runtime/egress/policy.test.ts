import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOwnAddresses } from "../../../kernel/own-addresses.ts";
import { SERVE_EGRESS } from "./egress.testing.ts";
import { createEgressCheck, DEV_EGRESS } from "./policy.ts";

describe("the egress policy", () => {
  const serve = createEgressCheck(SERVE_EGRESS);
  const dev = createEgressCheck(DEV_EGRESS);

  it("allows workers to reach the internet", () => {
    for (const address of ["1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"])
      assert.equal(serve(address, 443), undefined, address);
  });

  it("blocks workers on a server from its own network, in every notation of an address", () => {
    const inside = ["127.0.0.1", "127.9.9.9", "::1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "fe80::1", "fc00::1", "fd12::1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "fec0::1", "fe80::1%lo", "::FFFF:10.0.0.1", "::ffff:a9fe:a9fe", "0:0:0:0:0:ffff:a00:1", "metadata.internal", "", "64:ff9b::7f00:1"]; // prettier-ignore
    for (const address of inside)
      assert.match(serve(address, 80) ?? "allowed", /(closed to workers|not an IP address)$/, address);
  });

  it("blocks the SMTP port everywhere", () => {
    for (const check of [serve, dev]) assert.equal(check("1.1.1.1", 25), "port 25 is closed to workers");
  });

  it("allows loopback and private addresses for a developer", () => {
    for (const address of ["127.0.0.1", "::1", "192.168.1.1"]) assert.equal(dev(address, 8080), undefined, address);
  });

  it("refuses the server's addresses, local or public, and reports the reason", () => {
    const check = createEgressCheck({ ...SERVE_EGRESS, own: createOwnAddresses({ addresses: ["93.184.216.34"] }) });
    for (const address of ["93.184.216.34", "::ffff:93.184.216.34"])
      assert.equal(check(address, 443), "addresses of this server are closed to workers", address);
    assert.equal(check("93.184.216.35", 443), undefined);
    assert.equal(
      createEgressCheck({ ...DEV_EGRESS, own: createOwnAddresses({ addresses: ["93.184.216.34"] }) })(
        "93.184.216.34",
        443,
      ),
      undefined,
    );
  });

  it("refuses the server's own ports on its addresses despite exceptions", () => {
    const own = createOwnAddresses({ addresses: ["93.184.216.34"], ports: [2525, 0] });
    const check = createEgressCheck({
      ...SERVE_EGRESS,
      allowLoopback: true,
      allow: ["93.184.216.34", "127.0.0.1"],
      own,
    });
    own.listening(1935);
    for (const address of ["93.184.216.34", "127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"]) {
      for (const port of [2525, 1935])
        assert.equal(check(address, port), `port ${port} of this server is closed to workers`, address);
      assert.equal(check(address, 8787), undefined, address);
    }
    assert.equal(check("93.184.216.35", 2525), undefined);
  });

  it("applies configured exceptions, and rejects invalid ones", () => {
    const check = createEgressCheck({ ...SERVE_EGRESS, allow: ["10.1.0.0/16", "::1", "192.168.7.7"] });
    assert.deepEqual(
      [check("10.1.2.3", 25), check("::1", 80), check("192.168.7.7", 80), check("::ffff:10.1.2.3", 80)],
      [undefined, undefined, undefined, undefined],
    );
    assert.notEqual(check("10.2.0.1", 80), undefined);
    assert.throws(
      () => createEgressCheck({ ...SERVE_EGRESS, allow: ["intranet"] }),
      /intranet is neither an address nor a range/,
    );
  });
});
