export { createPassthrough } from "./passthrough.ts";
