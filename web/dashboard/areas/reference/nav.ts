import type { NavEntry } from "../area.ts";

export const referenceNav: readonly NavEntry[] = [
  { label: "API reference", path: "/reference", icon: "terminal", keywords: ["operations", "OpenAPI", "curl", "try"] },
];
