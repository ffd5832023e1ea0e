export { addressByKey, addressesMigration, type AddressExecutor, type AddressTables } from "./addresses-table.ts";
export { createAddresses, type Addresses, type AddressesDeps } from "./addresses.ts";
export { addressErrors } from "./errors.ts";
export type { DestinationAddress, SendVerification } from "./types.ts";
