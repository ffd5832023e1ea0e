export { createPublicBuckets, managedHost } from "./http.ts";
