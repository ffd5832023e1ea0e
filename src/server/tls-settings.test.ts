import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../kernel/index.ts";
import { settingsSchema, type SettingsInput } from "../kernel/settings.ts";
import { asciiName, checkTls } from "./tls-settings.ts";

const check = (tls: NonNullable<SettingsInput["tls"]>) => checkTls(settingsSchema.parse({ tls }).tls);
const ACME = { acme_directory: "https://acme.example/dir" };

test("rejects contradictory TLS settings with a fix", () => {
  const refused = (tls: NonNullable<SettingsInput["tls"]>, kind: string) =>
    assert.throws(
      () => check(tls),
      (err) => err instanceof UserError && err.kind === kind && err.fix !== undefined,
      kind,
    );
  refused({ cert_file: "cert.pem" }, "halfAPair");
  refused({ key_file: "key.pem" }, "halfAPair");
  refused({ acme_directory: "http://acme.example/dir", acme_names: ["a.example"] }, "badDirectory");
  refused({ acme_directory: "acme.example", acme_names: ["a.example"] }, "badDirectory");
  refused(ACME, "noNames");
  refused({ ...ACME, acme_names: ["*.example.com"] }, "wildcardByHttp");
  for (const name of [
    "127.0.0.1",
    "10.0.0.10",
    "localhost",
    "a b.example",
    "a..example",
    "*.*.example.com",
    "-a.example",
    `${"a".repeat(64)}.example`,
    `${"a.".repeat(130)}example`,
  ])
    refused({ ...ACME, acme_names: [name] }, "badName");
});

test("accepts consistent TLS settings", () => {
  check({});
  check({ cert_file: "cert.pem", key_file: "key.pem" });
  check({ ...ACME, acme_names: ["mx.example.com", "bücher.example", "MX.Example.Com."] });
  check({ ...ACME, acme_names: ["*.example.com", "example.com"], acme_challenge: "dns-01" });
  assert.deepEqual(["bücher.example", "*.Bücher.example", "MX.Example.Com."].map(asciiName), [
    "xn--bcher-kva.example",
    "*.xn--bcher-kva.example",
    "mx.example.com",
  ]);
});
