import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeBinding } from "./describe-binding.ts";

describe("the description of a binding", () => {
  test("never contains the value of a secret", () => {
    for (const place of ["dev", "platform"] as const)
      assert.deepEqual(describeBinding({ type: "secret_text", name: "KEY", text: "s3cret" }, place), {
        type: "secret",
        value: "(hidden)",
      });
  });

  test("names the entrypoint of another worker, and the worker of a Durable Object class", () => {
    const service = { type: "service" as const, name: "AUTH", service: "auth" };
    assert.equal(describeBinding(service, "dev").value, "auth");
    assert.equal(describeBinding({ ...service, entrypoint: "Admin" }, "dev").value, "auth#Admin");
    const namespace = { type: "durable_object_namespace" as const, name: "ROOM", class_name: "Room" };
    assert.equal(describeBinding(namespace, "platform").value, "Room");
    assert.equal(describeBinding({ ...namespace, script_name: "chat" }, "platform").value, "Room of chat");
  });

  test("refers to the resources of the place where the worker runs", () => {
    const both = (binding: Parameters<typeof describeBinding>[0]) =>
      (["dev", "platform"] as const).map((place) => describeBinding(binding, place));
    assert.deepEqual(both({ type: "stream", name: "VIDEOS" }), [
      { type: "Stream", value: "videos on this machine" },
      { type: "Stream", value: "the account's videos" },
    ]);
    assert.deepEqual(both({ type: "json", name: "LIMITS", json: { a: "x".repeat(60) } }), [
      { type: "variable", value: `{"a":"${"x".repeat(51)}...` },
      { type: "variable (JSON)", value: `{"a":"${"x".repeat(54)}... (8 characters more)` },
    ]);
    assert.deepEqual(both({ type: "send_email", name: "OUT", destination_address: "a@example.com" }), [
      { type: "send email", value: "to a@example.com" },
      { type: "send_email", value: "a@example.com" },
    ]);
  });

  test("contains only the type if the type is unknown", () => {
    assert.deepEqual(describeBinding({ type: "constructor", name: "X" }, "platform"), {
      type: "constructor",
      value: "",
    });
  });
});
