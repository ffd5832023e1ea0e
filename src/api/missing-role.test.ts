import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { createMissingRoleFinder } from "./missing-role.ts";
import type { ForwardedRole } from "./node-forwarding.ts";
import { destinationOf } from "./platform-host.ts";

const HOSTS = { domain: "workers.example.com", videoDomain: "videos.example.com", uploadHost: "up.example.com" };

function roleOf(own: ForwardedRole[], host: string, url: string, forwardable: ForwardedRole[] = ["playback", "live"]) {
  const missingRole = createMissingRoleFinder({
    forwarding: {
      has: (role) => own.includes(role),
      canForward: (role) => forwardable.includes(role),
      api: {
        prefixes: ["/upload/", "/ai-gateway/"],
        isDashboard: (name) => name === "dash.example.com",
        isSite: (name) => name === "bucket.example.com",
      },
    },
    pick: (request) => destinationOf(request.url!, request.headers.host, HOSTS),
    isPage: (path) => path === "/" || path === "/metrics",
    hasUploadHost: true,
  });
  return missingRole({ url, headers: { host } } as IncomingMessage);
}

const UID = "a".repeat(32);

test("selects the role by the host and path of the request", async () => {
  const cases: [host: string, url: string, role: ForwardedRole | undefined][] = [
    ["example.com", "/client/v4/user", "api"],
    ["example.com", "/ai-gateway/x", "api"],
    ["up.example.com", "/upload/x", "api"],
    ["dash.example.com:8443", "/", "api"],
    ["bucket.example.com", "/metrics", "api"],
    ["echo.main.workers.example.com", "/", "workers"],
    ["example.com", "/workers/echo/", "workers"],
    ["example.com", `/${UID}/manifest/video.m3u8`, "playback"],
    ["customer-code.videos.example.com", `/${UID}/watch`, "playback"],
    ["example.com", `/${UID}/webRTC/play`, "live"],
    ["example.com", `/${UID}/webRTC/publish/${UID}?x=1`, "live"],
    // Each node serves its own metrics.
    ["example.com", "/metrics", undefined],
    ["example.com", "/", undefined],
  ];
  for (const [host, url, role] of cases) assert.equal(await roleOf([], host, url), role, `${host}${url}`);
});

test("handles a request itself if the process has the role", async () => {
  assert.equal(await roleOf(["api"], "example.com", "/client/v4/user"), undefined);
  assert.equal(await roleOf(["api"], "dash.example.com", "/"), undefined);
  assert.equal(await roleOf(["workers"], "echo.main.workers.example.com", "/"), undefined);
  for (const role of ["playback", "live"] as const)
    assert.equal(await roleOf([role], "example.com", `/${UID}/watch`), undefined);
  assert.equal(await roleOf(["playback"], "example.com", `/${UID}/webRTC/play`), "live");
});

test("forwards video requests to the role live if no node has the role playback", async () => {
  assert.equal(await roleOf([], "example.com", `/${UID}/watch`, ["live"]), "live");
});
