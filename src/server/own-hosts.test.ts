import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsSchema } from "../kernel/settings.ts";
import { createOwnHosts, hasApiHost } from "./own-hosts.ts";

test("reserves the server's own hosts, but not those of public buckets under the workers domain", () => {
  const isOwnHost = createOwnHosts(
    settingsSchema.parse({
      api: { hosts: ["API.example.com:8443"] },
      http: { public_url: "https://www.example.com/" },
      stream: { delivery_domain: "video.example.com:8080" },
      workers: { domain: "example.org" },
      r2: { s3_domain: "s3.example.com", public_domain: "public.example.org" },
    }),
    "Machine.example.net",
  );
  for (const host of [
    "api.example.com",
    "www.example.com",
    "video.example.com",
    "customer-1.video.example.com",
    "example.org",
    "worker.label.example.org",
    "bucket.account.s3.example.com",
    "machine.example.net",
    "localhost",
    "127.0.0.1",
    "203.0.113.7",
    "[2001:db8::1]",
  ])
    assert.ok(isOwnHost(host), host);
  for (const host of ["files.example.com", "pub-1.public.example.org", "notexample.org", ""])
    assert.ok(!isOwnHost(host), host);
});

test("the hosts of the API are known if api.hosts or http.public_url is set", () => {
  const isKnown = (settings: object) => hasApiHost(settingsSchema.parse(settings));
  assert.equal(isKnown({}), false);
  assert.equal(isKnown({ smtp: { name: "mx1.example.com" }, workers: { domain: "workers.example.com" } }), false);
  assert.equal(isKnown({ api: { hosts: ["api.example.com"] } }), true);
  assert.equal(isKnown({ http: { public_url: "https://api.example.com" } }), true);
});
