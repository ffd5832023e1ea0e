import { defineErrors } from "../../kernel/index.ts";

/** Errors of `env.AI.run()`. The worker receives the message. */
export const aiErrors = defineErrors("ai", {
  badInputs: { code: 5006, http: 400, message: "The inputs of {model} are invalid: {reason}", fix: "{fix}" },
  unsupportedTask: {
    code: 5007,
    http: 400,
    message: "The inputs {fields} of {model} belong to a task that this server does not support",
    fix: "Pass messages or prompt for text generation, or text for embeddings.",
  },
  upstream: { code: 5021, http: 502, message: "{model}: {reason}" },
  unreachable: {
    code: 5022,
    http: 502,
    message: "The request to the AI server failed: {reason}",
    fix: "Check workers.ai_url, and that the AI server is running.",
  },
  notConfigured: {
    code: 5024,
    http: 400,
    message: "No AI server is configured for run().",
    fix: "Set workers.ai_url, or call a provider with env.AI.gateway(id).run().",
  },
  tooManyCalls: { code: 3040, http: 429, message: "Capacity temporarily exceeded, please try again." },
  badKeyFile: {
    code: 5023,
    http: 500,
    message: "Cannot read the API key of the AI server from {file}: {reason}.",
    fix: "Correct workers.ai_key_file.",
  },
});
