export { setUpMtaSts, type MtaSts } from "./setup.ts";
