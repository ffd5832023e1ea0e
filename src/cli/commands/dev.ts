import { randomInt } from "node:crypto";
import type { LogLevel } from "../../kernel/index.ts";
import { defineCommand } from "../command.ts";

const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const satisfies readonly LogLevel[];

export const dev = defineCommand({
  name: "dev",
  summary: "run a worker locally and rebuild it on change",
  description: `Starts an HTTP server and an SMTP server for the worker of the configuration file. Messages arrive over SMTP, at
/cdn-cgi/handler/email?from=…&to=… and at /__email; all other requests go to the worker's fetch handler. Forwarded mail,
replies and sent mail are written as .eml files.

With several --config options the first worker is the default. With --json every event is one JSON object per line on standard output.`,
  options: {
    config: {
      type: "string",
      short: "c",
      placeholder: "file",
      multiple: true,
      summary: "configuration file",
      defaultText: "the one in this folder or a parent folder",
      complete: "file",
    },
    env: {
      type: "string",
      short: "e",
      placeholder: "name",
      summary: "environment: env.<name> of the configuration",
    },
    port: {
      type: "number",
      short: "p",
      max: 65_535,
      summary: "HTTP port; 0 selects a free port",
      defaultText: "dev.port in the configuration, or 8787",
    },
    host: { type: "string", placeholder: "address", summary: "address to listen on", defaultText: "127.0.0.1" },
    "smtp-port": {
      type: "number",
      max: 65_535,
      summary: "SMTP port; 0 selects a free port",
      defaultText: "2525, or the next free one",
    },
    "no-smtp": { type: "boolean", summary: "disable SMTP" },
    "dashboard-port": {
      type: "number",
      max: 65_535,
      summary: "port of the dashboard on 127.0.0.1; 0 selects a free port",
      defaultText: "8790, or the next free one",
    },
    "no-dashboard": { type: "boolean", summary: "disable the dashboard" },
    "no-watch": { type: "boolean", summary: "disable rebuilding on change" },
    "data-dir": {
      type: "string",
      placeholder: "dir",
      summary: "directory for storage and mail",
      defaultText: ".reelpost next to the configuration file",
      complete: "directory",
    },
    seed: {
      type: "string",
      placeholder: "file",
      multiple: true,
      summary:
        "SQL file to run on the D1 database once, and again whenever it changes; BINDING=file if there are several databases",
      complete: "file",
    },
    chaos: {
      type: "number",
      placeholder: "percent",
      max: 100,
      summary: "simulate failures for this percentage of the recipients of outgoing messages",
      defaultText: "0",
    },
    "chaos-seed": {
      type: "number",
      max: 0xffff_ffff,
      summary: "seed for --chaos; use the seed of an earlier run to repeat its failures",
      defaultText: "random",
    },
    "log-level": {
      type: "string",
      placeholder: "level",
      choices: LOG_LEVELS,
      summary: "log level of the program",
      defaultText: "error",
    },
  },
  examples: [
    ["reelpost dev", "the worker in this folder"],
    ["reelpost dev --config wrangler.jsonc --port 8080", "another configuration file and port"],
    ["reelpost dev --seed seed.sql", "with rows in the database"],
    ["reelpost dev --chaos 20", "one delivery in five fails or is delayed"],
    ["reelpost dev -c a/wrangler.jsonc -c b/wrangler.jsonc", "two workers"],
  ],
  async run(values, _, { cwd, clock, version, json, env, stdin, stdout, stderr }) {
    const { runDev } = await import("../../server/index.ts");
    const smtpPort = values["no-smtp"] === true ? false : values["smtp-port"];
    const dashboardPort = values["no-dashboard"] === true ? false : values["dashboard-port"];
    return runDev({
      cwd,
      env,
      clock,
      version,
      json,
      watch: values["no-watch"] !== true,
      seeds: values.seed,
      ...(values.config.length === 0 ? {} : { configs: values.config }),
      ...(values.env === undefined ? {} : { environment: values.env }),
      ...(values.host === undefined ? {} : { host: values.host }),
      ...(values.port === undefined ? {} : { port: values.port }),
      ...(smtpPort === undefined ? {} : { smtpPort }),
      ...(dashboardPort === undefined ? {} : { dashboardPort }),
      ...(values["data-dir"] === undefined ? {} : { dataDir: values["data-dir"] }),
      ...(values.chaos === undefined || values.chaos === 0
        ? {}
        : { chaos: { percent: values.chaos, seed: values["chaos-seed"] ?? randomInt(0xffff_ffff) } }),
      ...(values["log-level"] === undefined ? {} : { logLevel: values["log-level"] }),
      stdin,
      stdout: stdout.stream as NodeJS.WriteStream,
      stderr: stderr.stream as NodeJS.WriteStream,
    });
  },
});
