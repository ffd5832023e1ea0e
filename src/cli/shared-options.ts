import type { Options } from "./command.ts";

/** The configuration file and the environment within it. */
export const configOptions = {
  config: {
    type: "string",
    short: "c",
    placeholder: "file",
    summary: "configuration file",
    defaultText: "the one in this folder or a parent folder",
    complete: "file",
  },
  env: { type: "string", short: "e", placeholder: "name", summary: "environment: env.<name> of the configuration" },
} as const satisfies Options;

/** The server and the credentials. */
export const serverOptions = {
  url: {
    type: "string",
    placeholder: "url",
    summary: "API URL of the server",
    defaultText: "API_BASE_URL, the login, or http://127.0.0.1:8787/client/v4",
  },
  token: { type: "string", placeholder: "token", summary: "the API token", defaultText: "API_TOKEN, or the login" },
  account: {
    type: "string",
    placeholder: "id",
    summary: "account id",
    defaultText: "ACCOUNT_ID, the login, the configuration, or the only one",
  },
} as const satisfies Options;

/** For commands whose storage may be specified in the configuration. */
export const storageOptions = { ...configOptions, ...serverOptions } as const satisfies Options;

/** Options of commands that can also read and write the storage of `reelpost dev`. */
export const localOptions = {
  local: { type: "boolean", summary: "use the storage of `reelpost dev` instead of a server" },
  "data-dir": {
    type: "string",
    placeholder: "dir",
    summary: "with --local: the storage directory",
    defaultText: ".reelpost next to the configuration file",
    complete: "directory",
  },
} as const satisfies Options;

/** For commands that concern one worker. */
export const workerOptions = {
  name: {
    type: "string",
    short: "n",
    placeholder: "name",
    summary: "name of the worker",
    defaultText: "from the configuration",
  },
  ...configOptions,
  ...serverOptions,
} as const satisfies Options;

export const yesOption = {
  yes: { type: "boolean", short: "y", summary: "skip confirmation" },
} as const satisfies Options;

/** `initial`: the default shown in help. The command applies it. */
export const limitOption = (max: number, initial: number, items = "entries") =>
  ({
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max,
      summary: `maximum number of ${items}`,
      defaultText: String(initial),
    },
  }) as const satisfies Options;

/** `items`: what the times select, such as "videos created". The options have no default. */
export const periodOptions = (items: string) =>
  ({
    since: {
      type: "string",
      placeholder: "time",
      summary: `only ${items} after this time, such as 2h (ago), 7d or 2026-11-20T12:00:00Z`,
    },
    until: { type: "string", placeholder: "time", summary: `only ${items} before this time` },
  }) as const satisfies Options;

/** Like periodOptions, for statistics. `since`: the default shown in help. The command applies it. */
export const statisticsPeriodOptions = (items: string, since: string) =>
  ({
    since: {
      type: "string",
      placeholder: "time",
      summary: `only ${items} after this time, such as 7d (ago) or 2026-11-01`,
      defaultText: since,
    },
    until: { type: "string", placeholder: "time", summary: `only ${items} before this time`, defaultText: "now" },
  }) as const satisfies Options;

export const messageOption = {
  message: {
    type: "string",
    short: "m",
    placeholder: "text",
    summary: "message stored with the version and the deployment",
  },
} as const satisfies Options;

export const variableOptions = {
  var: {
    type: "string",
    placeholder: "NAME:value",
    multiple: true,
    summary: "variable that overrides the configuration",
  },
  "keep-vars": { type: "boolean", summary: "keep variables that exist only on the server" },
} as const satisfies Options;

export const missingBindingsOption = {
  "allow-missing-bindings": {
    type: "boolean",
    summary: "upload even if some bindings are not supported; they will be undefined",
  },
} as const satisfies Options;

export interface StorageValues {
  config: string | undefined;
  env: string | undefined;
  url: string | undefined;
  token: string | undefined;
  account: string | undefined;
  local?: boolean | undefined;
  "data-dir"?: string | undefined;
}

export interface WorkerValues extends StorageValues {
  name: string | undefined;
}
