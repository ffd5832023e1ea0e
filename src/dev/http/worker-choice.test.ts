import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickWorker } from "./worker-choice.ts";

describe("worker selection", () => {
  const workers = ["inbox", "notifier"];
  const pick = (url: string, host?: string) => pickWorker(url, host, workers);

  it("selects the first worker by default", () => {
    assert.deepEqual(pick("/a/b?c=d", "127.0.0.1:8787"), {
      worker: "inbox",
      path: "/a/b",
      query: "c=d",
      url: "/a/b?c=d",
    });
    assert.deepEqual(pick("/", undefined), { worker: "inbox", path: "/", query: "", url: "/" });
  });

  it("selects by a path prefix that the worker does not see", () => {
    assert.deepEqual(pick("/cdn-cgi/worker/notifier/a?b"), { worker: "notifier", path: "/a", query: "b", url: "/a?b" });
    assert.deepEqual(pick("/cdn-cgi/worker/notifier"), { worker: "notifier", path: "/", query: "", url: "/" });
    assert.deepEqual(pick("/cdn-cgi/worker/notifier?x"), { worker: "notifier", path: "/", query: "x", url: "/?x" });
    assert.deepEqual(pick("/cdn-cgi/worker/notifier/__email"), {
      worker: "notifier",
      path: "/__email",
      query: "",
      url: "/__email",
    });
  });

  it("selects by host", () => {
    assert.equal((pick("/", "Notifier.localhost:8787") as { worker: string }).worker, "notifier");
    assert.equal((pick("/", "localhost:8787") as { worker: string }).worker, "inbox");
    assert.equal((pickWorker("/", "app.localhost", ["only"]) as { worker: string }).worker, "only");
  });

  it("reports the name of an unknown worker", () => {
    assert.deepEqual(pick("/cdn-cgi/worker/inbx/"), { unknown: "inbx" });
    assert.deepEqual(pick("/", "inbx.localhost"), { unknown: "inbx" });
  });
});
