import assert from "node:assert/strict";
import { test } from "node:test";
import { destinationOf, namesTwoHosts } from "./platform-host.ts";

const DOMAIN = "workers.example.com";

test("a worker is named by host or by path", () => {
  assert.deepEqual(destinationOf("/a?b=1", "inbox.acme.workers.example.com:8787", DOMAIN), { kind: "worker", script: "inbox", label: "acme", url: "/a?b=1" });
  assert.deepEqual(destinationOf("/a", "INBOX.Acme.workers.example.com.", DOMAIN), { kind: "worker", script: "inbox", label: "acme", url: "/a" });
  assert.deepEqual(destinationOf("/workers/inbox/a/b?c=/d", "api.example.com", DOMAIN), { kind: "default-account-worker", script: "inbox", url: "/a/b?c=/d" });
  assert.deepEqual(destinationOf("/workers/inbox", undefined, DOMAIN), { kind: "default-account-worker", script: "inbox", url: "/" });
  assert.deepEqual(destinationOf("/workers/inbox?x", "h", DOMAIN), { kind: "default-account-worker", script: "inbox", url: "/?x" });
  assert.deepEqual(destinationOf("/workers/%zz/", "h", DOMAIN), { kind: "default-account-worker", script: "%zz", url: "/" });
});

test("everything else is the platform's", () => {
  for (const host of ["workers.example.com", "acme.workers.example.com", "a.b.c.workers.example.com", ".acme.workers.example.com", "inbox.acme.workers.example.com.evil.test", undefined]) {
    assert.deepEqual(destinationOf("/client/v4/user?x=1", host, DOMAIN), { kind: "platform", path: "/client/v4/user" });
  }
  assert.deepEqual(destinationOf("/workers/", "h", DOMAIN), { kind: "platform", path: "/workers/" });
});

test("videos have hosts of their own, whatever is served below the same name", () => {
  for (const [host, domain] of [["customer-a1.videos.example.com:8787", "videos.example.com"], ["Customer-a1.VIDEOS.example.com.", "videos.example.com:8787"], ["customer-a1.acme.workers.example.com", "acme.workers.example.com"]] as const) {
    assert.deepEqual(destinationOf("/client/v4/user", host, DOMAIN, domain), { kind: "video" });
  }
  for (const host of ["videos.example.com", "acme.videos.example.com", "x.customer-a1.videos.example.com", "customer-a1.example.com", undefined]) assert.equal(destinationOf("/", host, DOMAIN, "videos.example.com").kind, "platform");
  assert.equal(destinationOf("/", "customer-a1.workers.example.com", DOMAIN).kind, "platform");
});

test("two hosts are one too many", () => {
  assert.equal(namesTwoHosts(["Host", "a", "Accept", "Host", "hOST", "a"]), true);
  assert.equal(namesTwoHosts(["Host", "a", "Accept", "host", "X-Host", "b"]), false);
  assert.equal(namesTwoHosts([]), false);
});
