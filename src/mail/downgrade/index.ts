export { createDowngrade } from "./downgrade.ts";
