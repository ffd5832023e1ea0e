export { secretsStoreErrors } from "./errors.ts";
export { SECRET_SCOPES, secretsStoreLimits } from "./limits.ts";
export type { SecretScope, SecretsStore, SecretStore, StoredSecret } from "./port.ts";
export { secretsStoreMigrations } from "./schema.ts";
export { createSecretsStore } from "./secrets-store.ts";
export { createSecretsStoreService } from "./service.ts";
