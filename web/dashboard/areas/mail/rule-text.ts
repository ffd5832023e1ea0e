import type { Rule } from "./queries.ts";

type Matcher = Rule["matchers"][number];
type Action = Rule["actions"][number];

const KINDS = { literal: "", glob: "Pattern", regex: "Regular expression", all: "" };

export function matcherText({ type, value }: Matcher): string {
  if (type === "all") return "Every other address";
  return value ?? "";
}

export const matcherKind = ({ type }: Matcher): string => KINDS[type];

export function actionSummary({ type, value = [] }: Action): string {
  if (type === "drop") return "Drop";
  return type === "worker" ? `Pass to worker ${value.join(", ")}` : `Forward to ${value.join(", ")}`;
}

export const ruleName = ({ name, matchers }: Rule): string => name ?? matchers.map(matcherText).join(", ");
