export { createPublicBuckets, managedHost, type PublicBuckets } from "./http.ts";
