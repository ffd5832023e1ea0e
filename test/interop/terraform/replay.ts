import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  bodyOf,
  planned,
  planOf,
  refreshed,
  sentFields,
  stateAfterChange,
  updateBodyOf,
  type Sequence,
  type Values,
} from "./provider.ts";

export interface ReplayTarget {
  api: string;
  token: string;
  /** Values of placeholders, such as `account_id`. */
  variables: Record<string, string>;
}

interface Answer {
  status: number;
  text: string;
  headers: Headers;
}

export function readSequence(name: string): Sequence {
  return JSON.parse(readFileSync(join(import.meta.dirname, `${name}.json`), "utf8")) as Sequence;
}

/**
 * Creates the resource, refreshes it and expects an empty plan; does the same for each update; deletes it and expects
 * it to be gone. Returns the last state.
 */
export async function replay(target: ReplayTarget, sequence: Sequence): Promise<Values> {
  const { fields, resource } = sequence;
  const configs = sequence.configs.map((config) => fill(config, target.variables));
  const [first, ...later] = configs;
  const plan = planOf(fields, first!);
  const created = valuesOf(await send(target, sequence, sequence.create, plan, encode(sequence, plan, "create")));
  let state = stateAfterChange(fields, plan, created);
  assert.deepEqual(planned(fields, first!, state), [], `${resource}: the plan after the creation is empty`);
  state = await refresh(target, sequence, state);
  assert.deepEqual(planned(fields, first!, state), [], `${resource}: the plan after a refresh is empty`);

  for (const [i, config] of later.entries()) {
    if (sequence.update === undefined) throw new Error(`${resource} has no update`);
    const next = planOf(fields, config);
    assert.notDeepEqual(planned(fields, config, state), [], `${resource}: update ${i + 1} changes something`);
    const body =
      sequence.body === undefined
        ? JSON.stringify(sentFields(fields, updateBodyOf(next, state, fields, sequence.changes)))
        : encode(sequence, next, "update");
    const updated = valuesOf(await send(target, sequence, sequence.update, { ...state, ...next }, body));
    state = { ...stateAfterChange(fields, next, updated), ...idOf(state) };
    state = await refresh(target, sequence, state);
    assert.deepEqual(planned(fields, config, state), [], `${resource}: the plan after update ${i + 1} is empty`);
  }

  if (sequence.delete !== undefined) {
    const deleted = await send(target, sequence, sequence.delete, state);
    assert.ok(
      deleted.status < 300,
      `${resource}: ${sequence.delete} was answered with ${deleted.status} ${deleted.text}`,
    );
    const [read] = sequence.read;
    if (read === undefined) return state;
    const { status } = await send(target, sequence, read.call, state);
    assert.equal(status, sequence.gone ?? 404, `${resource}: status of a read after the deletion`);
  }
  return state;
}

/** Identifiers that an update response may omit. */
const idOf = ({ id, uid, uuid }: Values): Values => ({
  ...(typeof id === "string" && { id }),
  ...(typeof uid === "string" && { uid }),
  ...(typeof uuid === "string" && { uuid }),
});

async function refresh(target: ReplayTarget, sequence: Sequence, state: Values): Promise<Values> {
  let next = state;
  for (const {
    call,
    at = [],
    into,
    as = "result",
    ignore_empty: ignoreEmpty = false,
    optional = false,
  } of sequence.read) {
    const response = await send(target, sequence, call, state);
    if (optional && response.status === 404) continue;
    if (as === "text") {
      assert.equal(response.status, 200, `${call}: ${response.text}`);
      next = { ...next, [into!]: contentOf(response) };
      continue;
    }
    next =
      into === undefined
        ? refreshed(
            sequence.fields,
            next,
            at.reduce<Values>((value, key) => value[key] as Values, valuesOf(response)),
            ignoreEmpty,
          )
        : { ...next, [into]: resultOf(response) };
  }
  return next;
}

/** Returns the first part of a multipart response, or the text of any other. */
function contentOf({ text, headers }: Answer): string {
  const boundary = /^multipart\/[^;]+;.*boundary="?([^";]+)/.exec(headers.get("content-type") ?? "")?.[1];
  if (boundary === undefined) return text;
  const [, part] = text.split(`--${boundary}`);
  return part!.slice(part!.indexOf("\r\n\r\n") + 4).replace(/\r\n$/, "");
}

function encode(sequence: Sequence, plan: Values, purpose: "create" | "update"): RequestInit["body"] {
  switch (sequence.body) {
    case "none":
      return "{}";
    case "list":
      return JSON.stringify(Object.values(plan)[0]);
    case "form": {
      const form = new FormData();
      for (const [name, value] of Object.entries(plan)) form.set(name, String(value));
      return form;
    }
    case "worker": {
      const { content, ...metadata } = sentFields(sequence.fields, plan);
      const name = String(metadata["main_module"] ?? "script");
      const form = new FormData();
      const type = metadata["main_module"] === undefined ? "application/javascript" : "application/javascript+module";
      form.set(name, new Blob([String(content)], { type }), name);
      if (metadata["main_module"] === undefined) metadata["body_part"] = "script";
      form.set("metadata", new Blob([JSON.stringify(metadata)], { type: "application/json" }));
      return form;
    }
    case undefined:
      return JSON.stringify(
        bodyOf(sentFields(sequence.fields, plan), purpose === "create" ? sequence.create_names : {}),
      );
  }
}

async function send(
  { api, token, variables }: ReplayTarget,
  sequence: Sequence,
  call: string,
  state: Values,
  body?: RequestInit["body"],
): Promise<Answer> {
  const [method, path] = call.split(" ") as [string, string];
  const values = { ...state, ...variables };
  const headers = Object.entries(sequence.headers ?? {}).map(([name, field]) => [name, String(values[field])]);
  const response = await fetch(`${api}${fillText(path, values)}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(typeof body === "string" && { "content-type": "application/json" }),
      ...Object.fromEntries(headers),
    },
    ...(body !== undefined && method !== "GET" && { body }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

function resultOf({ status, text }: Answer): Values | null {
  const envelope = JSON.parse(text) as { success: boolean; result: Values };
  assert.ok(status < 300 && envelope.success, `status ${status}: ${text}`);
  return envelope.result;
}

const valuesOf = (response: Answer): Values => resultOf(response) ?? {};

const fillText = (text: string, values: Record<string, unknown>) =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (values[name] === undefined || values[name] === null) throw new Error(`no value for {${name}}`);
    return encodeURIComponent(String(values[name]));
  });

const fill = (config: Values, variables: Record<string, string>): Values =>
  JSON.parse(JSON.stringify(config).replace(/\{(\w+)\}/g, (whole, name: string) => variables[name] ?? whole)) as Values;
