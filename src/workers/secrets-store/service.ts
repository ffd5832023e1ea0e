import { messageOf, type Log } from "../../kernel/index.ts";
import { readJsonBody, sendBindingError, sendJson } from "../bindings/http.ts";
import type { BindingServices } from "../bindings/service.ts";
import type { SecretsStore } from "./port.ts";

const MAX_BODY_BYTES = 1024;

/**
 * Creates the server side of `env.X.get()`. Without a store, as in development, the values come from the configuration.
 */
export function createSecretsStoreService({
  store,
  log,
}: {
  store: Pick<SecretsStore, "valueOf"> | undefined;
  log: Log;
}): BindingServices["secretsStore"] {
  return {
    async handle(request, response, { script, binding: { name, store_id, secret_name, local } }) {
      try {
        await readJsonBody(request, MAX_BODY_BYTES);
        const value = store === undefined ? local : await store.valueOf(script.account ?? "", store_id, secret_name);
        if (value === undefined) sendJson(response, 404, { error: `Secret "${secret_name}" not found` });
        else sendJson(response, 200, { value });
      } catch (err) {
        log.error(
          { err, script: script.name, binding: name },
          `secrets store: failed to read a secret: ${messageOf(err)}`,
        );
        await sendBindingError(request, response, err);
      }
    },
  };
}
