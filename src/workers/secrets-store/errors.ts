import { defineErrors } from "../../kernel/index.ts";

/** Errors of the Secrets Store. No message contains a secret value. */
export const secretsStoreErrors = defineErrors("secrets-store", {
  storeMissing: {
    code: 1001,
    http: 404,
    message: "The secrets store {store} does not exist.",
    fix: "List the stores with `secrets-store store list`, or create one with `secrets-store store create`.",
  },
  storeNameTaken: {
    code: 1002,
    http: 409,
    permanent: true,
    message: "A secrets store named {name} already exists.",
    fix: "Choose another name, or use the existing store.",
  },
  storeNotEmpty: {
    code: 1003,
    http: 409,
    permanent: true,
    message: "The secrets store {store} is not empty: it contains {count} secrets.",
    fix: "Delete the secrets first, or delete the store with force=true.",
  },
  tooManyStores: {
    code: 1004,
    http: 403,
    message: "The account already has {limit} secrets stores.",
    fix: "Delete unused stores.",
  },
  badName: {
    code: 1005,
    http: 400,
    message: "The name {name} is invalid.",
    fix: "Use 1 to {limit} letters, digits, - and _.",
  },
  secretMissing: {
    code: 1006,
    http: 404,
    message: "The secret {secret} does not exist in the store {store}.",
    fix: "List the secrets of the store with `secrets-store secret list`.",
  },
  secretNameTaken: {
    code: 1007,
    http: 409,
    permanent: true,
    message: "The store already contains a secret named {name}.",
    fix: "Choose another name, or update the existing secret.",
  },
  tooManySecrets: {
    code: 1008,
    http: 403,
    message: "The account already has {limit} secrets in its stores.",
    fix: "Delete unused secrets.",
  },
  badValue: {
    code: 1009,
    http: 400,
    message: "The value of {name} has an invalid size: {size} bytes.",
    fix: "Use 1 to {limit} bytes.",
  },
  badScopes: {
    code: 1010,
    http: 400,
    message: "The scopes of {name} are invalid: {scopes}.",
    fix: "Specify one or more of {allowed}, each at most once.",
  },
  commentTooLong: {
    code: 1011,
    http: 400,
    message: "The comment of {name} is too long: {size} characters.",
    fix: "Use at most {limit} characters.",
  },
});
