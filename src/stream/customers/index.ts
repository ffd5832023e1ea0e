export { customerCode } from "./customer-code.ts";
export { createOwnHosts, type OwnHosts } from "./own-hosts.ts";
