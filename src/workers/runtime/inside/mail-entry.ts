// The entrypoint behind the "mail" socket. It runs in the worker's own isolate, so that a message costs one call,
// exceptions keep their stacks and setReject() is synchronous. HTTP callers reach the default export and never this
// class.
import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import { NO_HANDLER, NO_SCHEDULED_HANDLER, dispatch, dispatchScheduled } from "./message.ts";
import { NO_QUEUE_HANDLER, dispatchQueue } from "./queue-batch.ts";
import { EVENT_HEADER, type RequestedEvent } from "./shared.ts";
import { NO_TAIL_HANDLER, dispatchTail } from "./tail-events.ts";

const MISSING_HANDLER_ERRORS = {
  email: NO_HANDLER,
  scheduled: NO_SCHEDULED_HANDLER,
  queue: NO_QUEUE_HANDLER,
  tail: NO_TAIL_HANDLER,
};
type Name = keyof typeof MISSING_HANDLER_ERRORS;
type Handlers = Record<string, unknown>;
type Exported = Handlers | (new (context: ExecutionContext, env: unknown) => Handlers);

async function handle(
  exported: Exported | undefined,
  name: Name,
  event: unknown,
  env: unknown,
  context: ExecutionContext,
): Promise<void> {
  const isClass = typeof exported === "function";
  const target = (isClass ? new exported(context, env) : exported) as Record<Name, Function> | undefined;
  if (typeof target?.[name] !== "function") throw new Error(MISSING_HANDLER_ERRORS[name]);
  await (isClass ? target[name](event) : target[name](event, env, context));
}

/** The handlers listed by the hosted service. */
const KNOWN_HANDLERS = ["fetch", "email", "scheduled", "queue", "tail", "tailStream", "trace", "alarm", "test"];

/**
 * A class's handlers are its methods, including inherited ones; the members of WorkerEntrypoint itself do not count.
 */
function namesOf(exported: Exported | undefined): string[] {
  const target = (typeof exported === "function" ? exported.prototype : exported) as Handlers | undefined;
  return KNOWN_HANDLERS.filter((name) => typeof target?.[name] === "function");
}

/**
 * Exported classes that can be Durable Objects: those that extend DurableObject, and legacy classes without a base
 * class.
 */
const classesOf = (exports: Handlers): string[] =>
  Object.keys(exports).filter((name) => {
    const exported = exports[name];
    if (name === "default" || typeof exported !== "function") return false;
    const { prototype } = exported as { prototype?: object };
    return prototype instanceof DurableObject || (prototype !== undefined && !(prototype instanceof WorkerEntrypoint));
  });

/**
 * Creates the class that is exported alongside the user's own exports. A class, because all calls of an object share
 * one context if the worker has the flag `nonclass_entrypoint_reuses_ctx_across_invocations`, and trackActivity()
 * changes the context.
 */
export const mailEntrypoint = (
  exported: Exported | undefined,
  options: { alwaysTail: boolean; mayWaitUnobserved: boolean },
  exports: Handlers = {},
) =>
  class extends WorkerEntrypoint {
    override async fetch(request: Request): Promise<Response> {
      const run = (name: Name) => (event: unknown) => handle(exported, name, event, this.env, this.ctx);
      switch (request.headers.get(EVENT_HEADER) as RequestedEvent | null) {
        case "handlers":
          return Response.json({ handlers: namesOf(exported), classes: classesOf(exports) });
        case "scheduled":
          return dispatchScheduled(request, this.ctx, run("scheduled"), options);
        case "queue":
          return dispatchQueue(request, this.ctx, run("queue"), options);
        case "tail":
          return dispatchTail(request, this.ctx, run("tail"), options);
        case null:
          return dispatch(request, this.ctx, run("email"), options);
      }
    }
  };
