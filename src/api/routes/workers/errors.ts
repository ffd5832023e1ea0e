import { defineErrors } from "../../../kernel/index.ts";

/** Errors of a worker request that occur before a worker is involved, and unsupported features. */
export const workerRouteErrors = defineErrors("worker-routes", {
  metadataMissing: {
    code: 10021,
    http: 400,
    message: "The upload has no part {part}.",
    fix: "Send multipart/form-data with a JSON part named {part} and one part per module.",
  },
  badMetadata: { code: 10021, http: 400, message: "The part {part} is invalid: {reason}.", fix: "{fix}" },
  unknownBinding: {
    code: 10021,
    http: 400,
    message: "Binding '{name}' has the type '{type}', which this server does not support.",
    fix: "Use one of: {types}.",
  },
  // Clients match this text word for word, so no fix is appended.
  badBinding: {
    code: 10021,
    http: 400,
    message: "binding {name} of type {type} must have a valid `{field}` specified",
  },
  badModule: { code: 10021, http: 400, message: "The module '{name}' is invalid: {reason}.", fix: "{fix}" },
  mainUnnamed: {
    code: 10021,
    http: 400,
    message: "The upload does not name the main module.",
    fix: "Name it in the metadata: main_module for ES modules, body_part for a script in service-worker format.",
  },
  notOffered: { code: 10021, http: 400, message: "{what} are not supported by this server.", fix: "{fix}" },
  serviceMissing: {
    code: 10090,
    http: 404,
    message: "This service does not exist on your account.",
    fix: "Deploy {name} first.",
  },
  environmentMissing: {
    code: 10090,
    http: 404,
    message: "The service {name} has no environment {environment}.",
    fix: "Use the environment `production`: on this server, environments in the configuration file are separate Workers.",
  },
  noVersions: { code: 10222, http: 404, message: "The Worker {name} has no versions yet.", fix: "Deploy it first." },
});
