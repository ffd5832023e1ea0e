export { readAv1Size } from "./sequence-header.ts";
