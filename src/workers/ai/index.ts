export { aiServerOf } from "./server.ts";
export { createAiService } from "./service.ts";
export * from "./gateway/index.ts";
