// Runs a script in service-worker format beside modules. workerd itself would run it without them, and without them there are no D1 and
// send_email bindings: it makes those out of modules of their own.
import { env } from "cloudflare:workers";
import { handlersOfListeners, type Handlers } from "./listeners.ts";
import { RUN_SCRIPT } from "./shared.ts";

type Run = (source: string, name: string) => void;

/** Gives the script its bindings as globals, runs its top level, and makes a worker of the listeners it has added. */
export function runScript(source: string, name: string): Handlers {
  const bindings = env as unknown as Record<string, unknown>;
  const run = bindings[RUN_SCRIPT] as Run;
  delete bindings[RUN_SCRIPT];
  for (const [binding, value] of Object.entries(bindings)) {
    // Defined and not assigned: a binding may bear the name of a global with a setter, or of one that is read-only.
    Reflect.defineProperty(globalThis, binding, { value, writable: true, enumerable: true, configurable: true });
  }
  run(source, name);
  return handlersOfListeners();
}
