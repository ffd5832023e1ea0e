export { createD1Databases, type D1Databases, type D1DatabasesOptions, type D1QueryResult, type D1Statement } from "./databases.ts";
export { d1Errors } from "./errors.ts";
export { d1Limits, type D1Limits } from "./limits.ts";
export { createD1Service, type D1Service } from "./service.ts";
