import assert from "node:assert/strict";
import { it } from "node:test";
import { claimedBy, isVerified, workerFor, type Claims } from "./recipients.ts";

const workers: Claims[] = [
  { worker: "inbox", addresses: ["help@shop.example"] },
  { worker: "shop", addresses: ["*@shop.example", "Boss@example.org"] },
];

it("selects a worker by address, then by domain, then by the domain's worker name, otherwise the first one", () => {
  assert.equal(workerFor("Help@shop.example", workers), "inbox");
  assert.equal(workerFor("orders@SHOP.example", workers), "shop");
  assert.equal(workerFor("boss@example.org", workers), "shop");
  assert.equal(workerFor("anyone@shop.localhost", workers), "shop");
  assert.equal(workerFor("anyone@example.net", workers), "inbox");
});

it("recognizes recipients that no worker claims", () => {
  assert.equal(claimedBy("orders@shop.example", workers), "shop");
  assert.equal(claimedBy("anyone@example.net", workers), undefined);
});

it("treats an address as verified if any configuration lists it or has no list", () => {
  assert.equal(isVerified("Boss@example.org", ["ada@example.org", "boss@EXAMPLE.org"]), true);
  assert.equal(isVerified("eve@example.org", ["ada@example.org"]), false);
  assert.equal(isVerified("eve@example.org", undefined), true);
});
