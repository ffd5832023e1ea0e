export * from "./address.ts";
export * from "./date.ts";
export * from "./header.ts";
export * from "./line-ends.ts";
export * from "./message-id.ts";
