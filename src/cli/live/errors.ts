import { defineErrors } from "../../kernel/index.ts";

export const liveErrors = defineErrors("live", {
  noInputId: {
    code: "E_NO_LIVE_INPUT_ID",
    http: 400,
    message: '"{id}" is not a live input id (32 hex digits).',
    fix: "List them with `reelpost live list`.",
  },
  noOutputId: {
    code: "E_NO_LIVE_OUTPUT_ID",
    http: 400,
    message: '"{id}" is not an output id (32 hex digits).',
    fix: "List them with `reelpost live outputs list {input}`.",
  },
  noDays: {
    code: "E_NO_DAYS",
    http: 400,
    message: 'Invalid number of days: "{given}".',
    fix: "Use a whole number, or never.",
  },
  nothingToChange: {
    code: "E_NOTHING_TO_CHANGE",
    http: 400,
    message: "Nothing to change.",
    fix: "Pass at least one option; see `reelpost live update --help`.",
  },
});
