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
export async function createCall(request: ApiRequest, deps: CallDeps): Promise<Call> {
  const call = new OperationCall(request, deps);
  await call.readDeclaredBody();
  return call;
}

/** A class: for each object literal with accessors, V8 allocates new ones in the old generation. */
class OperationCall implements Call {
  readonly id: string;
  readonly params: Record<string, string>;
  readonly query: unknown;
  body: unknown;
  readonly caller: Caller;
  readonly node: ApiRequest;
  readonly confirm: () => Promise<Caller>;
  readonly #deps: CallDeps;

  constructor(request: ApiRequest, deps: CallDeps) {
    const { query } = deps.operation;
    this.id = deps.id;
    this.params = request.params;
    this.query = query && requireValid(query.safeParse(unwrapSingleValues(request.queries())), "query");
    this.caller = deps.caller;
    this.node = request;
    this.confirm = deps.confirm;
    this.#deps = deps;
  }

  get log(): Log {
    return this.#deps.log();
  }

  get request(): Request {
    return this.node.raw;
  }

  bytes = (): Promise<Uint8Array> => this.#confirmAfter(readBounded(this.request, this.#bounds()));

  form = (): Promise<FormData> => this.#confirmAfter(readForm(this.request, this.#bounds()));

  async readDeclaredBody(): Promise<void> {
    const { body, maxValues, bodyOptional } = this.#deps.operation;
    if (body === undefined) return;
    const json = parseJson(await this.bytes(), maxValues) ?? (bodyOptional === true ? {} : undefined);
    this.body = requireValid(body.safeParse(json), "body");
  }

  #bounds() {
    const { operation, reserveMemory } = this.#deps;
    return { limit: operation.maxBytes ?? DEFAULT_BODY_BYTES, reserveMemory };
  }

  async #confirmAfter<Value>(reading: Promise<Value>): Promise<Value> {
    const value = await reading;
    await this.confirm();
    return value;
  }
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
