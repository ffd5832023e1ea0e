import type { SettingsInput } from "../../kernel/settings.ts";
import { defineCommand } from "../command.ts";

export const serve = defineCommand({
  name: "serve",
  summary: "run the platform: API, deployed workers, mail and video",
  description: `Runs until it is stopped, and stores everything in one data directory. The first start creates an account and prints an API token and a sign-in link once.
The first Ctrl-C or SIGTERM waits for pending work, the second one exits immediately.

Settings come from the command line, then REELPOST_ variables, then a settings file. A public address requires a configured secrets key
and first API token.`,
  options: {
    settings: {
      type: "string",
      short: "s",
      placeholder: "file",
      summary: "settings file: .jsonc, .json or .toml",
      complete: "file",
    },
    host: { type: "string", placeholder: "address", summary: "HTTP address to listen on", defaultText: "127.0.0.1" },
    port: { type: "number", short: "p", max: 65_535, summary: "HTTP port; 0 selects a free port", defaultText: "8787" },
    "smtp-port": { type: "number", max: 65_535, summary: "SMTP port; 0 selects a free port", defaultText: "2525" },
    "dashboard-port": {
      type: "number",
      max: 65_535,
      summary: "port of the dashboard; 0 selects a free port",
      defaultText: "8790",
    },
    "data-dir": {
      type: "string",
      placeholder: "dir",
      summary: "data directory",
      defaultText: ".reelpost",
      complete: "directory",
    },
    roles: {
      type: "string",
      placeholder: "list",
      summary: "roles of this process: api, workers, smtp, outbound, dns, encode, live, playback, separated by commas",
      defaultText: "all",
    },
    processes: {
      type: "string",
      placeholder: "number",
      summary: "number of processes that share the ports, or auto for one per CPU core",
      defaultText: "1",
    },
    "new-token": {
      type: "boolean",
      summary: "create and print another API token with all permissions, in case the first one is lost",
    },
    "log-level": {
      type: "string",
      placeholder: "level",
      choices: ["trace", "debug", "info", "warn", "error", "silent"],
      summary: "log level on standard error",
      defaultText: "info",
    },
  },
  examples: [
    ["reelpost serve", "all roles, reachable from this machine only"],
    ["reelpost serve --settings /etc/reelpost/settings.jsonc", "with a settings file, for a service"],
    ["reelpost serve --roles api,smtp", "some roles, with a shared database"],
    ["reelpost serve --processes auto", "one process per CPU core"],
  ],
  async run(values, _, { cwd, env, clock, version, json, stdout, stderr }) {
    const { runServe } = await import("../../server/index.ts");
    const overrides: SettingsInput = {
      ...(values["data-dir"] !== undefined && { data_dir: values["data-dir"] }),
      ...((values.host !== undefined || values.port !== undefined) && {
        http: {
          ...(values.host !== undefined && { host: values.host }),
          ...(values.port !== undefined && { port: values.port }),
        },
      }),
      ...(values["smtp-port"] !== undefined && { smtp: { port: values["smtp-port"] } }),
      ...(values["dashboard-port"] !== undefined && { dashboard: { port: values["dashboard-port"] } }),
      ...(values["log-level"] !== undefined && { log: { level: values["log-level"] } }),
    };
    return runServe({
      cwd,
      env,
      clock,
      version,
      json,
      overrides,
      ...(values.settings !== undefined && { settingsFile: values.settings }),
      ...(values.roles !== undefined && { roles: values.roles.split(",").map((role) => role.trim()) }),
      ...(values.processes !== undefined && { processes: values.processes }),
      newToken: values["new-token"] === true,
      print: (line) => stdout.line(line),
      warn: (line) => stderr.line(line),
    });
  },
});
