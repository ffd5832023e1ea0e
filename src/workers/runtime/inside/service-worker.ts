// Runs a script in service-worker format alongside modules. workerd itself would run it without modules, and therefore
// without D1 and send_email bindings, which are built from modules.
import { env } from "cloudflare:workers";
import { handlersOfListeners, type Handlers } from "./listeners.ts";
import { RUN_SCRIPT } from "./shared.ts";

type Run = (source: string, name: string) => void;

/** Sets the bindings as globals, runs the script's top level, and creates a worker from its listeners. */
export function runScript(source: string, name: string): Handlers {
  const bindings = env as unknown as Record<string, unknown>;
  const run = bindings[RUN_SCRIPT] as Run;
  delete bindings[RUN_SCRIPT];
  for (const [binding, value] of Object.entries(bindings)) {
    // Defined rather than assigned: a binding may have the name of a global that is read-only or has a setter.
    Reflect.defineProperty(globalThis, binding, { value, writable: true, enumerable: true, configurable: true });
  }
  run(source, name);
  return handlersOfListeners();
}
