import assert from "node:assert/strict";
import { test } from "node:test";
import { destinationOf, mayBeRouted, namesTwoHosts, workerParent, type HostNames } from "./platform-host.ts";

const DOMAIN = "workers.example.com";

test("recognizes a worker by host or by path", () => {
  assert.deepEqual(destinationOf("/a?b=1", "inbox.acme.workers.example.com:8787", { domain: DOMAIN }), {
    kind: "worker",
    script: "inbox",
    label: "acme",
    url: "/a?b=1",
  });
  assert.deepEqual(destinationOf("/a", "INBOX.Acme.workers.example.com.", { domain: DOMAIN }), {
    kind: "worker",
    script: "inbox",
    label: "acme",
    url: "/a",
  });
  assert.deepEqual(destinationOf("/workers/inbox/a/b?c=/d", "api.example.com", { domain: DOMAIN }), {
    kind: "default-account-worker",
    script: "inbox",
    url: "/a/b?c=/d",
  });
  assert.deepEqual(destinationOf("/workers/inbox", undefined, { domain: DOMAIN }), {
    kind: "default-account-worker",
    script: "inbox",
    url: "/",
  });
  assert.deepEqual(destinationOf("/workers/inbox?x", "h", { domain: DOMAIN }), {
    kind: "default-account-worker",
    script: "inbox",
    url: "/?x",
  });
  assert.deepEqual(destinationOf("/workers/%zz/", "h", { domain: DOMAIN }), {
    kind: "default-account-worker",
    script: "%zz",
    url: "/",
  });
});

test("assigns all other requests to the platform", () => {
  for (const host of [
    "workers.example.com",
    "acme.workers.example.com",
    "a.b.c.workers.example.com",
    ".acme.workers.example.com",
    "inbox.acme.workers.example.com.evil.test",
    undefined,
  ]) {
    assert.deepEqual(destinationOf("/client/v4/user?x=1", host, { domain: DOMAIN }), {
      kind: "platform",
      path: "/client/v4/user",
    });
  }
  assert.deepEqual(destinationOf("/workers/", "h", { domain: DOMAIN }), { kind: "platform", path: "/workers/" });
});

test("videos have their own hosts, even if other services use the same domain", () => {
  for (const [host, domain] of [
    ["customer-a1.videos.example.com:8787", "videos.example.com"],
    ["Customer-a1.VIDEOS.example.com.", "videos.example.com:8787"],
    ["customer-a1.acme.workers.example.com", "acme.workers.example.com"],
  ] as const) {
    assert.deepEqual(destinationOf("/client/v4/user", host, { domain: DOMAIN, videoDomain: domain }), {
      kind: "video",
    });
  }
  for (const host of [
    "videos.example.com",
    "acme.videos.example.com",
    "x.customer-a1.videos.example.com",
    "customer-a1.example.com",
    undefined,
  ])
    assert.equal(destinationOf("/", host, { domain: DOMAIN, videoDomain: "videos.example.com" }).kind, "platform");
  assert.equal(destinationOf("/", "customer-a1.workers.example.com", { domain: DOMAIN }).kind, "platform");
});

test("distinguishes platform, upload and unknown hosts if their names are configured", () => {
  const hosts = {
    domain: DOMAIN,
    videoDomain: "videos.example.com",
    uploadHost: "uploads.example.com:8787",
    platformHosts: ["api.example.com", "[::1]"],
    byPath: false,
  };
  const kinds = Object.entries({
    "API.example.com:8787": "platform",
    "api.example.com.": "platform",
    "[::1]:8787": "platform",
    "uploads.example.com": "upload",
    "a.b.workers.example.com": "worker",
    "customer-x.videos.example.com": "video",
    "203.0.113.7": "unknown",
    "evil.example": "unknown",
    "xapi.example.com": "unknown",
  });
  for (const [host, kind] of kinds) assert.equal(destinationOf("/client/v4/user?a", host, hosts).kind, kind, host);
  assert.equal(destinationOf("/", undefined, hosts).kind, "unknown");
  assert.deepEqual(destinationOf("/workers/inbox/", "api.example.com", hosts), {
    kind: "platform",
    path: "/workers/inbox/",
  });
  assert.deepEqual(destinationOf("/upload/a?b", "uploads.example.com", hosts), { kind: "upload", path: "/upload/a" });
});

test("returns the parent domain shared by the workers of an account", () => {
  assert.equal(workerParent("Inbox.acme.workers.example.com:8787", DOMAIN), "acme.workers.example.com");
  for (const host of [
    "acme.workers.example.com",
    "a.b.c.workers.example.com",
    "api.example.com",
    "evilworkers.example.com",
    undefined,
  ])
    assert.equal(workerParent(host, DOMAIN), undefined, String(host));
});

test("rejects a request that specifies two different hosts", () => {
  assert.equal(namesTwoHosts(["Host", "a", "Accept", "Host", "hOST", "a"]), true);
  assert.equal(namesTwoHosts(["Host", "a", "Accept", "host", "X-Host", "b"]), false);
  assert.equal(namesTwoHosts([]), false);
});

test("a route applies only to hosts that the server itself does not use", () => {
  const isOwnHost = (host: string) => host === "api.example.com";
  const cases: [hosts: Partial<HostNames>, host: string, expected: boolean][] = [
    [{}, "shop.example", true],
    [{}, "inbox.acme.workers.example.com", false],
    [{ isOwnHost }, "API.example.com:8443", false],
    [{ isOwnHost }, "api.example.com.", false],
    [{ isOwnHost }, "shop.example", true],
    [{ isOwnHost, platformHosts: ["www.example.com"] }, "api.example.com", false],
    [{ hasApiHost: false }, "shop.example", false],
    [{ hasApiHost: false }, "api.example.com", false],
    [{ platformHosts: ["api.example.com"] }, "api.example.com", false],
    [{ platformHosts: ["api.example.com"] }, "shop.example", true],
    [{ uploadHost: "up.example.com" }, "up.example.com", false],
    [{ videoDomain: "video.example.com" }, "customer-1.video.example.com", false],
  ];
  for (const [hostNames, host, expected] of cases) {
    const hosts = { domain: DOMAIN, ...hostNames };
    assert.equal(mayBeRouted(destinationOf("/a", host, hosts), host, hosts), expected, host);
  }
  const path = destinationOf("/workers/inbox/a", "shop.example", { domain: DOMAIN });
  assert.equal(mayBeRouted(path, "shop.example", { domain: DOMAIN }), true);
});
