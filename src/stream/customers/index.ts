export { customerCode } from "./customer-code.ts";
export { createAccountHostCheck, type AccountHostCheck } from "./own-hosts.ts";
