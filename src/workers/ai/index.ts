export { aiServerOf } from "./server.ts";
export { createAiService } from "./service.ts";
