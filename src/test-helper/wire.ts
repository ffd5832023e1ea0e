import type { CreateServerOptions, ServerEvent } from "./api.ts";

/** Messages between the test process and the host process, over the IPC channel. */
export interface HostRequest {
  id: number;
  /** Identifies the server within the host process. */
  server: number;
  method: string;
  params: unknown;
}

export type HostMessage =
  | { type: "result"; id: number; result: unknown }
  | { type: "error"; id: number; error: HostError }
  | { type: "event"; server: number; event: ServerEvent };

export interface HostError {
  message: string;
  fix?: string | undefined;
}

export interface StartParams extends Omit<CreateServerOptions, "dir" | "config" | "startTimeout"> {
  cwd: string;
  configs: string[];
  env: Record<string, string | undefined>;
}

export interface StartResult {
  url: string;
  smtp: { host: string; port: number };
  api: { url: string; token: string; account: string };
  dataDir: string;
  workers: string[];
}

/** The bytes of a message, encoded because JSON has no binary type. */
export interface WireMessage {
  raw: string;
  rawBase64?: string;
}
