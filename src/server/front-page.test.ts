import assert from "node:assert/strict";
import { test } from "node:test";
import { frontPageLinks } from "./front-page.ts";
import type { ProcessRole } from "./roles.ts";

const urlsFor = (dashboard: string | undefined) => ({
  api: () => "https://api.example.com/client/v4",
  dashboard: () => dashboard,
});
const namesFor = (
  hostname: string,
  {
    hosts = [] as string[],
    host = "127.0.0.1",
    dashboard = "http://localhost:8790" as string | null,
    roles = ["api"] as ProcessRole[],
  } = {},
) =>
  frontPageLinks(
    {
      roles: new Set(roles),
      urls: urlsFor(dashboard ?? undefined),
      settings: { dashboard: { hosts, host } },
    },
    hostname,
  ).map(({ name, url }) => `${name} ${url}`);

const REFERENCE = "API reference https://api.example.com/client/v4/docs";

test("visitors on this machine get a link to the port of the dashboard", () => {
  assert.deepEqual(namesFor("localhost"), [
    "Sign in http://localhost:8790",
    "Documentation http://localhost:8790/docs",
    REFERENCE,
  ]);
});

test("other visitors get no link to a dashboard that listens on loopback", () => {
  assert.deepEqual(namesFor("api.example.com"), [REFERENCE]);
});

test("other visitors get a link to the host name of the dashboard, or to its port on the host that they use", () => {
  assert.deepEqual(
    namesFor("api.example.com", { hosts: ["dashboard.example.com"], dashboard: "https://dashboard.example.com" })[0],
    "Sign in https://dashboard.example.com",
  );
  assert.deepEqual(
    namesFor("api.example.com", { host: "0.0.0.0", dashboard: "http://0.0.0.0:8790" })[0],
    "Sign in http://api.example.com:8790",
  );
});

test("the front page of a process without the API has no links", () => {
  assert.deepEqual(namesFor("localhost", { roles: ["workers"], dashboard: null }), []);
});
