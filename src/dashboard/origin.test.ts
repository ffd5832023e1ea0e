import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { refusalOf } from "./origin.ts";

const hosts = { isConfigured: (host: string) => host === "dashboard.example.com" };
const refused = (headers: Record<string, string>, url = "/", method = "GET") =>
  refusalOf({ method, url, headers } as unknown as IncomingMessage, hosts)?.status;
const host = "localhost:8790";

test("accepts localhost, addresses and the configured names, and rejects other host names", () => {
  for (const name of [
    "localhost:8790",
    "127.0.0.1:8790",
    "[::1]:8790",
    "192.0.2.7",
    "Dashboard.Example.com",
    "dashboard.example.com.",
  ])
    assert.equal(refused({ host: name }), undefined, name);
  for (const name of ["evil.example", "localhost.evil.example:8790", "hostile.main.localhost:8790", ""])
    assert.equal(refused({ host: name }), 421, name);
  assert.equal(refused({}), 421);
});

test("rejects requests with the Origin of another page", () => {
  assert.equal(refused({ host, origin: "http://localhost:8790" }), undefined);
  assert.equal(refused({ host: "dashboard.example.com", origin: "https://dashboard.example.com" }), undefined);
  for (const origin of ["http://localhost:8787", "http://127.0.0.1:8790", "null", "https://evil.example"])
    assert.equal(refused({ host, origin }, "/client/v4/zones", "POST"), 403, origin);
});

test("accepts links from other pages to pages, and nothing else from them", () => {
  const link = { host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  assert.equal(refused(link, "/dns"), undefined);
  assert.equal(refused({ ...link, "sec-fetch-site": "same-site" }, "/sign-in/callback?code=1"), undefined);
  assert.equal(refused(link, "/dns", "POST"), 403);
  assert.equal(refused(link, "/client/v4/user"), 403);
  assert.equal(refused(link, "/app.json"), 403);
  assert.equal(refused({ ...link, "sec-fetch-dest": "iframe" }, "/dns"), 403);
  for (const site of ["cross-site", "same-site"])
    assert.equal(
      refused({ host, "sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" }),
      403,
    );
  assert.equal(
    refused({ host, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" }, "/client/v4/user"),
    undefined,
  );
  assert.equal(refused({ host, "sec-fetch-site": "none" }, "/"), undefined);
});

test("rejects scripts of service workers", () => {
  assert.equal(refused({ host, "service-worker": "script" }, "/assets/main.js"), 403);
});
