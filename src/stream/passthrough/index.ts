export { createSourcePassthrough } from "./passthrough.ts";
