import type { Caller } from "../accounts/index.ts";
import type { Log } from "../kernel/index.ts";
import type { ApiRequest } from "./api-request.ts";
import { DEFAULT_BODY_BYTES, parseJson, readBounded, readForm } from "./body.ts";
import { invalidInput } from "./envelope.ts";
import type { Call, Operation } from "./operation.ts";

interface CallDeps {
  id: string;
  operation: Operation;
  caller: Caller;
  log(): Log;
  confirm(): Promise<Caller>;
  /** Counts bytes of the body in memory. Throws busy. */
  reserveMemory(octets: number): void;
}

/** Creates the call that a handler receives. Throws badRequest, badJson, bodyTooLarge, tooManyValues, tooDeep, busy. */
export async function createCall(
  request: ApiRequest,
  { id, operation, caller, log, confirm, reserveMemory }: CallDeps,
): Promise<Call> {
  const { query, body, maxBytes = DEFAULT_BODY_BYTES } = operation;
  const bounds = { limit: maxBytes, reserveMemory };
  const call: Call = {
    id,
    params: request.params,
    query: query && requireValid(query.safeParse(unwrapSingleValues(request.queries())), "query"),
    body: undefined,
    caller,
    get log() {
      return log();
    },
    get request() {
      return request.raw;
    },
    bytes: () => confirmAfter(readBounded(request.raw, bounds)),
    form: () => confirmAfter(readForm(request.raw, bounds)),
    confirm,
    node: request,
  };
  const confirmAfter = async <Value>(reading: Promise<Value>): Promise<Value> => {
    const value = await reading;
    await confirm();
    return value;
  };
  if (body !== undefined)
    call.body = requireValid(
      body.safeParse(
        parseJson(await confirmAfter(readBounded(request.raw, bounds)), operation.maxValues) ??
          (operation.bodyOptional === true ? {} : undefined),
      ),
      "body",
    );
  return call;
}

type Parsed = ReturnType<NonNullable<Operation["query"]>["safeParse"]>;

function requireValid(parsed: Parsed, source: "query" | "body"): unknown {
  if (!parsed.success) throw invalidInput(parsed.error, source);
  return parsed.data;
}

/** A parameter that occurs once becomes a string; one that occurs more often becomes a list. */
function unwrapSingleValues(queries: Record<string, string[]>): Record<string, string | string[]> {
  const valuesByName: Record<string, string | string[]> = {};
  for (const name in queries) valuesByName[name] = queries[name]!.length === 1 ? queries[name]![0]! : queries[name]!;
  return valuesByName;
}
