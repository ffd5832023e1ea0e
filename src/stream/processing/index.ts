export { createProcessing } from "./processing.ts";
