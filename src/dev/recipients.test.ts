import assert from "node:assert/strict";
import { it } from "node:test";
import { claimedBy, workerFor, type Claims } from "./recipients.ts";

const workers: Claims[] = [
  { worker: "inbox", addresses: ["help@shop.example"] },
  { worker: "shop", addresses: ["*@shop.example", "Boss@example.org"] },
];

it("gives mail to the worker that claims the address, then its domain, then the one the domain names, then the first", () => {
  assert.equal(workerFor("Help@shop.example", workers), "inbox");
  assert.equal(workerFor("orders@SHOP.example", workers), "shop");
  assert.equal(workerFor("boss@example.org", workers), "shop");
  assert.equal(workerFor("anyone@shop.localhost", workers), "shop");
  assert.equal(workerFor("anyone@example.net", workers), "inbox");
});

it("knows what nobody asked for", () => {
  assert.equal(claimedBy("orders@shop.example", workers), "shop");
  assert.equal(claimedBy("anyone@example.net", workers), undefined);
});
