import assert from "node:assert/strict";
import { it } from "node:test";
import { settingsSchema } from "../kernel/settings.ts";
import { resolveDevSettings } from "./dev-settings.ts";

const reelpost = { verifiedAddresses: undefined, smtpPort: undefined, egress: {}, limits: {} };
const project = { userRoot: "/work/shop", dev: {}, reelpost };
const defaults = settingsSchema.parse({});

it("uses the first free SMTP port and a folder of the project by default", () => {
  assert.deepEqual(resolveDevSettings({ options: { cwd: "/work" }, project, settings: defaults, env: {} }), {
    host: "127.0.0.1",
    port: 8787,
    smtpPort: undefined,
    dataDir: "/work/shop/.reelpost",
  });
});

it("uses the environment, then the project's file, then the command line", () => {
  const env = { REELPOST_SMTP_PORT: "2600", REELPOST_DATA_DIR: "/data" };
  const settings = settingsSchema.parse({ http: { host: "::1", port: 1 }, smtp: { port: 2600 }, data_dir: "/data" });
  const cwd = "/work";
  assert.deepEqual(resolveDevSettings({ options: { cwd }, project, settings, env }), {
    host: "::1",
    port: 1,
    smtpPort: 2600,
    dataDir: "/data",
  });
  const configured = { ...project, dev: { ip: "127.0.0.2", port: 2 }, reelpost: { ...reelpost, smtpPort: 2700 } };
  assert.deepEqual(resolveDevSettings({ options: { cwd }, project: configured, settings, env }), {
    host: "127.0.0.2",
    port: 2,
    smtpPort: 2700,
    dataDir: "/data",
  });
  const options = { cwd, host: "127.0.0.3", port: 0, smtpPort: false, dataDir: "elsewhere" } as const;
  assert.deepEqual(resolveDevSettings({ options, project: configured, settings, env }), {
    host: "127.0.0.3",
    port: 0,
    smtpPort: false,
    dataDir: "/work/elsewhere",
  });
});
