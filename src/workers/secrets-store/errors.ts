import { defineErrors } from "../../kernel/index.ts";

/** Errors of the Secrets Store. No message contains a value. */
export const secretsStoreErrors = defineErrors("secrets-store", {
  storeMissing: {
    code: 1001,
    http: 404,
    message: "The secrets store {store} does not exist.",
    fix: "`secrets-store store list` shows the stores, `secrets-store store create` creates one.",
  },
  storeNameTaken: {
    code: 1002,
    http: 409,
    permanent: true,
    message: "A secrets store named {name} already exists.",
    fix: "Choose another name, or use that store.",
  },
  storeNotEmpty: {
    code: 1003,
    http: 409,
    permanent: true,
    message: "The secrets store {store} contains {count} secrets.",
    fix: "Delete them first, or delete the store with force=true.",
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
    message: "{name} is not a valid name.",
    fix: "Use 1 to {limit} letters, digits, - and _.",
  },
  secretMissing: {
    code: 1006,
    http: 404,
    message: "The secret {secret} does not exist in the store {store}.",
    fix: "`secrets-store secret list` shows the secrets of a store.",
  },
  secretNameTaken: {
    code: 1007,
    http: 409,
    permanent: true,
    message: "The store already contains a secret named {name}.",
    fix: "Choose another name, or update that secret.",
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
    message: "The value of {name} has {size} bytes.",
    fix: "Use 1 to {limit} bytes.",
  },
  badScopes: {
    code: 1010,
    http: 400,
    message: "The scopes of {name} are invalid: {scopes}.",
    fix: "List each once: {allowed}.",
  },
  commentTooLong: {
    code: 1011,
    http: 400,
    message: "The comment of {name} has {size} characters.",
    fix: "At most {limit} are allowed.",
  },
});
