// The entrypoint that the "mail" socket leads to. It lives in the worker's own isolate, so that a message costs one call, exceptions
// keep their stacks and setReject() is synchronous. HTTP callers reach the default export and never this class.
import { WorkerEntrypoint } from "cloudflare:workers";
import { NO_HANDLER, dispatch, type ForwardableMessage } from "./message.ts";

type EmailHandler = (message: unknown, env: unknown, context: ExecutionContext) => unknown;
type Exported = { email?: EmailHandler } | (new (context: ExecutionContext, env: unknown) => { email?: (message: unknown) => unknown });

async function handle(exported: Exported | undefined, message: ForwardableMessage, env: unknown, context: ExecutionContext): Promise<void> {
  if (typeof exported === "function") {
    const instance = new exported(context, env);
    if (typeof instance.email !== "function") throw new Error(NO_HANDLER);
    await instance.email(message);
  } else {
    if (typeof exported?.email !== "function") throw new Error(NO_HANDLER);
    await exported.email(message, env, context);
  }
}

/** Makes the class that is exported beside the user's own exports. */
export const mailEntrypoint = (exported: Exported | undefined, options: { alwaysTail: boolean }) =>
  class extends WorkerEntrypoint {
    override fetch(request: Request): Promise<Response> {
      return dispatch(request, this.ctx, (message) => handle(exported, message, this.env, this.ctx), options);
    }
  };
