import { randomIds, silentLog } from "../../kernel/index.ts";
import type { BindingServices } from "../bindings/service.ts";
import type { Binding, WorkerScript } from "../scripts/script.ts";
import { DEV_EGRESS } from "./egress/policy.ts";
import { createRuntime, type RuntimeOptions } from "./pool.ts";
import type { InboundMail, MailActions } from "./port.ts";

/** Helpers for the tests of this folder: scripts from source text, messages, and a runtime without storage. */

export function scriptOf(source: string, more: Partial<WorkerScript> = {}): WorkerScript {
  return {
    name: "test",
    version: "1",
    format: "modules",
    main: "index.js",
    modules: [{ name: "index.js", kind: "esm", content: source }],
    compatibilityDate: "2026-10-01",
    compatibilityFlags: [],
    bindings: [] as Binding[],
    ...more,
  };
}

export function mailOf(
  raw:
    | string
    | Uint8Array = "From: a@example.com\r\nTo: b@example.net\r\nSubject: hi\r\nMessage-ID: <1@example.com>\r\n\r\nhello\r\n",
  more: Partial<InboundMail> = {},
): InboundMail {
  const bytes = Buffer.from(raw);
  return {
    id: "m1",
    from: "a@example.com",
    to: "b@example.net",
    rawSize: bytes.length,
    headers: [["subject", "hi"]],
    raw: () => bytes,
    canBeForwarded: true,
    ...more,
  };
}

const unavailable = {
  handle: () => Promise.reject(new Error("no storage in this test")),
};
export const noServices: BindingServices = {
  kv: unavailable,
  r2: unavailable,
  d1: unavailable,
  queue: unavailable,
  stream: unavailable,
  rateLimit: unavailable,
  ai: { ...unavailable, isOffered: true },
  secretsStore: unavailable,
  service: { ...unavailable, upgrade() {}, connect() {} },
  analytics: unavailable,
  sendEmail: unavailable,
};

export const noActions: MailActions = {
  forward: () => Promise.reject(new Error("no actions in this test")),
  reply: () => Promise.reject(new Error("no actions in this test")),
  replyBuilt: () => Promise.reject(new Error("no actions in this test")),
};

export const startRuntime = (options: Partial<RuntimeOptions> = {}) =>
  createRuntime({ services: noServices, egress: DEV_EGRESS, ids: randomIds, log: silentLog, ...options });
