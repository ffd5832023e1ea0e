import { defineErrors } from "../../../kernel/index.ts";

/** Errors of AI Gateway: of its operations, its HTTP endpoint, and its binding. */
export const aiGatewayErrors = defineErrors("ai-gateway", {
  badSetting: { code: 7001, http: 400, message: "{field} is invalid: {reason}", fix: "{fix}" },
  unsupportedSetting: {
    code: 7001,
    http: 400,
    message: "{field} is not supported by this server",
    fix: "Leave out {field}, or set it to null or false.",
  },
  gatewayMissing: {
    code: 7002,
    http: 404,
    message: "The AI gateway {gateway} does not exist.",
    fix: "List the gateways with GET /accounts/{account}/ai-gateway/gateways, or create one with POST.",
  },
  logMissing: {
    code: 7002,
    http: 404,
    message: "The log {log} of the AI gateway {gateway} does not exist.",
    fix: "List the logs with GET /accounts/{account}/ai-gateway/gateways/{gateway}/logs.",
  },
  payloadMissing: {
    code: 7002,
    http: 404,
    message: "The {payload} of the log {log} is not stored: it is longer than {limit} characters, or empty.",
  },
  gatewayExists: {
    code: 7003,
    http: 409,
    permanent: true,
    message: "An AI gateway named {gateway} already exists.",
    fix: "Choose another id, or update the existing gateway.",
  },
  tooManyGateways: {
    code: 7004,
    http: 403,
    message: "The account already has {limit} AI gateways.",
    fix: "Delete unused gateways.",
  },
  notConfigured: {
    code: 2001,
    http: 404,
    message: "No AI server is configured.",
    fix: "Set workers.ai_url or workers.ai_providers.",
  },
  rateLimited: { code: 2003, http: 429, message: "Rate limited" },
  badRequest: { code: 2004, http: 400, message: "The request is invalid: {reason}", fix: "{fix}" },
  unknownProvider: {
    code: 2008,
    http: 400,
    message: "Invalid provider: {provider} is not configured",
    fix: "Add `{provider}=URL` to workers.ai_providers, or use one of: {configured}.",
  },
  unauthorized: {
    code: 2009,
    http: 401,
    message: "Unauthorized",
    fix: "Send `cf-aig-authorization: Bearer TOKEN` with an API token that has the permission AI Gateway Run.",
  },
  unreachable: {
    code: 2015,
    http: 502,
    message: "The request to the provider {provider} failed: {reason}",
    fix: "Check its URL in workers.ai_providers or workers.ai_url, and that the server is running.",
  },
  tooManyCalls: { code: 2016, http: 429, message: "Capacity temporarily exceeded, please try again." },
  badKeysFile: {
    code: 2017,
    http: 500,
    message: "Cannot read the API keys of the AI providers from {file}: {reason}.",
    fix: "Correct workers.ai_provider_keys_file: one `name=key` per line.",
  },
  noPublicUrl: {
    code: 2018,
    http: 400,
    message: "The gateway has no public URL.",
    fix: "Set http.public_url, or call the gateway with run().",
  },
});
